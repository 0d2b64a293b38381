"""Hide small cells of an audit's rows, and what would give them away."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.disclosure.cells import (
    COMPLEMENTARY,
    LABEL,
    LABELS,
    MIN_COUNT,
    OTHERS,
    SHOWN,
    SMALL,
    TOGETHER,
)
from counterbalance.engine.disclosure.merged_labels import is_merged, rows_of_each
from counterbalance.engine.disclosure.suppression import (
    along_concepts,
    beside_hidden,
    hidden_rows,
    is_of_labels,
    others_beside,
    rows_in,
    rows_of_side,
    tables_of,
    tables_with,
    thin_alone,
    thin_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.disclosure.cells import Cells
    from counterbalance.engine.disclosure.merged_labels import Merged, Of

SUPPRESSED: Final = "suppressed"
REASON: Final = "reason"
OMITTED: Final = "n_suppressed"
PARAMS: Final = "params"
CONFIDENTIAL: Final = "confidential"
"""Why a cell of perceived labels is hidden: which of them is small would narrow the others down."""
_REASONS: Final = {SMALL: "small", COMPLEMENTARY: "complementary"}
_OF_ROWS: Final = frozenset({SUPPRESSED, REASON, OMITTED, PARAMS})


@dataclass(frozen=True, slots=True)
class Unseen:
    """Labels of which no audit tells a number, since those of one would give a small count of another away.

    Args:
        labels: Which of two datasets they are of, whether any column that names something may hold them, or only those of labels,
            and the labels.
        asked: Labels that a call is about: where one of these is unseen, all of its rows are.
        tables: By cells, keys of tables that are hidden: see ``tables_of_few``.
        merged: By relation of labels, and category of these, those of them that are counted as one.
        together: The rows of the call in which these are one clear label.
    """

    labels: tuple[tuple[str | None, bool, frozenset[str]], ...] = ()
    asked: frozenset[str] = frozenset()
    tables: Mapping[Cells, Sequence[pa.Table]] = dataclasses.field(default_factory=dict)
    merged: Mapping[Of, Merged] = dataclasses.field(default_factory=dict)
    together: pa.Table | None = None

    @property
    def is_asked(self) -> bool:
        """Tell whether a call is about such a label."""
        return any(self.asked & labels for _, _, labels in self.labels)

    def rows(self, rows: pa.Table, cells: Sequence[Cells], side: str | None) -> NDArray[np.bool_]:
        """Return which rows name such a label, or what few of the images of all such labels have or lack.

        Example:
            >>> from counterbalance.engine.disclosure.cells import Cells
            >>> unseen = Unseen(((None, False, frozenset({"a"})),))
            >>> unseen.rows(pa.table({"label": ["a", "b"], "count": [3, 12]}), [Cells("count", by=("label",))], None).tolist()
            [True, False]
        """
        found = np.full(len(rows), self.is_asked) | self.named(rows, cells, side)
        for cell, tables in self.tables.items():
            for keys in tables if cell.side == side else ():
                found |= rows_in(rows, keys)
        return found

    def named(self, rows: pa.Table, cells: Sequence[Cells], side: str | None) -> NDArray[np.bool_]:
        """Return which rows name such a label."""
        found = np.zeros(len(rows), bool)
        names = _keys(cells) - _OF_ROWS | LABELS
        for of, is_anywhere, labels in self.labels:
            if of != side or not labels:
                continue
            for field in rows.schema:
                if field.name in (names if is_anywhere else LABELS) and pa.types.is_string(field.type):
                    named = pc.is_in(rows[field.name], pa.array(sorted(labels)))
                    found |= named.to_numpy(zero_copy_only=False)
        return found


def tables_of_few(together: Iterable[pa.Table], cells: Sequence[Cells]) -> dict[Cells, list[pa.Table]]:
    """Return the keys of tables of which nothing is shown, by cells, for what it would tell of all hidden labels together.

    Anybody can count all images with a word, or knows it from a total; less those of the labels that are shown, the hidden ones have
    it, and lack it. So they are a label like others, whose small counts are hidden, and what would give them away.

    Args:
        together: What the audit gives with the hidden labels as one, ``TOGETHER``.
        cells: Its columns that count people or images.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = {"concept": ["tie", "hat"], "label": [TOGETHER] * 2, "count": [12, 8], "n": [15, 30], "all": [40, 50]}
        >>> cell = Cells("count", of="all", out_of="n", by=("label",), within=("concept",))
        >>> tables_of_few([pa.table(rows)], [cell])[cell][0]["concept"].to_pylist()
        ['tie', 'hat']
    """
    found: dict[Cells, list[pa.Table]] = {}
    for rows in together:
        hidden = _hidden(rows, cells, (MIN_COUNT,), closed=True, thin=False, unseen=Unseen()).blank
        its = np.ones(len(rows), bool)
        if LABEL in rows.column_names:
            its = pc.fill_null(pc.starts_with(rows[LABEL], TOGETHER), fill_value=False).to_numpy(zero_copy_only=False)
        for cell in filter(is_of_labels, cells):
            keys = [c for c in (*cell.within, *cell.totals) if c != LABEL]
            few = rows.filter(pa.array(its & hidden[cell.count]))
            found.setdefault(cell, []).append(few.select(keys))
    return found


def tells_labels(cells: Iterable[Cells]) -> bool:
    """Tell whether rows are about labels, each by itself, or about what images of any label have.

    Others put labels beside each other, as annotators gave them, where several that are one would agree.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> [tells_labels([Cells("n", by=("label", "other_label"), joint=joint)]) for joint in (False, True)]
        [True, False]
    """
    return any(is_of_labels(cell) or not (cell.joint or LABELS.isdisjoint(cell.by)) for cell in cells)


def schema_of(rows: pa.Schema, cells: Sequence[Cells]) -> pa.Schema:
    """Return the schema of protected rows.

    Example:
        >>> schema_of(pa.schema([("label", pa.string())]), ()).names
        ['label', 'params']
    """
    return protect(rows.empty_table(), cells, 0, "{}", closed=False, in_order=True).schema


def protect(
    rows: pa.Table,
    cells: Sequence[Cells],
    min_count: int,
    params: str,
    *,
    closed: bool,
    in_order: bool,
    unseen: Unseen | None = None,
) -> pa.Table:
    """Return the rows of an audit without what tells of few people or images.

    Args:
        rows: What the audit's SQL gives. Where cells are declared and it has a column ``suppressed``, rows in which that is true
            are hidden as complementary: for labels that ``group_sizes`` hides, which the rows of two labels do not tell.
        cells: Its columns that count people or images.
        min_count: The smallest count that is shown.
        params: The parameters that every row carries, as JSON.
        closed: Perceived labels were counted without a purpose. Tables of which all labels together have few are left out then,
            for their rows would tell whose labels there are.
        in_order: The audit's order tells nothing of counts, so that hidden rows stay where they are.
        unseen: Labels whose rows are hidden whatever they count.

    Returns:
        The rows, with the columns ``suppressed`` and ``reason`` ('small', or 'complementary' where a count would give a small
        one away; 'confidential' for both where ``closed``) where cells are declared, ``n_suppressed`` where they are left
        out (NULL where ``closed``), and ``params``.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"label": ["a", "b", "c"], "count": [3, 12, 40], "n": [55, 55, 55]})
        >>> shown = protect(rows, [Cells("count", of="n", by=("label",))], 10, "{}", closed=False, in_order=True)
        >>> shown["count"].to_pylist(), shown["reason"].to_pylist()
        ([None, None, 40], ['small', 'complementary', None])
    """
    unseen = unseen or Unseen()
    # what MIN_COUNT hides is hidden by every call on closed labels, so that two never tell more
    floors = dict.fromkeys((MIN_COUNT, min_count) if closed else (min_count,))
    found = _hidden(rows, cells, floors, closed=closed, thin=closed and not unseen.is_asked, unseen=unseen)
    if unseen.merged:
        found.add_merged(rows)
    blank, hidden = found.blank, found.why
    for cell in cells:
        blank |= dict.fromkeys(cell.whole, tables_with(rows, cell.within, hidden != SHOWN))
    made = _without(rows, blank)
    hides = bool((hidden != SHOWN).any())
    left = ~found.left_out(rows, _is_bare(made, _keys(cells))) & ~is_merged(rows)
    each = _of_each(rows, made.filter(pa.array(left)), cells, unseen)
    names = [c for c in each.column_names if c in _keys(cells) - _OF_ROWS]
    if names:  # labels of one dataset that are hidden in another have rows
        each = each.filter(pa.array(~rows_in(each, rows.filter(pa.array(left)).select(names))))
    made, rows = (pa.concat_tables([table.filter(pa.array(left)), each]) for table in (made, rows))
    hidden = np.append(hidden[left], np.full(len(each), np.int8(COMPLEMENTARY)))
    omitted = np.append(found.omitted[left], np.zeros(len(each), bool))
    told = hidden != SHOWN
    if cells:
        made = _set(made, SUPPRESSED, pa.array(told))
        reasons = dict.fromkeys(_REASONS, CONFIDENTIAL) if closed else _REASONS
        made = _set(made, REASON, pa.array([reasons.get(int(h)) for h in hidden], pa.string()))
    for cell in cells:
        if cell.tests and (hides or closed):  # where something closed is hidden must not show in q
            p, q = cell.tests
            made = _controlled(made, p, q, _places(rows, cells, p) if closed else len(rows) - rows[p].null_count)
    listed = np.ones(len(rows), bool)
    for cell in cells:
        listed &= rows[cell.places[0]].is_valid().to_numpy(zero_copy_only=False) if cell.places else True
    if any(cell.omit for cell in cells):
        before = made[OMITTED] if OMITTED in made.column_names else pa.array(np.zeros(len(rows), np.int64))
        left_out = pc.add(before, pa.scalar(int((omitted & listed).sum()), before.type))
        # how many there are tells of closed labels whether two images have one: pairs of a label and a rare word are counted
        made = _set(made, OMITTED, pa.nulls(len(made), before.type) if closed else left_out)
        made = made.filter(pa.array(listed & ~omitted))
        for cell in cells:
            made = _numbered(made, cell, json.loads(params)) if cell.places else made
    elif (
        (len(each) or not in_order)
        and (hidden != SHOWN).any()
        and (named := sorted(_keys(cells) & {*rows.column_names} - _OF_ROWS))
    ):
        made = _hidden_last(made, named)
    return _set(made, PARAMS, pa.array([params] * len(made), pa.string()))


def hidden_at_least(rows: pa.Table, cells: Sequence[Cells]) -> dict[str, pa.Array]:
    """Return of every count of closed labels in which rows it is hidden whatever the smallest count of the call is.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"label": ["a", "b", "c"], "count": [3, 12, 40]})
        >>> hidden_at_least(rows, [Cells("count", by=("label",))])["count"].to_pylist()
        [True, True, False]
    """
    found = _hidden(rows, cells, (MIN_COUNT,), closed=True, thin=False, unseen=Unseen())
    return {cell.count: pa.array(found.blank[cell.count]) for cell in cells}


def is_all_hidden(rows: pa.Table) -> bool:
    """Tell whether there are protected rows, and none of them is shown.

    Example:
        >>> is_all_hidden(pa.table({"suppressed": [True, True]})), is_all_hidden(pa.table({"suppressed": [True, False]}))
        (True, False)
    """
    return len(rows) > 0 and SUPPRESSED in rows.column_names and bool(pc.all(rows[SUPPRESSED]).as_py())


def _keys(cells: Sequence[Cells]) -> set[str]:
    """Return the columns that name cells, and those that the engine sets."""
    return {c for cell in cells for c in (*cell.by, *cell.within, *cell.totals)} | _OF_ROWS


def _tell(cell: Cells, rows: pa.Table, cells: Sequence[Cells]) -> list[str]:
    """Return the columns that are hidden where a cell is, with numbers that no cell names, which could tell of it."""
    keys = _keys(cells)
    if not cell.measures:
        return [c for c in rows.column_names if c not in keys]
    named = keys.union(*(c.columns for c in cells))
    forgotten = [f.name for f in rows.schema if f.name not in named and _is_number(f.type)]
    return [c for c in (cell.count, *cell.measures, *cell.tests, *forgotten) if c not in keys]


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


@dataclass
class _Hidden:
    """Parts of rows that are hidden: by column in which rows, why each row is, and which rows are left out."""

    blank: dict[str, NDArray[np.bool_]]
    why: NDArray[np.int8]
    omitted: NDArray[np.bool_]
    columns: Mapping[Cells, Sequence[str]]
    """Which columns are hidden where a cell is."""
    thin: NDArray[np.bool_]
    """Rows of tables and lines in which all are few."""
    told: NDArray[np.bool_]
    """Rows that are hidden whatever they count."""
    thin_labels: dict[tuple[str, ...], NDArray[np.bool_]] = dataclasses.field(default_factory=dict)
    """Those that are so because of their label, by the columns that tell tables of all labels apart."""

    @classmethod
    def of(cls, told: NDArray[np.bool_], columns: Mapping[Cells, Sequence[str]]) -> _Hidden:
        """Return what is hidden whatever it counts."""
        blank = dict.fromkeys((c for own in columns.values() for c in own), told)
        omitted = told & any(cell.omit for cell in columns)
        why = np.where(told, np.int8(COMPLEMENTARY), np.int8(SHOWN))
        return cls(blank, why, omitted, columns, np.zeros(len(told), bool), told)

    def add(self, rows: pa.Table, min_count: int, *, closed: bool) -> None:
        """Hide what counts under ``min_count`` need, beside what is hidden already."""
        before = -1
        while before < (
            before := sum(int(w.sum()) for w in self.blank.values())
        ):  # what one hides, another may give away
            for cell, columns in self.columns.items():
                already = self.blank[cell.count]
                found = hidden_rows(rows, cell, min_count, already, alike=closed)
                if closed:
                    hidden = self.blank[cell.count] | (found != SHOWN)
                    others = others_beside(rows, cell, hidden)
                    if not cell.by and cell.within:
                        others |= tables_with(rows, cell.within, hidden & ~self.told)
                    if min_count == MIN_COUNT:
                        others |= beside_hidden(rows, cell, hidden & ~self.told)
                    found = np.where(others & (found == SHOWN), np.int8(COMPLEMENTARY), found)
                for column in columns:
                    self.blank[column] = self.blank[column] | (found != SHOWN)
                self.why = np.where((self.why == SMALL) | (found == SHOWN), self.why, found)
                self.omitted |= (found != SHOWN) if cell.omit else False

    def add_merged(self, rows: pa.Table) -> None:
        """Hide rows of several labels that are counted as one, and of all other images, among which audits of clear labels have them."""
        merged = is_merged(rows)
        for column in LABELS.intersection(rows.column_names):
            if pa.types.is_string(rows.schema.field(column).type):
                others = pc.fill_null(pc.equal(rows[column], OTHERS), fill_value=False)
                merged |= others.to_numpy(zero_copy_only=False)
        self.blank |= {column: where | merged for column, where in self.blank.items()}
        self.omitted |= merged & any(cell.omit for cell in self.columns)
        self.why = np.where(merged & (self.why == SHOWN), np.int8(COMPLEMENTARY), self.why)

    def add_thin(self, rows: pa.Table, cells: Iterable[Cells], *, alone: bool) -> None:
        """Hide tables, and lines of them, in which all siblings together are few, with what is 0 there.

        Which of the siblings have rows, or none, would tell whose they are.

        Args:
            rows: The result of an audit.
            cells: Those that its file declares.
            alone: None of its cells have siblings.
        """
        if alone:
            self.thin = thin_alone(rows, [*cells], MIN_COUNT)
            self.blank |= {column: where | self.thin for column, where in self.blank.items()}
        for cell in cells:
            if cell.by:
                thin, of_label = thin_rows(rows, cell, MIN_COUNT)
                self.thin = self.thin | thin
                for column in self.columns[cell]:
                    self.blank[column] = self.blank[column] | thin
                tables = tuple(c for c in cell.within if c not in LABELS)
                self.thin_labels[tables] = self.thin_labels.get(tables, False) | of_label
        self.why = np.where(self.thin & (self.why == SHOWN), np.int8(SMALL), self.why)

    def left_out(self, rows: pa.Table, bare: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which rows are not there at all: of the bare ones, those that are thin.

        Where one goes because its label is, all bare rows of the table go: of labels that are hidden together, the one that has
        fewer rows than another would be the small one.
        """
        gone = bare & self.thin
        for tables, thin in self.thin_labels.items():
            gone = gone | (bare & tables_with(rows, tables, bare & thin))
        return gone

    def take(self, other: _Hidden, where: NDArray[np.bool_]) -> None:
        """Hide in some rows what is hidden in all of those."""
        at = np.flatnonzero(where)

        def spread(flags: NDArray[np.bool_]) -> NDArray[np.bool_]:
            found = np.zeros(len(where), bool)
            found[at[flags]] = True
            return found

        for column, hidden in other.blank.items():
            self.blank[column] = self.blank.get(column, False) | spread(hidden)
        for reason in (COMPLEMENTARY, SMALL):
            self.why = np.where(spread(other.why == reason) & (self.why != SMALL), np.int8(reason), self.why)
        self.omitted = self.omitted | spread(other.omitted)
        self.thin = self.thin | spread(other.thin)
        for tables, thin in other.thin_labels.items():
            self.thin_labels[tables] = self.thin_labels.get(tables, False) | spread(thin)


def _hidden(
    rows: pa.Table,
    cells: Sequence[Cells],
    floors: Iterable[int],
    *,
    closed: bool,
    thin: bool,
    unseen: Unseen,
) -> _Hidden:
    """Return what counts under each of the floors need; of two sides, each by itself where labels are closed.

    A count that is hidden for the other side is shown by a call with another one, and protects nothing.
    """
    told = _told(rows) | unseen.rows(rows, cells, None) if cells else np.zeros(len(rows), bool)
    columns, keys = {cell: _tell(cell, rows, cells) for cell in cells}, _keys(cells)
    all_of = _Hidden.of(told, columns)
    if not closed:  # rows that one side lacks are no part of the other, either
        rows = _without(rows, {cell.count: told for cell in cells if cell.side is not None})
    for side in dict.fromkeys(cell.side for cell in cells) if closed else (None,):
        own = {cell: names for cell, names in columns.items() if cell.side == side or not closed}
        there = np.ones(len(rows), bool) if side is None else rows_of_side(rows, [*own])
        its = rows.filter(pa.array(there))
        its_unseen = unseen.rows(its, cells, side)
        along = {made: names for cell, names in own.items() if closed and (made := along_concepts(cell)) is not None}
        found = _Hidden.of(told if side is None else its_unseen, along | own)
        for column in {c for cell in own for c in (cell.of, cell.out_of) if c is not None} - keys:
            found.blank[column] = found.blank.get(column, False) | its_unseen
        if thin:
            found.add_thin(its, own, alone=not any(cell.by for cell in cells))
        shown = its
        for floor in floors:  # a larger floor goes by what a smaller one shows: going by more, two calls would tell it
            found.add(shown, floor, closed=closed)
            shown = _without(its, found.blank)
        all_of.take(found, there)
        for cell, names in own.items():
            if side is not None:  # rows of the other side tell how many there are in all
                shown = ~all_of.blank[cell.count] & there
                # a hidden label that is one with others there has no rows of its own, and no count of 0
                others = ~there & (~tables_with(rows, cell.within, shown) | unseen.named(rows, cells, side))
                all_of.blank |= {name: all_of.blank[name] | others for name in names}
                all_of.why = np.where(others & (all_of.why == SHOWN), np.int8(COMPLEMENTARY), all_of.why)
    return all_of


def _without(rows: pa.Table, blank: Mapping[str, NDArray[np.bool_]]) -> pa.Table:
    """Set columns to NULL in some rows."""
    for column, where in blank.items():
        if where.any():
            none = pa.scalar(None, rows.schema.field(column).type)
            rows = _set(rows, column, pc.if_else(pa.array(where), none, rows[column]))
    return rows


def _is_bare(rows: pa.Table, keys: set[str]) -> NDArray[np.bool_]:
    """Return which rows hold no number but what names them."""
    bare = np.ones(len(rows), bool)
    for field in rows.schema:
        if field.name not in keys and _is_number(field.type):
            bare &= rows[field.name].is_null().to_numpy(zero_copy_only=False)
    return bare


def _told(rows: pa.Table) -> NDArray[np.bool_]:
    """Return which rows the SQL itself says are suppressed."""
    if SUPPRESSED not in rows.column_names:
        return np.zeros(len(rows), bool)
    told: NDArray[np.bool_] = pc.fill_null(rows[SUPPRESSED], fill_value=False).to_numpy(zero_copy_only=False)
    return told


def _controlled(rows: pa.Table, p: str, q: str, family: int) -> pa.Table:
    """Set q by Benjamini and Hochberg as if every p of the family that is not shown were 1, so that it tells none of them."""
    there = pc.and_(rows[p].is_valid(), rows[q].is_valid()).to_numpy(zero_copy_only=False)
    values = rows[p].to_numpy(zero_copy_only=False)[there]
    order = np.argsort(values, kind="stable")[::-1]
    bounds = values[order] * family / np.arange(len(values), 0, -1)
    found = np.full(len(rows), np.nan)
    found[np.flatnonzero(there)[order]] = np.maximum(values[order], np.minimum(np.minimum.accumulate(bounds), 1))
    return _set(rows, q, pa.array(found, rows.schema.field(q).type, mask=~there))


def _places(rows: pa.Table, cells: Sequence[Cells], p: str) -> int:
    """Return how many places a table of all labels by all else that has a p has: which of them do would tell of a 0."""
    keys = [c for c in rows.column_names if c in _keys(cells) - _OF_ROWS - {LABEL}]
    labels = {*rows[LABEL].to_pylist()} - {None, "all"} if LABEL in rows.column_names else {""}
    return len(labels) * len(np.unique(tables_of(rows.filter(rows[p].is_valid()), keys)))


def _numbered(rows: pa.Table, cell: Cells, params: Mapping[str, Any]) -> pa.Table:
    """Number the rows of each table anew by their place, and keep as many as the parameter says; without a number of it all."""
    column, top = cell.places
    table = tables_of(rows, cell.within)
    order = np.lexsort((rows[column].to_numpy(), table))
    starts = np.flatnonzero(np.diff(table[order], prepend=-1))
    place = np.empty(len(rows), np.int64)
    place[order] = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows)))) + 1
    made = _set(rows, column, pa.array(place).cast(rows.schema.field(column).type))
    most = params.get(top)
    return made if most is None else made.filter(pa.array(place <= most))


def _of_each(rows: pa.Table, shown: pa.Table, cells: Sequence[Cells], unseen: Unseen) -> pa.Table:
    """Return a row for each label that is one with others; of unclear ones only where the audit has rows of unclear labels."""
    if unseen.together is None or any(cell.omit for cell in cells):
        return shown.slice(0, 0)
    tells_unclear = bool(is_merged(rows).any())
    merged = [one if tells_unclear else one.clear for one in unseen.merged.values()]
    return rows_of_each(unseen.together, shown, merged, _keys(cells) - _OF_ROWS)


def _set(rows: pa.Table, name: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    if name in rows.column_names:
        return rows.set_column(rows.column_names.index(name), name, values)
    return rows.append_column(name, values)


def _hidden_last(rows: pa.Table, keys: Sequence[str]) -> pa.Table:
    """Put hidden rows behind the others, by their keys: their place would tell how large they are."""
    shown = rows.filter(pc.invert(rows[SUPPRESSED]))
    hidden = rows.filter(rows[SUPPRESSED])
    hidden = hidden.sort_by([(k, "ascending") for k in keys]) if keys else hidden
    return pa.concat_tables([shown, hidden])

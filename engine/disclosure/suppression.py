"""Primary and complementary suppression: which counts of a result must not be shown.

A count from 1 to ``k - 1`` is *primary*. Others are hidden with it (*complementary* suppression) until nobody can narrow it down
to fewer than ``k`` values from what is left: from the total of its siblings, from the margins of a two-way table, or from the
levels of a hierarchy. The problem and its names are those of official statistics: Hundepool et al., Statistical Disclosure
Control (2012), chapter 4 (linked and hierarchical tables); the attack that is tried is the one of tau-ARGUS and sdcTable, linear
programming over everything that is shown.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.disclosure.cells import (
    COMPLEMENTARY,
    CONCEPTS,
    HIDDEN,
    LABEL,
    LABELS,
    NO_SHELTER,
    OTHERS,
    SHOWN,
    SMALL,
    UNCLEAR,
    Cells,
)
from counterbalance.engine.disclosure.linked_cells import is_small, of_linked

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

_SHARED: Final = CONCEPTS | {"family"}


def hidden_rows(
    rows: pa.Table,
    cells: Cells,
    k: int,
    already: NDArray[np.bool_] | None = None,
    *,
    alike: bool = False,
) -> NDArray[np.int8]:
    """Return for every row whether its count is hidden, and why: ``SHOWN``, ``SMALL`` or ``COMPLEMENTARY``.

    Args:
        rows: The result of an audit.
        cells: Which of its columns count people or images.
        k: The smallest count that may be shown.
        already: Rows whose count other cells hide: it must not follow from these, either.
        alike: Choose what is hidden with a small count so that other audits of the same labels choose alike: concepts by name, sums
            before parts, and of two-way tables the same whichever side is the first.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"label": ["a", "b", "c"], "count": [3, 12, 40], "n": [55, 55, 55]})
        >>> hidden_rows(rows, Cells("count", of="n", by=("label",)), 10).tolist()
        [1, 2, 0]
    """
    k = int(min(k, cells.below))
    if k < 1 or not len(rows):
        return np.zeros(len(rows), np.int8)
    already = np.zeros(len(rows), bool) if already is None else already
    if cells.lines:
        return _with_lines(rows, cells, k, already, alike=alike)
    if cells.overlap and cells.of is not None:  # what all have tells of no sum
        everywhere = rows[cells.count].is_valid().to_numpy() & (_numbers(rows[cells.count]) == _numbers(rows[cells.of]))
        if everywhere.any():
            found = np.zeros(len(rows), np.int8)
            some = rows.filter(pa.array(~everywhere))
            found[~everywhere] = hidden_rows(some, cells, k, already[~everywhere], alike=alike)
            return found
    if alike and len(cells.by) > 1 and not cells.joint:
        return _whichever_side(rows, cells, k, already)
    counts = _numbers(rows[cells.count])
    missing = np.full(len(rows), np.nan) if cells.out_of is None else _numbers(rows[cells.out_of]) - counts
    missing[missing < 0] = np.nan  # a sum that is not a part of it
    wholes = np.full(len(rows), np.nan) if cells.of is None else _numbers(rows[cells.of])
    if not cells.by and not cells.totals:
        small = is_small(counts, k) | is_small(wholes - counts, k) | is_small(missing, k)
        return np.where(small, np.int8(SMALL), np.int8(SHOWN))
    table = _codes(rows, cells.within)
    if cells.totals:
        table = _joined(table, _innermost(rows, cells.totals))
    if cells.joint:  # classes are a table, and their words another one
        table = _joined(table, _codes(pa.table({c: rows[c].is_null() for c in cells.by}), cells.by))
    cell = table
    for column in cells.by:
        cell = _joined(cell, _codes(rows, [column]))
    _, first, place = np.unique(cell, return_index=True, return_inverse=True)
    closed = np.ones(len(first), bool)  # unless some row of the cell shows it
    closed[place[~already]] = False
    closed &= ~np.isnan(counts[first])  # a row without a number is not a part of its total
    if (len(cells.by) == 1 or cells.joint) and not cells.totals:
        names = _names(rows, cells.by).take(pa.array(first))
        numbers = (counts[first], wholes[first], missing[first])
        names_of = _is_unclear(names), _rank(names)
        of_concepts = CONCEPTS.issuperset(cells.by) and (LABEL in cells.within or LABELS.isdisjoint(cells.by))
        found = _of_siblings(
            table[first], numbers, closed, *names_of, k, overlap=cells.overlap, by_name=alike and of_concepts
        )
    else:
        numbers = (counts[first], wholes[first], missing[first])
        found = of_linked(rows, cells, numbers, closed, (table, place, first), k, sums_first=alike)
    return found[place]


def _whichever_side(rows: pa.Table, cells: Cells, k: int, already: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return what to hide of a two-way table, the same where rows and columns change places."""
    by = sorted(cells.by, key=lambda column: sorted(map(str, rows[column].unique().to_pylist())))
    keys = [(column, "ascending") for column in (*cells.within, *cells.totals, *by)]
    order = pc.sort_indices(rows, sort_keys=keys).to_numpy()
    found = np.zeros(len(rows), np.int8)
    found[order] = hidden_rows(rows.take(order), replace(cells, by=tuple(by)), k, already[order])
    return found


def hidden_labels(counts: pa.Table, k: int, hidden: Collection[str] = ()) -> frozenset[str]:
    """Return the labels of which no number may be shown: clear ones that are small, and others that would give these away.

    Few unclear images are no reason: only how many there are of a clear label is a secret. Mixed and unknown ones shelter none:
    how many there are mixed follows from how far annotators agree, and audits of attributes leave 'unknown' out. Few of them are hidden
    with others, so that no row tells which of these an image has.

    Args:
        counts: How many units have each ``label`` of a ``category``: ``n_label``, and ``count`` of these in a part of them. In rows
            whose label is NULL are those of all labels of a category.
        k: The smallest count that may be shown.
        hidden: Labels that are hidden already. Together they are one, so that what else is hidden does not tell which of them is
            small in this part.

    Example:
        >>> counts = {"category": [""] * 4, "label": ["a", "b", "c", None], "count": [3, 12, 40, 55], "n_label": [3, 12, 40, 55]}
        >>> sorted(hidden_labels(pa.table(counts), 10)), sorted(hidden_labels(pa.table(counts), 10, {"a", "b"}))
        (['a', 'b'], ['a', 'b'])
    """
    counts, already = _as_one(counts, hidden), frozenset(hidden) & {*counts[LABEL].to_pylist()}
    is_all = counts[LABEL].is_null()
    is_no_shelter = pc.is_in(counts[LABEL].cast(pa.string()), pa.array(sorted(NO_SHELTER)))
    is_few = pc.and_(pc.greater(counts["count"], 0), pc.less(counts["count"], k))
    few = frozenset(counts.filter(pc.and_(is_no_shelter, is_few))[LABEL].cast(pa.string()).to_pylist())
    others = counts.filter(is_no_shelter).group_by("category").aggregate([("count", "sum")])
    wholes = counts.filter(is_all).select(["category", "count"]).join(others, "category")
    n = pc.subtract(wholes["count"], pc.fill_null(wholes["count_sum"], 0))
    wholes = pa.table({"category": wholes["category"], "n": n})
    rows = counts.filter(pc.invert(pc.or_(is_all, is_no_shelter))).join(wholes, "category")
    apart = None if rows["count"].equals(rows["n_label"]) else "n_label"
    cells = Cells("count", of="n", out_of=apart, by=(LABEL,), within=("category",))
    found = hidden_rows(rows, cells, k)
    if not ((found == SMALL) & ~_is_unclear(rows[LABEL])).any():
        return already | (few if already else frozenset())
    return already | few | {*rows[LABEL].cast(pa.string()).filter(pa.array(found != SHOWN)).to_pylist()} - {HIDDEN}


def _as_one(counts: pa.Table, labels: Collection[str]) -> pa.Table:
    """Return counts of labels with some of a category as one."""
    if not labels:
        return counts
    is_one = pc.fill_null(pc.is_in(counts[LABEL].cast(pa.string()), pa.array(sorted(labels))), fill_value=False)
    one = counts.filter(is_one).group_by("category").aggregate([("count", "sum"), ("n_label", "sum")])
    together = {
        "category": one["category"],
        LABEL: pa.array([HIDDEN] * len(one)),
        "count": one["count_sum"],
        "n_label": one["n_label_sum"],
    }
    others = counts.filter(pc.invert(is_one)).select([*together])
    return pa.concat_tables([others, pa.table(together).cast(others.schema)])


def _with_lines(rows: pa.Table, cells: Cells, k: int, already: NDArray[np.bool_], *, alike: bool) -> NDArray[np.int8]:
    """Return what to hide of cells, and of rows about lines of them."""
    named = np.array([rows[column].is_valid().to_numpy(zero_copy_only=False) for column in cells.by])
    is_cell = named.all(axis=0)
    found = np.zeros(len(rows), np.int8)
    own = rows.filter(pa.array(is_cell))
    alone = replace(cells, lines=False)
    found[is_cell] = hidden_rows(own, alone, k, already[is_cell], alike=alike)
    hidden = found != SHOWN
    for pattern in np.unique(named[:, ~is_cell & named.any(axis=0)], axis=1).T:
        columns = [column for column, is_named in zip(cells.by, pattern, strict=True) if is_named]
        is_line = (named == pattern[:, None]).all(axis=0)
        found[is_line & tables_with(rows, (*cells.within, *columns), hidden)] = COMPLEMENTARY
    return found


def _of_siblings(
    groups: NDArray[np.int64],
    numbers: tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]],
    closed: NDArray[np.bool_],
    unclear: NDArray[np.bool_],
    rank: NDArray[np.int64],
    k: int,
    *,
    overlap: bool,
    by_name: bool = False,
) -> NDArray[np.int8]:
    """Return what to hide in many small tables of one dimension, each with a known total.

    At least two cells of a table are hidden, and they add up to at least ``k``, so that each can be anything from 0 to that sum.
    What the cells lack of their total is one more cell, which nobody sees, and by what they exceed it another: those in two cells. Where it is known how many there are of every label
    (``out_of``), what the cells lack of these adds up to ``k``, too: then each can be anything between bounds that are ``k``
    apart, or as far apart as its label has units; the cell that nobody sees counts for the first sum where it is not small.

    By name, small cells have the same company whatever else is hidden: a cell that is hidden for a label which another audit does
    not count is shown there, and would be no shelter.
    """
    counts, wholes, missing = numbers
    size = int(groups.max()) + 1
    known, lacking = np.nan_to_num(counts), np.maximum(np.nan_to_num(missing), 0)
    has_ends = ~np.isnan(missing)
    whole = np.zeros(size)
    np.fmax.at(whole, groups, np.nan_to_num(wholes))
    rest = whole - np.bincount(groups, known, size)
    double = is_small(-rest, k) & (whole > 0)  # so few more than there are: they are in two cells
    free = rest <= -k if overlap else np.zeros(size, bool)
    rest = np.maximum(rest, 0)
    small = is_small(counts, k) | is_small(missing, k)
    first = small | closed
    touched = np.zeros(size, bool)
    touched[groups[first]] = True
    touched |= is_small(rest, k) | double
    touched &= ~free
    ends = np.zeros(size, bool)
    ends[groups[has_ends]] = True
    rest[ends & (rest < k)] = 0
    size_of = (np.zeros(len(counts)),) * 2 if by_name else (known, known == 0)
    own = np.zeros(size, bool)
    own[groups[small]] = by_name
    order = np.lexsort((rank, *size_of, ~unclear, np.isnan(counts), ~np.where(own[groups], small, first), groups))
    at = groups[order]
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    length = np.diff(np.append(starts, len(at)))
    before = np.arange(len(at)) - np.repeat(starts, length) + (rest > 0)[at]

    def summed(values: NDArray[np.float64]) -> NDArray[np.float64]:
        added: NDArray[np.float64] = np.cumsum(values) - values
        return added - np.repeat(added[starts], length)

    hide = (before < 2) | (summed(known[order]) + rest[at] < k) | (ends[at] & (summed(lacking[order]) < k))
    found = np.zeros(len(counts), np.int8)
    found[order] = np.where(touched[at] & (hide | first[order]), COMPLEMENTARY, SHOWN)
    found[small] = SMALL
    return found


def _innermost(rows: pa.Table, levels: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for every row, equal where the last level that is named is the same, whatever it is a part of."""
    found = np.zeros(len(rows), np.int64)
    for at, column in enumerate(levels):
        there = rows[column].is_valid().to_numpy(zero_copy_only=False)
        found = np.where(there, _codes(rows, [column]) * (len(levels) + 1) + at + 1, found)
    return found


def along_concepts(cells: Cells) -> Cells | None:
    """Return the cells of a label along the concepts that it is counted of, if there are such; of all that the label has.

    Where every image has one of some concepts, which open tables tell, a hidden count is what those shown lack of these.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> made = along_concepts(Cells("count", of="n", out_of="n_label", by=("label",), within=("level", "concept")))
        >>> made.by, made.within, made.of, made.overlap
        (('concept',), ('level', 'label'), 'n_label', True)
    """
    named = (*cells.within, *cells.totals)
    by = tuple(column for column in named if column in CONCEPTS)
    if cells.by != (LABEL,) or cells.out_of is None or not by:
        return None
    within = (*(column for column in named if column not in CONCEPTS), LABEL)
    joint = len(by) > 1 or bool(cells.totals)
    return replace(
        cells, of=cells.out_of, out_of=None, by=by, within=within, totals=(), whole=(), joint=joint, overlap=True
    )


def thin_rows(rows: pa.Table, cells: Cells, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which rows are of a table, or of a line of one, whose siblings together count fewer than ``k``, and which for their label.

    Lines without any count are not, nor are those of one label that has none. With the line of a label go others until what they
    count could be that of any, as :func:`hidden_rows` hides their sums: a line of which something is left would not be the thin one.

    Args:
        rows: The result of an audit.
        cells: Which of its columns count people or images.
        k: The smallest count that may be shown.

    Returns:
        Rows that are thin, and those of them that are so because of their own label, and not whatever label they have.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"term": ["x", "x", "y", "y"], "label": ["a", "b"] * 2, "count": [1, 0, 40, 3]})
        >>> [found.tolist() for found in thin_rows(rows, Cells("count", by=("label",), within=("term",)), 10)]
        [[True, True, False, False], [False, False, False, False]]
    """
    counted = rows[cells.count].is_valid().to_numpy(zero_copy_only=False)
    counts = np.nan_to_num(_numbers(rows[cells.count]))
    around = _codes(rows, (*cells.within, *cells.totals))
    _, first = np.unique(_joined(around, _codes(rows, cells.by)), return_index=True)
    thin, of_label = np.zeros(len(rows), bool), np.zeros(len(rows), bool)
    axes = range(1 if cells.joint else len(cells.by))
    for axis in axes:
        others = (*cells.by[:axis], *cells.by[axis + 1 :]) if len(axes) > 1 else ()
        line = _joined(around, _codes(rows, others))
        is_of_label = not LABELS.isdisjoint((*cells.within, *others))
        size = int(line.max(initial=0)) + 1
        sums: NDArray[np.float64] = np.bincount(line[first], counts[first], minlength=size).astype(np.float64)
        is_few = (sums < k) & ((sums > 0) | (LABEL not in {*cells.within, *others}))
        few = np.isin(line, line[counted]) & is_few[line]
        if len(rows) and others and LABELS.issuperset(others):
            few |= _around_few(rows, others, around, line, sums, k)
        thin |= few
        of_label |= few & is_of_label
    return thin, of_label


def _around_few(
    rows: pa.Table,
    named: Sequence[str],
    table: NDArray[np.int64],
    line: NDArray[np.int64],
    sums: NDArray[np.float64],
    k: int,
) -> NDArray[np.bool_]:
    """Return which rows are of lines whose sums are hidden where they are the cells of their table."""
    _, first, place = np.unique(line, return_index=True, return_inverse=True)
    names, none = _names(rows, named).take(pa.array(first)), np.full(len(first), np.nan)
    numbers = (sums[line[first]], none, none)
    found = _of_siblings(
        table[first], numbers, np.zeros(len(first), bool), _is_unclear(names), _rank(names), k, overlap=False
    )
    hidden: NDArray[np.bool_] = (found != SHOWN)[place]
    return hidden


def beside_hidden(rows: pa.Table, cells: Cells, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are of a concept of which a row is hidden: a concept is shown of all labels, or of none.

    Which other label is hidden with a small one would depend on what else an audit counts, and two audits show what either hides.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"concept": ["tie", "tie", "hat"], "label": ["a", "b", "a"], "count": [3, 40, 30]})
        >>> beside_hidden(rows, Cells("count", by=("label",), within=("concept",)), np.array([True, False, False])).tolist()
        [True, True, False]
    """
    named = (*cells.within, *cells.totals)
    if cells.by != (LABEL,) or cells.side is not None or CONCEPTS.isdisjoint(named):
        return np.zeros(len(rows), bool)
    return tables_with(rows, named, hidden)


def is_of_labels(cell: Cells) -> bool:
    """Tell whether a cell is of a label, or of what images of any label have.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> [is_of_labels(Cells("n", by=by, within=within)) for by, within in ((("label",), ()), ((), ("concept",)), ((), ("side",)))]
        [True, True, False]
    """
    return cell.by == (LABEL,) or (not cell.by and not _SHARED.isdisjoint(cell.within))


def rows_in(rows: pa.Table, keys: pa.Table) -> NDArray[np.bool_]:
    """Return which rows have the values of some row of ``keys`` in its columns; all of them where it has rows and no columns.

    Example:
        >>> rows_in(pa.table({"concept": ["tie", "hat"], "count": [30, 20]}), pa.table({"concept": ["hat"]})).tolist()
        [False, True]
    """
    if not keys.column_names:
        return np.full(len(rows), len(keys) > 0)
    codes = _codes(pa.concat_tables([rows.select(keys.column_names), keys]), keys.column_names)
    return np.isin(codes[: len(rows)], codes[len(rows) :])


def others_beside(rows: pa.Table, cells: Cells, hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are of the label of all other images, in tables of which a row is hidden.

    How many they are follows from how many images there are, which anybody can count: shown, they would stand for the unclear
    images that another call hides in place of a second label.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"label": ["a", "b", "others"], "count": [3, 12, 40]})
        >>> others_beside(rows, Cells("count", by=("label",)), np.array([True, True, False])).tolist()
        [False, False, True]
    """
    found = np.zeros(len(rows), bool)
    for column in LABELS.intersection(cells.by):
        if pa.types.is_string(rows.schema.field(column).type):
            found |= pc.fill_null(pc.equal(rows[column], OTHERS), fill_value=False).to_numpy(zero_copy_only=False)
    return found & tables_with(rows, (*cells.within, *cells.totals), hidden)


def rows_of_side(rows: pa.Table, cells: Sequence[Cells]) -> NDArray[np.bool_]:
    """Return which rows have names that these cells count anything of: where two sides stand together, others are of the other.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"label": ["a", "b", "c"], "count_a": [3, 0, 40]})
        >>> rows_of_side(rows, [Cells("count_a", by=("label",))]).tolist()
        [True, False, True]
    """
    found = np.ones(len(rows), bool)
    for cell in cells:
        numbers = np.array([np.nan_to_num(_numbers(rows[c])) for c in (cell.count, cell.out_of) if c is not None])
        counted = np.asarray((numbers > 0).any(axis=0), np.bool_)
        for column in cell.by:
            found &= tables_with(rows, (*cell.within, column), counted)
    return found


def thin_alone(rows: pa.Table, cells: Sequence[Cells], k: int) -> NDArray[np.bool_]:
    """Return which rows count nothing that is ``k`` or more, where no cells are siblings: 0 is as little as 1, and as nothing.

    Example:
        >>> from counterbalance.engine.disclosure.cells import Cells
        >>> rows = pa.table({"n_label": [0, 1, 12], "n_against": [0, 0, 0]})
        >>> thin_alone(rows, [Cells("n_label"), Cells("n_against")], 10).tolist()
        [True, True, False]
    """
    whole = [rows[name] for name in dict.fromkeys(cell.of or cell.out_of or cell.count for cell in cells)]
    counts = np.array([_numbers(column) for column in whole]).reshape(len(whole), len(rows))
    found: NDArray[np.bool_] = (np.nan_to_num(counts) < k).all(axis=0)
    return found


def tables_of(rows: pa.Table, within: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for every row, equal for those of one table.

    Example:
        >>> tables_of(pa.table({"concept": ["tie", "hat", "tie"]}), ["concept"]).tolist()
        [0, 1, 0]
    """
    return _codes(rows, within)


def tables_with(rows: pa.Table, within: Sequence[str], hidden: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows are of a table, told apart by the columns ``within``, that has any of these rows.

    Example:
        >>> rows = pa.table({"concept": ["tie", "tie", "hat"]})
        >>> tables_with(rows, ["concept"], np.array([True, False, False])).tolist()
        [True, True, False]
    """
    table = _codes(rows, within)
    return np.isin(table, table[hidden])


def _joined(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for every pair."""
    _, code = np.unique(one * (int(other.max(initial=0)) + 1) + other, return_inverse=True)
    return np.asarray(code, np.int64)


def _numbers(column: pa.ChunkedArray) -> NDArray[np.float64]:
    numbers: NDArray[np.float64] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return numbers


def _codes(rows: pa.Table, columns: Iterable[str]) -> NDArray[np.int64]:
    """Return a number from 0 for every row, equal where the columns are."""
    code = np.zeros(len(rows), np.int64)
    for column in columns:
        encoded = pc.dictionary_encode(rows[column].combine_chunks(), null_encoding="encode")
        code = _joined(code, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64))
    return code


def _names(rows: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    if len(columns) == 1:
        return rows[columns[0]]
    parts = [rows[column].cast(pa.string()) for column in columns]
    return pc.binary_join_element_wise(*parts, " ", null_handling="replace")


def _is_unclear(names: pa.ChunkedArray) -> NDArray[np.bool_]:
    if not pa.types.is_string(names.type):
        return np.zeros(len(names), bool)
    is_merged = pc.fill_null(pc.starts_with(names, HIDDEN), fill_value=False)
    found: NDArray[np.bool_] = pc.or_(pc.is_in(names, pa.array(sorted(UNCLEAR))), is_merged).to_numpy(
        zero_copy_only=False
    )
    return found


def _rank(names: pa.ChunkedArray) -> NDArray[np.int64]:
    order = pc.sort_indices(names).to_numpy()
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank

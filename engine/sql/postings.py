"""Functions of texts that are answered from stored tokens, and by an index on these.

``matches(text, terms)`` needs no more of a text than its lemmas. Where a table holds ``lemmas(text)`` as a fresh generated
column, the call reads that column; where a ``label_list`` index stands on it and few rows match, only these are read:

* ``WHERE matches(text, …)`` becomes a scan of the rows that the index finds (a count does not even scan them);
* ``SELECT …, unnest(match_terms(text, …)) FROM …`` takes the rows of every term from the index, or those of thousands of
  terms from one scan of the tokens.

Results are the same as without. A package says so of its functions with ``answered_from``.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from counterbalance.engine.sql.computed_columns import stored_column
from counterbalance.engine.sql.parse import as_text
from counterbalance.engine.sql.rewrites.count_star import counted_table
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.functions import Function
    from counterbalance.engine.search.index_search import Stored
    from counterbalance.engine.sql.binding import Binding

    Forms = Sequence[tuple[str, frozenset[str]]]

_FEW: Final = 50
"""Rows are fetched through the index when it finds less than a fiftieth of them; scattered rows are slow to fetch."""
_SEARCH_ROWS: Final = 7_000
"""A search costs about as much as scanning the stored tokens of so many rows."""
FOUND: Final = "found__"


@dataclass(frozen=True, slots=True)
class Through:
    """How a function is answered from stored tokens.

    Args:
        stored: Name of the function that makes the tokens, of the same text and without constants.
        call: The function over tokens instead of a text, with the same constants.
        forms: From the constants, what is looked for: (label, tokens), a label occurs where all tokens of any of its
            forms do. ``None`` when they cannot say.
    """

    stored: str
    call: Function
    forms: Callable[..., Forms | None]


_known: dict[str, Through] = {}


def answered_from(function: str, through: Through) -> None:
    """Say that a function can be answered from stored tokens."""
    _known[function] = through


def answer(call: exp.Anonymous, function: Function, constants: Mapping[str, Any], binding: Binding) -> bool:
    """Put stored tokens, or what an index says, in the place of a call; whether it could be done.

    Args:
        call: The call, in a tree whose relations have their registered names.
        function: What it calls.
        constants: Values of its constant parameters.
        binding: What is known of the statement.
    """
    through = _known.get(function.name)
    text = call.expressions[0] if call.expressions else None
    if through is None or not isinstance(text, exp.Column) or any(v is None for v in constants.values()):
        return False
    wanted = exp.Anonymous(this=through.stored, expressions=[text.copy()])
    wanted.parent = call.parent
    column = stored_column(wanted, binding.stored_calls)
    select = call.find_ancestor(exp.Select)
    if column is None or select is None:
        return False
    table = next(t for t in select.find_all(exp.Table) if t.alias_or_name == column.table and t.parent_select is select)
    if binding.has_failed(table.name, column.name):
        return False
    forms = through.forms(**constants)
    call.set("expressions", [text])  # the constants are known, and their subqueries are not part of the query any more
    found = _Index.of(binding.stored_table(table.name), column.name, forms) if forms else None
    if found is None or not (
        _narrow(call, select, table, found, binding) or _list(call, select, table, found, binding)
    ):
        call.set("this", binding.function(through.call, constants))
        call.set("expressions", [column])
    return True


def _narrow(call: exp.Anonymous, select: exp.Select, table: exp.Table, index: _Index, binding: Binding) -> bool:
    """Narrow ``WHERE call AND …`` to the rows that the index finds."""
    where = select.args.get("where")
    node: exp.Expr = call
    while isinstance(node.parent, exp.And | exp.Paren):
        node = node.parent
    only_counted = node is call and counted_table(select) is table  # for that no row is fetched
    if (
        not (index.is_rare or only_counted)
        or table.args.get("sample")
        or node.parent is not where
        or where is None
        or not all(_is_inner(j) for j in select.args.get("joins") or [])
    ):
        return False
    _put(table, binding.narrowed(table.name, index.condition))
    call.replace(exp.true())
    return True


def _is_inner(join: exp.Join) -> bool:
    return not (join.side or join.method) and join.kind.upper() in {"", "INNER", "CROSS"}


def _list(call: exp.Anonymous, select: exp.Select, table: exp.Table, index: _Index, binding: Binding) -> bool:
    """List ``SELECT …, unnest(call) FROM table`` by the index: rows without any label give none, and it has the others."""
    unnests = [n for e in select.expressions for n in e.find_all(exp.Unnest, exp.Explode)]
    parts = ("joins", "laterals", "group", "having", "windows", "qualify", "pivots", "sample")
    if len(unnests) != 1 or call.parent is not unnests[0] or any(select.args.get(p) for p in parts):
        return False
    if select.find(exp.Star, exp.AggFunc, exp.Window, exp.Columns) or any(
        table.args.get(a) for a in ("pivots", "sample")
    ):
        return False
    if len(list(select.find_all(exp.Select))) > 1:
        return False
    shown = {n.lower(): n for n in index.table.schema.names}
    read = {c.name.lower() for c in select.find_all(exp.Column) if not c.find_ancestor(exp.Unnest, exp.Explode)}
    if not read or not read <= shown.keys():
        return False
    columns = sorted(shown[c] for c in read)
    if not index.is_rare and not all(pa.types.is_primitive(index.table.schema.field(c).type) for c in columns):
        return False
    key = f"{columns} {index.key}"
    _put(table, binding.derived(table.name, key, lambda: index.listed(columns)))
    call.replace(exp.column(FOUND, table=table.alias_or_name))
    return True


def _put(table: exp.Table, name: str) -> None:
    if table.args.get("alias") is None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
    table.set("this", exp.to_identifier(name, quoted=True))


@dataclass(frozen=True, slots=True)
class _Index:
    """A ``label_list`` index on tokens, and what is looked for.

    Args:
        table: The table.
        column: Its column of tokens.
        forms: What is looked for.
        condition: Lance filter of the rows that hold any of it.
        is_rare: Whether few rows do.
    """

    table: Stored
    column: str
    forms: Forms
    condition: str
    is_rare: bool

    @classmethod
    def of(cls, table: Stored | None, column: str, forms: Forms) -> _Index | None:
        """Return the index, if it is there and Lance would use it."""
        if table is None:
            return None
        condition = _condition(column, [tokens for _, tokens in forms])
        asked = (str(table.dataset.uri), int(table.dataset.version), condition)
        if asked not in _answers:
            if len(_answers) >= _MOST_ANSWERS:
                _answers.clear()
            _answers[asked] = _rarity(table.dataset, column, condition)
        is_rare = _answers[asked]
        return None if is_rare is None else cls(table, column, forms, condition, is_rare)

    @property
    def key(self) -> str:
        """Return text that is equal for equal searches."""
        return f"{self.column} {[(label, sorted(tokens)) for label, tokens in self.forms]}"

    def listed(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows that match, with their labels as ``FOUND``, each once, in the order of the forms."""
        dataset, names = self.table.dataset, list(dict.fromkeys(label for label, _ in self.forms))
        places = {name: place for place, name in enumerate(names)}
        searched = _searched(dataset, self.column, [tokens for _, tokens in self.forms])
        hits = [(found, places[label]) for found, (label, _) in zip(searched, self.forms, strict=True)]
        condition = self.condition if self.is_rare else None
        rows = dataset.scanner(columns=list(columns), with_row_id=True, filter=condition).to_table()
        at = _places(rows["_rowid"].to_numpy(), np.concatenate([found for found, _ in hits]))
        label = np.repeat([place for _, place in hits], [len(found) for found, _ in hits])
        pairs = np.sort(at * len(names) + label)  # np.unique hashes, which takes five times as long
        pairs = pairs[np.diff(pairs, prepend=-1) != 0]
        row = pairs // len(names)
        starts = np.flatnonzero(np.diff(row, prepend=-1))
        labels = pa.DictionaryArray.from_arrays(
            pa.array((pairs % len(names)).astype(np.int32)), pa.array(names, pa.string())
        )
        offsets = np.append(starts, len(pairs)).astype(np.int32)
        lists = pa.ListArray.from_arrays(pa.array(offsets), labels)
        return rows.select(list(columns)).take(pa.array(row[starts])).append_column(FOUND, lists)


_MOST_ANSWERS: Final = 64
_answers: dict[tuple[str, int, str], bool | None] = {}
"""What ``_rarity`` said of conditions on tables at versions; it decides how fast an answer is, never what it is."""


def _rarity(dataset: lance.LanceDataset, column: str, condition: str) -> bool | None:
    """Tell whether an index finds few rows; ``None`` without an index that Lance uses."""
    if not any(i.field_names == [column] and i.index_type.lower() == "labellist" for i in dataset.describe_indices()):
        return None
    # an index on a list whose items have another name than "item" is passed over, and the scan is very slow
    if "ScalarIndexQuery" not in dataset.scanner(columns=[], with_row_id=True, filter=condition).explain_plan():
        return None
    return int(dataset.count_rows(filter=condition)) * _FEW < int(dataset.count_rows())


def _places(ids: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return where each wanted id stands among ids, all of which are there."""
    if len(ids) and int(ids[-1]) - int(ids[0]) == len(ids) - 1 and (ids[1:] > ids[:-1]).all():
        return np.asarray(wanted - ids[0], np.int64)
    order = np.argsort(ids, kind="stable")
    return np.asarray(order[np.searchsorted(ids, wanted, sorter=order)], np.int64)


def _searched(dataset: lance.LanceDataset, column: str, forms: Sequence[frozenset[str]]) -> list[NDArray[np.uint64]]:
    """Return ids of the rows that hold all tokens of each form: by a search each, or by one scan where that is less work."""
    tokens = sorted({token for form in forms if len(form) == 1 for token in form})
    scanned = _scanned(dataset, column, tokens) if len(tokens) * _SEARCH_ROWS > dataset.count_rows() else {}
    with ThreadPoolExecutor() as pool:  # Lance searches without Python's lock
        return list(pool.map(lambda form: scanned[form] if form in scanned else _found(dataset, column, form), forms))


def _scanned(
    dataset: lance.LanceDataset, column: str, tokens: Sequence[str]
) -> dict[frozenset[str], NDArray[np.uint64]]:
    """Return ids of the rows that hold each token, from all stored lists; an id as often as the token stands in its row."""
    wanted, ids, which = pa.array(tokens, pa.string()), [np.empty(0, np.uint64)], [np.empty(0, np.int32)]
    for batch in dataset.scanner(columns=[column], with_row_id=True).to_reader():
        lists = batch.column(column)
        places = pc.index_in(lists.flatten(), value_set=wanted)
        there = pc.is_valid(places)
        rows = pc.list_parent_indices(lists).filter(there)
        ids.append(batch.column("_rowid").take(rows).to_numpy())
        which.append(places.filter(there).to_numpy())
    token = np.concatenate(which)
    found = np.concatenate(ids)[np.argsort(token, kind="stable")]
    parts = np.split(found, np.cumsum(np.bincount(token, minlength=len(tokens)))[:-1])
    return {frozenset((token,)): part for token, part in zip(tokens, parts, strict=True)}


def _found(dataset: lance.LanceDataset, column: str, tokens: frozenset[str]) -> NDArray[np.uint64]:
    scanner = dataset.scanner(columns=[], with_row_id=True, filter=_condition(column, [tokens]))
    return np.asarray(scanner.to_table()["_rowid"].to_numpy())


def _condition(column: str, forms: Iterable[frozenset[str]]) -> str:
    """Return the Lance filter of the rows that hold all tokens of any form."""
    single = sorted({token for form in forms if len(form) == 1 for token in form})
    several = sorted({tuple(sorted(form)) for form in forms if len(form) > 1})
    name = tables.lance_name(column)
    parts = [f"array_has_any({name}, {_texts(single)})"] if single else []
    parts += [f"array_has_all({name}, {_texts(form)})" for form in several]
    return " OR ".join(parts)


def _texts(tokens: Iterable[str]) -> str:
    return "[" + ", ".join(map(as_text, tokens)) + "]"

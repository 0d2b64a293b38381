"""DuckDB's predicates over a Lance table as SQL text for Lance.

A filter on a coded column (``write/dictionaries.py``) can be asked of its codes, or of its strings when an index stands on these.
The index wins where few rows are wanted, and for counting; where many are, Lance fetches them row by row, and a scan of
the codes is several times quicker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.schema import CODE_SUFFIX, KEY_INDEX
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import lance
    from numpy.typing import NDArray

_PUSHED_TYPES: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP"}
)
_COMPARISONS: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_ORDERED: Final = _COMPARISONS - {"="}
_UNKNOWN_CODE: Final = -2
_EXACT_INDEXES: Final = frozenset({"bitmap", "btree"})


def indexed_columns(dataset: lance.LanceDataset) -> frozenset[str]:
    """Return columns with an index that finds single values."""
    found = dataset.describe_indices()
    return frozenset(
        i.field_names[0] for i in found if i.index_type.lower() in _EXACT_INDEXES and len(i.field_names) == 1
    )


def by_key_range(dataset: lance.LanceDataset, filters: Sequence[Any]) -> bool:
    """Tell whether a range of keys is asked for: the index of keys is for single ones, and finds many slower than a scan."""
    ordered = {column for node in filters for column in _ordered(node)}
    return bool(ordered) and any(
        i.name == KEY_INDEX and i.field_names[0] in ordered for i in dataset.describe_indices()
    )


class Filters:
    """What becomes of the predicates that DuckDB offers to the scan of a table.

    Args:
        codes: Dictionary of each coded column, without NULL.
        indexed: Columns with an exact index.
    """

    def __init__(
        self,
        codes: Mapping[str, Sequence[str | None]],
        indexed: frozenset[str] = frozenset(),
        filled: frozenset[str] = frozenset(),
    ) -> None:
        self._filled = filled
        self._codes = {c: {v: i for i, v in enumerate(values) if v is not None} for c, values in codes.items()}
        self._indexed = indexed

    def text(self, nodes: Sequence[Any], *, by_index: bool = False) -> str | None:
        """Return the predicates that hold together as SQL text; ``None`` for none.

        Args:
            nodes: Predicates that can be rendered.
            by_index: Ask strings that have an index rather than their codes.
        """
        texts = [self.render(node, by_index=by_index) for node in nodes]
        return " AND ".join(t for t in texts if t is not None) or None

    def on_codes(self, nodes: Sequence[Any]) -> list[tuple[str, NDArray[np.bool_]]]:
        """Return those of some predicates that are of one coded column, as (column, whether each code passes, NULL first).

        Without columns of which an index knows more.
        """
        found = []
        for node in nodes:
            columns = _columns(node)
            column = next(iter(columns)) if len(columns) == 1 else ""
            if column in self._codes and column not in self._indexed and self.render(node) is not None:
                values = (None, *self._codes[column])
                found.append((column, np.array([_holds(node, value) is True for value in values], np.bool_)))
        return found

    def render(self, node: Any, *, by_index: bool = False) -> str | None:
        """Return the predicate as SQL text for Lance; ``None`` when the engine must apply it itself."""
        from duckdb._sources import nodes

        match node:
            case nodes.Binary(op="AND" | "OR" as op, left=left, right=right):
                sides = (self.render(left, by_index=by_index), self.render(right, by_index=by_index))
                return None if None in sides else f"({sides[0]} {op} {sides[1]})"
            case nodes.Binary(op=op, left=nodes.Col(parts=parts), right=nodes.Lit() as constant) if op in _COMPARISONS:
                return self._compare(parts, op, constant, by_index=by_index)
            case nodes.Unary(op="NOT", operand=operand):
                inner = self.render(operand, by_index=by_index)
                return None if inner is None else f"(NOT {inner})"
            case nodes.Postfix(op="IS NULL" | "IS NOT NULL" as op, operand=nodes.Col(parts=parts)):
                if parts[0] in self._filled:
                    return None
                return f"({tables.lance_name(*parts)} {op})"
            case nodes.In(operand=nodes.Col(parts=parts), values=values):
                return self._member(parts, values, by_index=by_index)
        return None

    def _compare(self, parts: tuple[str, ...], op: str, constant: Any, *, by_index: bool) -> str | None:
        if not _is_known(constant):
            return None
        if parts[0] in self._codes:
            if op not in {"=", "!="}:
                return None
            if not (by_index and parts[0] in self._indexed):
                return f"({tables.lance_name(parts[0] + CODE_SUFFIX)} {op} {self._code(parts[0], constant)})"
        return f"({tables.lance_name(*parts)} {op} {constant.fragment()})"

    def _member(self, parts: tuple[str, ...], values: Sequence[Any], *, by_index: bool) -> str | None:
        if not all(map(_is_known, values)):
            return None
        if parts[0] in self._codes and not (by_index and parts[0] in self._indexed):
            wanted = ", ".join(str(self._code(parts[0], v)) for v in values)
            return f"({tables.lance_name(parts[0] + CODE_SUFFIX)} IN ({wanted}))"
        return f"({tables.lance_name(*parts)} IN ({', '.join(v.fragment() for v in values)}))"

    def _code(self, column: str, constant: Any) -> int:
        return self._codes[column].get(constant.value, _UNKNOWN_CODE)


def _is_known(constant: Any) -> bool:
    """Tell whether Lance reads a value as what it is."""
    return constant.type in _PUSHED_TYPES and constant.value != tables.LOWEST


def _columns(node: Any) -> set[str]:
    """Return the columns that a predicate reads, by their dotted names."""
    from duckdb._sources import nodes

    match node:
        case nodes.Binary(left=left, right=right):
            return _columns(left) | _columns(right)
        case nodes.Unary(operand=operand) | nodes.Postfix(operand=operand) | nodes.In(operand=operand):
            return _columns(operand)
        case nodes.Col(parts=parts):
            return {".".join(parts)}
    return set()


def _ordered(node: Any) -> set[str]:
    """Return the columns that a predicate compares with a value, but for equality."""
    from duckdb._sources import nodes

    match node:
        case nodes.Binary(op=op, left=nodes.Col()):
            return _columns(node) if op in _ORDERED else set()
        case nodes.Binary(left=left, right=right):
            return _ordered(left) | _ordered(right)
        case nodes.Unary(operand=operand):  # NOT (key = 5)
            return _columns(operand)
    return set()


def _holds(node: Any, value: str | None) -> bool | None:
    """Return a predicate that can be rendered, for one value of its only column; ``None`` is SQL's unknown."""
    from duckdb._sources import nodes

    match node:
        case nodes.Binary(op="AND" | "OR" as op, left=left, right=right):
            sides, decisive = (_holds(left, value), _holds(right, value)), op == "OR"
            return decisive if decisive in sides else None if None in sides else not decisive
        case nodes.Unary(operand=operand):
            inner = _holds(operand, value)
            return None if inner is None else not inner
        case nodes.Postfix(op=op):
            return (value is None) == (op == "IS NULL")
        case nodes.In(values=values):
            return None if value is None else value in {v.value for v in values if isinstance(v, nodes.Lit)}
    return None if value is None else (value == node.right.value) == (node.op == "=")

"""Read off a query which predicates the scan of a table can apply, as SQL text for Lance.

That is done for each use of a table, and they stay in the query: Spark 4.3 hands what it pushes into one use of a Python source
to all of its uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Iterator

_TOO_LARGE: Final = 1 << 63


def condition_of(use: exp.Table, schema: pa.Schema) -> str | None:
    """Return what must hold of a table's rows for one use of it: its WHERE, as far as that compares columns with constants.

    Args:
        use: The table where a query names it.
        schema: Its columns.

    Example:
        >>> import sqlglot
        >>> query = sqlglot.parse_one("SELECT * FROM labels AS l JOIN images AS i ON true WHERE l.value IN ('a', 'b') AND i.width = 5")
        >>> columns = pa.schema([("value", pa.string()), ("score", pa.float64())])
        >>> condition_of(query.find(exp.Table), columns)
        "`value` IN ('a', 'b')"
    """
    source = use.parent
    select = source.parent if isinstance(source, exp.From | exp.Join) else None
    where = select.args.get("where") if isinstance(select, exp.Select) else None
    if select is None or where is None:
        return None
    is_alone = not (select.args.get("joins") or select.args.get("laterals"))
    names = {use.alias_or_name.lower(), *([""] if is_alone else [])}
    fields = {field.name.lower(): field for field in schema}
    parts = []
    for one in _conjuncts(where.this):
        column, values = _compared(one)
        field = fields.get(column.name.lower()) if column is not None and column.table.lower() in names else None
        wanted = () if field is None else tuple(_literal(value, field.type) for value in values)
        if field is not None and wanted and None not in wanted:
            parts.append(f"{tables.lance_name(field.name)} IN ({', '.join(map(str, wanted))})")
    return " AND ".join(parts) or None


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _compared(node: exp.Expr) -> tuple[exp.Column | None, list[exp.Expr]]:
    """Return the column that a predicate compares, and the values that it may have."""
    if isinstance(node, exp.EQ):
        sides = (node.left, node.right)
        column = next((side for side in sides if isinstance(side, exp.Column)), None)
        return column, [side for side in sides if side is not column]
    if isinstance(node, exp.In) and isinstance(node.this, exp.Column):
        return node.this, node.expressions
    return None, []


def _literal(value: exp.Expr, kind: pa.DataType) -> str | None:
    """Return a constant as text that Lance compares with a column as Spark does; ``None`` for others."""
    if not isinstance(value, exp.Literal):
        return None
    if value.is_string and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return value.sql("duckdb")
    return value.this if value.is_int and pa.types.is_integer(kind) and int(value.this) < _TOO_LARGE else None

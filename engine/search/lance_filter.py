"""The ``where`` of a search: a condition over one table's visible columns, written anew for Lance.

What reaches Lance is never the user's text. The text is parsed, every node must be on the list below, and the filter is
rendered from the nodes, so nothing can be said in it that was not understood.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from counterbalance.engine.errors import RefusedError, SqlError, did_you_mean
from counterbalance.engine.sql.parse import DIALECT, as_text, to_sql
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    import pyarrow as pa

_BINARY: Final[dict[type[exp.Expr], str]] = {
    exp.And: "AND",
    exp.Or: "OR",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.Like: "LIKE",
    exp.ILike: "ILIKE",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Mod: "%",
}
_FUNCTIONS: Final = {
    "lower": "lower",
    "upper": "upper",
    "length": "length",
    "starts_with": "starts_with",
    "contains": "contains",
    "list_contains": "array_has",
    "list_has": "array_has",
    "array_contains": "array_has",
    "array_has": "array_has",
    "list_has_any": "array_has_any",
    "array_has_any": "array_has_any",
    "list_has_all": "array_has_all",
    "array_has_all": "array_has_all",
}
_NODES: Final[dict[type[exp.Expr], str]] = {
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Length: "length",
    exp.StartsWith: "starts_with",
    exp.Contains: "contains",
    exp.ArrayContains: "array_has",
    exp.ArrayOverlaps: "array_has_any",
    exp.ArrayContainsAll: "array_has_all",
}
_CASTS: Final = {"DATE": "date", "TIMESTAMP": "timestamp"}
_DEEPEST: Final = 200


def lance_filter(text: str, schema: pa.Schema, table: str) -> str:
    """Return the condition as a filter for Lance.

    Args:
        text: SQL: comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, ``+ - * %`` and a few functions of columns
            and constants.
        schema: The visible columns.
        table: The table's name, for errors and as a qualifier.

    Raises:
        SqlError: It cannot be parsed, or names an unknown column.
        RefusedError: It is more than a condition over columns.

    Example:
        >>> import pyarrow as pa
        >>> schema = pa.schema([("split", pa.string()), ("width", pa.int32())])
        >>> lance_filter("split = 'val' and width between 10 and 20", schema, "images")
        "((`split` = 'val') AND (`width` BETWEEN 10 AND 20))"
    """
    try:
        tree = sqlglot.parse_one(f"SELECT 1 WHERE {text}\n", dialect=DIALECT)
    except (SqlglotError, RecursionError) as error:
        raise SqlError(f"cannot read the condition {text!r}", code="E3452", hint="such as: split = 'val'") from error
    where = tree.args.get("where")
    more = {name for name, value in tree.args.items() if value} - {"expressions", "where", "kind"}
    if not isinstance(tree, exp.Select) or not isinstance(where, exp.Where) or more:
        raise _refused(text)
    return _Renderer(schema, table).render(where.this, 0)


def _refused(what: str) -> RefusedError:
    return RefusedError(
        f"{what!r} is refused in a search condition: it is more than a comparison of columns",
        code="E3250",
        hint="search first, then join the result and filter there",
    )


class _Renderer:
    def __init__(self, schema: pa.Schema, table: str) -> None:
        self._schema, self._table = schema, table

    def render(self, node: exp.Expr, depth: int) -> str:
        """Return the node, or an error."""
        if depth > _DEEPEST:
            raise SqlError("the condition is nested too deeply", code="E3452")
        if type(node) in _BINARY:
            return (
                f"({self.render(node.this, depth + 1)} {_BINARY[type(node)]} {self.render(node.expression, depth + 1)})"
            )
        if isinstance(node, exp.Paren):
            return self.render(node.this, depth + 1)
        if isinstance(node, exp.Not):
            return f"(NOT {self.render(node.this, depth + 1)})"
        if isinstance(node, exp.Neg):
            return f"(-{self.render(node.this, depth + 1)})"
        if isinstance(node, exp.Column | exp.Dot):
            return self._column(node)
        if isinstance(node, exp.Literal):
            return _literal(node)
        if isinstance(node, exp.Boolean):
            return "TRUE" if node.this else "FALSE"
        if isinstance(node, exp.Null):
            return "NULL"
        return self._compound(node, depth)

    def _compound(self, node: exp.Expr, depth: int) -> str:
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null | exp.Boolean):
            return f"({self.render(node.this, depth + 1)} IS {self.render(node.expression, depth + 1)})"
        if isinstance(node, exp.Between):
            low, high = (self.render(node.args[n], depth + 1) for n in ("low", "high"))
            return f"({self.render(node.this, depth + 1)} BETWEEN {low} AND {high})"
        if isinstance(node, exp.In) and node.expressions and not node.args.get("query"):
            values = ", ".join(self.render(v, depth + 1) for v in node.expressions)
            return f"({self.render(node.this, depth + 1)} IN ({values}))"
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
            kind = _CASTS.get(node.to.this.name)
            if kind is not None and node.this.is_string:
                return f"{kind} {_literal(node.this)}"
        if isinstance(node, exp.Array):
            return f"[{', '.join(self.render(v, depth + 1) for v in node.expressions)}]"
        return self._call(node, depth)

    def _call(self, node: exp.Expr, depth: int) -> str:
        name = _NODES.get(type(node))
        if isinstance(node, exp.Anonymous):
            name, parts = _FUNCTIONS.get(str(node.name).lower()), list(node.expressions)
        else:
            parts = [v for v in node.args.values() if isinstance(v, exp.Expr)]
        if name is None or any(isinstance(p, exp.Distinct | exp.Order) for p in parts):
            raise _refused(to_sql(node))
        return f"{name}({', '.join(self.render(p, depth + 1) for p in parts)})"

    def _column(self, node: exp.Column | exp.Dot) -> str:
        if any(not isinstance(part, exp.Identifier) for part in node.parts):
            raise _refused(to_sql(node))
        names = [str(part.name) for part in node.parts]
        if len(names) > 1 and names[0].lower() == self._table.lower() and names[0] not in self._schema.names:
            names = names[1:]
        known = {name.lower(): name for name in self._schema.names}
        if names[0].lower() not in known:
            raise SqlError(
                f"no column {names[0]!r} in {self._table}{did_you_mean(names[0], known)}",
                code="E3453",
                hint="columns: " + ", ".join(self._schema.names),
            )
        names[0] = known[names[0].lower()]
        return tables.lance_name(*names)


def _literal(node: exp.Literal) -> str:
    return as_text(node.this) if node.is_string else str(node.this)

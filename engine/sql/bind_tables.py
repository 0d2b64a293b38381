"""What a call of a table function in FROM becomes, such as ``top_k(…)``: the name that its rows are registered under."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from sqlglot import exp

from counterbalance.engine.errors import SqlError
from counterbalance.engine.search import SIGNATURES, table_functions
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.call_syntax import arguments_of
from counterbalance.engine.sql.ctes import written
from counterbalance.engine.sql.parse import DIALECT, to_sql
from counterbalance.engine.sql.scope import substituted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.engine.sql.binding import Binding
    from counterbalance.engine.sql.query_model import QueryParameter
    from counterbalance.engine.sql.scope import Env


class Names(Protocol):
    """What knows the relations of the statement."""

    def resolved(self, target: exp.Expr, env: Env) -> exp.Table:
        """Return a relation argument as the name of something that is registered or hoisted."""
        ...


class TableCalls:
    """Calls table functions of one statement, each with the same arguments once.

    Args:
        binding: Computes the arguments, and knows the rows.
        names: Resolves relation arguments.
        bind: Whether to call them; else they are shown by name.
    """

    def __init__(self, binding: Binding, names: Names, *, bind: bool) -> None:
        self._binding, self._names, self._bind = binding, names, bind
        self._memo: dict[tuple[str, ...], str] = {}

    def name_of(self, name: str, call: exp.Func, env: Env) -> str:
        """Return the id of the rows that the call returns.

        Raises:
            SqlError: Its arguments do not fit.
        """
        values = self._values(name, call, env)
        key = (name, *(f"{n}={to_sql(v) if isinstance(v, exp.Expr) else v}" for n, v in values.items()))
        if key not in self._memo:
            self._memo[key] = self._bound(name, values) if self._bind else f"{name}__bound"
        return self._memo[key]

    def _values(self, name: str, call: exp.Func, env: Env) -> dict[str, Any]:
        signature = SIGNATURES[name]
        bound = arguments.bind(name, [p.name for p in signature], arguments_of(call))
        values: dict[str, Any] = {}
        for parameter in signature:
            where = f"{parameter.name!r} of {name}()"
            node = bound.get(parameter.name)
            if node is None:
                if parameter.default is None:
                    raise SqlError(f"{name}() needs {parameter.name!r}", code="E3116")
                node = exp.maybe_parse(parameter.default, dialect=DIALECT)
            value = None if isinstance(node, exp.Null) else self._value(parameter, node, where, env)
            if value is None and parameter.default is None:
                raise SqlError(f"{where} is NULL, and must be a value", code="E3116")
            if value is not None:
                values[parameter.name] = value
        return values

    def _bound(self, name: str, values: Mapping[str, Any]) -> str:
        from counterbalance.engine.search.late_materialization import Found

        self._binding.share()
        streamed = {p.name for p in SIGNATURES[name] if p.type == "stream"}
        rows: dict[str, Any] = {
            n: v
            if not isinstance(v, exp.Table)
            else self._binding.streamed(v)
            if n in streamed
            else self._binding.evaluated(exp.select("*").from_(v))
            for n, v in values.items()
        }
        made, table = table_functions()[name](**rows), rows.get("table")
        return self._binding.returned(name, made if table is None else Found(table, made))

    def _value(self, parameter: QueryParameter, node: exp.Expr, where: str, env: Env) -> Any:
        if parameter.is_relation:
            return self._names.resolved(arguments.as_relation(node, where), env)
        if parameter.type == "table":
            return self._stored_table(node, where, env)
        if parameter.type == "vector":
            return self._vector(node, where, env)
        return arguments.constant(arguments.scalar(parameter, substituted(node, env), where), where)

    def _stored_table(self, node: exp.Expr, where: str, env: Env) -> Any:
        """Return a table that lies in a lake, at the version of this session."""
        target = arguments.as_relation(node, where)
        table = self._names.resolved(target, env) if isinstance(target, exp.Table) else None
        found = None if table is None else self._binding.stored_table(table.name)
        if found is None:
            raise SqlError(
                f"{where} must be a table of the lake, not {written(node)}",
                code="E3133",
                hint="search the table, then join the result with your query",
            )
        return found

    def _vector(self, node: exp.Expr, where: str, env: Env) -> Any:
        """Return a constant, or the one value of a subquery."""
        if isinstance(node, exp.Placeholder | exp.Parameter) and node.name in env.placeholders:
            return getattr(env.placeholders[node.name], "tolist", lambda: env.placeholders[node.name])()
        node = substituted(node, env)
        while isinstance(node, exp.Paren):
            node = node.this
        query = node.this if isinstance(node, exp.Subquery) else node
        if not isinstance(query, exp.Query):
            return arguments.constant(node, where)
        one = exp.select("*").from_(self._names.resolved(exp.Subquery(this=query.copy()), env))
        return self._binding.constant(one, where) if self._bind else to_sql(query)

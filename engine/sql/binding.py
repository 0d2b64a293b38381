"""What is known of one statement while it is bound: its relations, its expressions, and rows that were computed ahead of it.

Ahead of a query run: subqueries whose value has to be constant, and relations that table functions are given.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Self

from sqlglot import exp

from counterbalance.engine.backends.duckdb.scan import visible_schema
from counterbalance.engine.errors import SqlError
from counterbalance.engine.search import statement_cache
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.plan import Plan, Relation, new_id
from counterbalance.engine.sql.resolver import bound_rows
from counterbalance.engine.sql.scope import assembled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from counterbalance.engine.backends import Backend, Runs
    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.functions import Function
    from counterbalance.engine.search.index_search import Stored
    from counterbalance.engine.sql.resolver import Resolver


class Binding:
    """One statement while it is bound.

    Args:
        resolver: Finds relations by name.
        backend: Makes Python functions callable.
        runs: Runs plans while the statement is bound.
    """

    def __init__(self, resolver: Resolver, backend: Backend, runs: Runs) -> None:
        self._resolver, self._backend, self._runs = resolver, backend, runs
        self._rows: dict[str, pa.Table] = {}
        self.relations: dict[str, Relation] = {}
        self.hoisted: dict[str, exp.Query] = {}
        self.user: dict[str, exp.CTE] = {}
        self.recursive = False
        self._shared, self._is_shared = ExitStack(), False

    # -- relations ---------------------------------------------------------------------------------------------------

    def add(self, relation: Relation) -> str:
        """Make a relation known by its id, which is returned."""
        self.relations[relation.id] = relation
        return relation.id

    def stored_calls(self, name: str) -> Mapping[str, str]:
        """Return expressions that a relation holds the values of, each with its column."""
        return self._resolver.stored_calls(self.relations.get(name), self._runs.expand)

    def is_fresh(self, view: Definition) -> bool:
        """Tell whether the rows of a materialized view are those that its query gives now."""
        return self._resolver.is_fresh(view, self._runs.expand)

    def stored_table(self, name: str) -> Stored | None:
        """Return the whole stored table behind a name, for a search in it; ``None`` of any other relation."""
        from counterbalance.engine.search.index_search import Stored

        relation = None if name in self.hoisted or name.lower() in self.user else self.relations.get(name)
        table = None if relation is None else relation.table
        if relation is None or table is None or table.condition is not None:
            return None
        schema = visible_schema(table.dataset, table.hidden)
        return Stored(relation.id, schema, table.dataset, table.lake.location, table.name)

    def has_failed(self, name: str, column: str) -> bool:
        """Tell whether a generated column of a stored relation has rows whose function failed."""
        from counterbalance.engine.refresh import failures

        table = self.relations[name].table
        return table is not None and len(failures.of_column(table.lake.location, table.name, column)) > 0

    def narrowed(self, name: str, condition: str) -> str:
        """Return the id of the rows of a stored relation that a Lance filter keeps."""
        return self.add(self.relations[name].narrowed(condition))

    def derived(self, name: str, key: str, make: Callable[[], pa.Table]) -> str:
        """Return the id of rows that are made of a relation, once a session."""
        return self.add(self.relations[name].derived("found", make, key=key))

    def returned(self, name: str, rows: Any) -> str:
        """Return the id of rows that a table function returned."""
        return self.add(bound_rows(name, rows))

    def audit(self, name: str, call: Any) -> str:
        """Return the id of the rows of an audit."""
        return self.add(Relation(new_id(name), name, call))

    @property
    def shortcuts(self) -> bool:
        """Tell whether the backend takes what is written for DuckDB in this process."""
        return self._backend.shortcuts

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Return the name under which a Python function with its constants fixed is called."""
        return self._backend.function(function, constants)

    # -- queries -----------------------------------------------------------------------------------------------------

    def alone(self, query: exp.Query) -> exp.Query:
        """Return the query with all common table expressions that it stands on, those of the user included."""
        return assembled(query, self.hoisted, self.user, recursive=self.recursive)

    def plan(self, query: exp.Query, values: Mapping[str, Any] | None = None) -> Plan:
        """Return the plan of a query that stands alone."""
        return Plan(self.alone(query), self.relations, values or {})

    def evaluated(self, query: exp.Query) -> pa.Table:
        """Return its rows; the same query is run once until ``forget``."""
        plan = self.plan(query)
        key = to_sql(plan.tree)
        if key not in self._rows:
            self._rows[key] = self._runs.evaluate(plan)
        return self._rows[key]

    def streamed(self, table: exp.Table) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
        """Return what reads columns of a relation when it is asked, a batch at a time."""

        def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            wanted = [exp.column(exp.to_identifier(c, quoted=True)) for c in columns]
            return self._runs.stream(self.plan(exp.select(*wanted).from_(table.copy())))

        return read

    def constant(self, node: exp.Expr, where: str) -> Any:
        """Return the Python value of a literal, or the one value of a subquery.

        Raises:
            SqlError: It is neither.
        """
        query = node.this if isinstance(node, exp.Subquery) else node
        if not isinstance(query, exp.Query):
            return arguments.constant(node, where)
        rows = self.evaluated(query.copy())
        if rows.num_columns != 1 or rows.num_rows != 1:
            raise SqlError(
                f"{where} must be one value, not {rows.num_rows} rows of {rows.num_columns} columns", code="E3117"
            )
        return rows.column(0)[0].as_py()

    def __enter__(self) -> Self:
        """Let table functions share what they make while it is bound, so that rows of the same query are computed once."""
        return self

    def __exit__(self, *_: object) -> None:
        self._rows.clear()
        self._shared.close()

    def share(self) -> None:
        """Let table functions share from here on what they make of equal arguments."""
        if not self._is_shared:
            self._is_shared = True
            self._shared.enter_context(statement_cache.statement())

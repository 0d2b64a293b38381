"""What is computed ahead of a query: values of subqueries that have to be constant, and rows that table functions are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from counterbalance.engine.errors import SqlError
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.scope import assembled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from counterbalance.engine.sql.resolver import Host


class Ahead:
    """Runs parts of a query while it is expanded, over what is expanded already.

    Args:
        host: The session.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._rows: dict[str, pa.Table] = {}
        self.hoisted: dict[str, exp.Query] = {}
        self.user: dict[str, exp.CTE] = {}
        self.recursive = False

    def alone(self, query: exp.Query) -> exp.Query:
        """The query with all common table expressions that it stands on, those of the user included."""
        return assembled(query, self.hoisted, self.user, recursive=self.recursive)

    def evaluated(self, query: exp.Query) -> pa.Table:
        """Its rows; the same query is run once until ``forget``."""
        whole = self.alone(query)
        key = to_sql(whole)
        if key not in self._rows:
            self._rows[key] = self._host.evaluate(whole)
        return self._rows[key]

    def streamed(self, table: exp.Table) -> Callable[[Sequence[str]], Iterator[pa.RecordBatch]]:
        """A relation that is read when asked, a batch at a time."""

        def read(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            wanted = [exp.column(exp.to_identifier(c, quoted=True)) for c in columns]
            return self._host.stream(self.alone(exp.select(*wanted).from_(table.copy())))

        return read

    def constant(self, node: exp.Expr, where: str) -> Any:
        """The Python value of a literal, or the one value of a subquery.

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

    def forget(self) -> None:
        """Let the rows go."""
        self._rows.clear()

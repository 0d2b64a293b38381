"""Run plans: one package for each engine that can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa

    from counterbalance.engine.errors import CounterbalanceError
    from counterbalance.engine.functions import Function, OpenFunctions
    from counterbalance.engine.sql.plan import Plan
    from counterbalance.engine.store.pictures import Unread

Engine = Literal["duckdb", "spark"]
"""What runs queries."""


class Backend(Protocol):
    """An engine that runs plans: DuckDB (``backends/duckdb``) or Spark (``backends/spark``).

    A plan that it is given is finished, and names no audits: their rows stand there as relations. Its errors are the engine's own.

    Attributes:
        timeout: Seconds a plan may run, as far as the engine listens.
        raised: What Python functions raised, where the engine passes nothing on but its text.
        functions: Functions with their models that are open.
        shortcuts: Whether plans may take what is written for DuckDB in this process: rewrites, kernels of views, indexes, and
            functions in SQL.
    """

    timeout: float | None
    raised: list[CounterbalanceError]
    functions: OpenFunctions
    shortcuts: bool

    @property
    def closed(self) -> bool:
        """Return whether it was closed."""
        ...

    def run(
        self, plan: Plan, batch_rows: int, unread: Unread | None = None, *, few: bool = False
    ) -> Iterator[pa.RecordBatch]:
        """Run a plan; batches of at most so many rows as they come, at least one, which may be empty.

        A picture that cannot be read is NULL and counted by ``unread``; without that it ends the plan (E6046). Of ``few`` rows,
        such as those of an audit, all are computed before the first is given, where that is faster.
        """
        ...

    def schema(self, plan: Plan) -> pa.Schema:
        """Return the columns of a plan, without running it."""
        ...

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Make a Python function callable with constants fixed; returns the name to call."""
        ...

    def interrupt(self) -> None:
        """Stop what runs; from another thread."""

    def close(self) -> None:
        """Give memory, models and spill space back."""


class Runs(Protocol):
    """What runs parts of a statement while it is bound."""

    def evaluate(self, plan: Plan) -> pa.Table:
        """Run a plan now."""
        ...

    def stream(self, plan: Plan) -> Iterator[pa.RecordBatch]:
        """Run a plan, batch after batch; its rows are never all there."""
        ...

    def expand(self, text: str) -> str:
        """Return a query as plain SQL over base tables, word lists and functions."""
        ...

"""What the expander of queries needs of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from sqlglot import exp

    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.expand import AuditCall


class Host(Protocol):
    """What the expander needs of a session."""

    sensitive: bool

    @property
    def is_past(self) -> bool:
        """Whether the lake is read as it was at another moment."""
        ...

    def table(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        """Registered name of a stored relation, or ``None``; ``trusted`` may read sensitive labels."""

    def evaluate(self, query: exp.Query) -> pa.Table:
        """Run an expanded query now."""

    def stream(self, query: exp.Query) -> Iterator[pa.RecordBatch]:
        """Run an expanded query, batch after batch."""

    def bind(self, name: str, rows: pa.Table) -> str:
        """Register rows under a fresh name."""

    def bind_found(self, name: str, table: Any, hits: pa.Table) -> str:
        """Register what a search in a stored table found, with the columns of its rows, under a fresh name."""

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """Registered name of a function with its constant parameters fixed."""

    def stored_calls(self, name: str) -> Mapping[str, str]:
        """Expressions that a registered relation holds the values of, each with its column."""

    def table_function(self, name: str) -> Callable[..., pa.Table] | None:
        """A function that returns rows, such as ``top_k``."""

    def stored_table(self, name: str) -> Any:
        """The stored table that is registered under a name, for a search in it, or ``None``."""

    def failed(self, name: str, column: str) -> bool:
        """Whether a generated column of a registered relation has rows whose function failed."""

    def narrowed(self, name: str, condition: str) -> str | None:
        """Registered name of the rows of a stored relation that a Lance filter keeps, or ``None``."""

    def found(self, key: str, make: Callable[[], pa.Table]) -> str:
        """Registered name of rows that are made once a session."""

    def kernel(self, name: str, relations: set[str], scalars: Mapping[str, exp.Expr]) -> str | None:
        """Registered name of what a kernel computes from registered relations, or ``None`` when it does not fit."""

    def audit_name(self, audit: str) -> str:
        """A fresh name for the rows of an audit, which no text can know."""

    def audit_call(self, call: AuditCall) -> None:
        """Make the rows of an audit known by the call's name, as long as somebody holds the call."""

    def names(self) -> list[str]:
        """Names of all relations, for suggestions."""

    def lakes(self) -> frozenset[str]:
        """Names of the attached lakes."""

    def shown(self, text: str) -> str:
        """A relation argument as a reader understands it, without names that the session made up."""

    def is_closed(self, name: str) -> bool:
        """Whether a registered relation is a view of perceived labels that only audits read."""

    def is_own(self, name: str) -> bool:
        """Whether only the session itself can have made a name up."""

    def sensitive_attributes(self) -> frozenset[str]:
        """Attributes whose labels need a purpose."""

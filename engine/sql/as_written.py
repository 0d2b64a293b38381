"""How the expander sees a session when a query is only shown: every name stays as it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterbalance.engine.errors import SensitiveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import pyarrow as pa
    from sqlglot import exp

    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.expand import AuditCall
    from counterbalance.engine.sql.resolver import Host


class Plain:
    """A host that leaves every name as it was written, for showing and for other engines.

    Args:
        session: Which relations there are.
    """

    def __init__(self, session: Host) -> None:
        self._session = session
        self.sensitive, self.is_past = True, False

    def table(self, schema: str | None, name: str, *, trusted: bool) -> str | None:
        """The name as it was written, if there is such a relation."""
        try:
            found = self._session.table(schema, name, trusted=False)
        except SensitiveError:  # audits may read it, and showing their text reads nothing
            if not trusted:
                raise
            found = name
        if found is None:
            return None
        return name if schema in {None, "main"} else f"{schema}.{name}"

    def evaluate(self, query: exp.Query) -> pa.Table:
        """As the session."""
        return self._session.evaluate(query)

    def stream(self, query: exp.Query) -> Iterator[pa.RecordBatch]:
        """As the session."""
        return self._session.stream(query)

    def bind(self, name: str, rows: pa.Table) -> str:
        """As the session."""
        return self._session.bind(name, rows)

    def bind_found(self, name: str, table: Any, hits: pa.Table) -> str:
        """As the session."""
        return self._session.bind_found(name, table, hits)

    def function(self, function: Function, constants: Mapping[str, Any]) -> str:
        """The function's own name."""
        del constants
        return function.name

    def table_function(self, name: str) -> Callable[..., pa.Table] | None:
        """As the session."""
        return self._session.table_function(name)

    def stored_calls(self, name: str) -> Mapping[str, str]:
        """None: calls are shown as calls."""
        del name
        return {}

    def failed(self, name: str, column: str) -> bool:
        """As the session."""
        return self._session.failed(name, column)

    def narrowed(self, name: str, condition: str) -> str | None:
        """None: relations are shown whole."""
        del name, condition
        return None

    def found(self, key: str, make: Callable[[], pa.Table]) -> str:
        """As the session."""
        return self._session.found(key, make)

    def kernel(self, name: str, relations: set[str], scalars: Mapping[str, exp.Expr]) -> str | None:
        """None: views are shown as their SQL."""
        del name, relations, scalars
        return None

    def audit_name(self, audit: str) -> str:
        """The audit's own name."""
        return audit

    def audit_call(self, call: AuditCall) -> None:
        """Nothing: audits are shown as their SQL."""

    def names(self) -> list[str]:
        """As the session."""
        return self._session.names()

    def stored_table(self, name: str) -> Any:
        """As the session."""
        return self._session.stored_table(name)

    def lakes(self) -> frozenset[str]:
        """As the session."""
        return self._session.lakes()

    def shown(self, text: str) -> str:
        """As the session."""
        return self._session.shown(text)

    def is_closed(self, name: str) -> bool:
        """Nothing is read, so nothing is closed."""
        del name
        return False

    def is_own(self, name: str) -> bool:
        """As the session."""
        return self._session.is_own(name)

    def sensitive_attributes(self) -> frozenset[str]:
        """None: nothing is read."""
        return frozenset()

"""How fast a column is computed: told by its own runs, by those of the same functions elsewhere, or tried on a few rows."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.engine.catalog import closed, runs
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.executors import devices
from counterbalance.engine.schema import IMAGES
from counterbalance.engine.sql.expression import Evaluator, analyse
from counterbalance.engine.store import pictures, tables

if TYPE_CHECKING:
    import pyarrow as pa

    from counterbalance.engine.catalog.planning import Catalog
    from counterbalance.engine.sql.expression import Expression

TRIED_ROWS: Final = 32
_MORE_ROWS: Final = 2_048
_SHORT: Final = 0.1
"""Seconds in which so few rows tell little of many: more of them are tried."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate, and where it was measured."""

    rows_per_second: float
    basis: str


class Rates:
    """Rates of columns of one lake.

    Args:
        catalog: The lake.
        measure: Run functions on ``TRIED_ROWS`` rows where no run tells; never on rows or columns that are closed.
        device: Where they are run then.
        purpose: For which runs of what is closed are told, too: with their seconds a rate tells how many rows there were.
    """

    def __init__(
        self, catalog: Catalog, *, measure: bool = False, device: str = "cpu", purpose: str | None = None
    ) -> None:
        self._catalog, self._measure, self._device = catalog, measure, device
        untold = closed.ever(catalog.location) if purpose is None else frozenset()
        wrote = runs.refreshes(catalog.location, ("at", "rows_read", "seconds"), "rows_read > 0 AND seconds > 0")
        self._runs = {
            target: Rate(row["rows_read"] / row["seconds"], f"{target}, run of {row['at']:%Y-%m-%d %H:%M} UTC")
            for target, row in wrote.items()
            if target not in untold
        }

    def of(self, table: str, sql: str, target: str) -> Rate | None:
        """Return the rate of a column: of its newest run, of the newest of the same functions, or measured; ``None`` if unknown."""
        if target in self._runs:
            return self._runs[target]
        called = self._functions(table, sql)
        for other in reversed(self._runs) if called else ():  # the newest come last
            definition = self._catalog.definitions.by_target.get(other)
            if definition is None or definition.kind != "column":
                continue
            if self._functions(definition.table, definition.sql) == called:
                return self._runs[other]
        return self._tried(table, sql) if self._measure else None

    def _functions(self, table: str, sql: str) -> set[str]:
        expression = self._analysed(table, sql)
        return set() if expression is None else {c.function for c in expression.calls}

    def _analysed(self, table: str, sql: str) -> Expression | None:
        try:
            return analyse(sql, table, pictures.readable(list(self._catalog.types(table))))
        except CounterbalanceError:  # it stands on what is not there yet
            return None

    def _tried(self, table: str, sql: str) -> Rate | None:
        expression = self._analysed(table, sql)
        rows = None if expression is None else self._rows(table, expression, TRIED_ROWS)
        if expression is None or rows is None or not rows.num_rows:
            return None
        evaluator = Evaluator(expression, {f.name: f.type for f in rows.schema})
        try:
            evaluator.open(devices.available(self._device, wants=expression.device == "auto")[0])
            evaluator(rows.slice(0, 1))  # the first call loads and compiles
            seconds = _seconds(evaluator, rows)
            if seconds < _SHORT and rows.num_rows == TRIED_ROWS:
                rows = self._rows(table, expression, _MORE_ROWS) or rows
                seconds = _seconds(evaluator, rows)
        finally:
            evaluator.close()
        return Rate(rows.num_rows / seconds, f"measured on {rows.num_rows:,} rows")

    def _rows(self, table: str, expression: Expression, most: int) -> pa.RecordBatch | None:
        """Return the first rows that have all that the expression reads; ``None`` where it is closed, or not computed yet."""
        if not self._catalog.sensitive_columns(table).isdisjoint(expression.columns):
            return None
        dataset = tables.open_table(self._catalog.location, table)
        stored = [] if dataset is None else dataset.schema.names
        if dataset is None or not set(expression.columns) <= set(pictures.readable(stored)):
            return None
        images = tables.open_table(self._catalog.location, IMAGES.name)
        for batch in pictures.scan(dataset, expression.columns, images, limit=most, scan_in_order=True):
            if rows := batch.drop_null():
                return rows
        return None


def _seconds(evaluator: Evaluator, rows: pa.RecordBatch) -> float:
    started = time.monotonic()
    evaluator(rows)
    return max(time.monotonic() - started, 1e-9)

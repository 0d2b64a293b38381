"""What a generated column is made of, and which of its rows are stale."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from counterbalance.engine.catalog.definitions import FINGERPRINT
from counterbalance.engine.catalog.freshness import stale_filter
from counterbalance.engine.executors.worker import input_types
from counterbalance.engine.schema import ROW_VERSION, STAMP_SUFFIX
from counterbalance.engine.sql.expression import Evaluator, Expression
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.store.location import Location


@dataclass(frozen=True)
class Column:
    """A generated column as its table has it now.

    Args:
        location: The lake.
        definition: The column.
        dataset: The table at its newest version.
        expression: What it computes.
        fingerprint: Of that.
        upstream: Generated columns of the same table that it reads.
        key: Key columns of the table.
        is_closed: Its values are closed, and whatever is made on the way to them.
        images: Version of ``images`` whose pictures it reads by key, if it does.
    """

    location: Location
    definition: Definition
    dataset: lance.LanceDataset
    expression: Expression
    fingerprint: str
    upstream: tuple[str, ...]
    key: tuple[str, ...]
    is_closed: bool = False
    images: int | None = None

    @property
    def name(self) -> str:
        """Return its name."""
        return self.definition.name

    @property
    def table(self) -> str:
        """Return its table."""
        return self.definition.table

    @property
    def stamp(self) -> str:
        """Return its hidden stamp column."""
        return self.name + STAMP_SUFFIX

    @cached_property
    def type(self) -> pa.DataType:
        """Return the Arrow type of its values."""
        evaluator = Evaluator(self.expression, input_types(self.dataset.schema, self.expression.columns))
        evaluator.close()
        return evaluator.type

    @cached_property
    def is_current(self) -> bool:
        """Return whether what is stored was made by this fingerprint."""
        if not self.is_filled:
            return False
        field = self.dataset.schema.field(self.name)
        return (field.metadata or {}).get(FINGERPRINT) == self.fingerprint.encode() and field.type == self.type

    @property
    def is_filled(self) -> bool:
        """Return whether it holds values at all, of whatever fingerprint."""
        return self.name in self.dataset.schema.names and self.stamp in self.dataset.schema.names

    @property
    def stale(self) -> str | None:
        """Return the Lance filter of the stale rows; ``None`` for all."""
        return stale_filter(self.name, self.upstream) if self.is_current else None

    def to_compute(self, *, whole: bool) -> str | None:
        """Return a Lance filter of the rows to compute now: stale ones (or all) whose generated inputs are fresh; ``None`` for all.

        Rows that were added after the inputs were refreshed wait for the next refresh.
        """
        parts = [f"`{u}{STAMP_SUFFIX}` >= {ROW_VERSION}" for u in self.upstream]
        if not whole and self.stale is not None:
            parts.insert(0, f"({self.stale})")
        return " AND ".join(parts) or None

    @property
    def versions(self) -> dict[str, int]:
        """Return the versions of the tables that it reads."""
        return {self.table: int(self.dataset.version), **({} if self.images is None else {"images": self.images})}

    def stale_rows(self) -> int:
        """Return how many rows are stale."""
        return int(self.dataset.count_rows(filter=self.stale))

    def has_values(self) -> bool:
        """Tell whether any row was ever computed."""
        return self.is_filled and self.dataset.count_rows(filter=f"`{self.stamp}` IS NOT NULL") > 0

    def newest(self) -> lance.LanceDataset:
        """Return its table as it is by now.

        Raises:
            StorageError: The table is gone.
        """
        return tables.existing(self.location, self.table)

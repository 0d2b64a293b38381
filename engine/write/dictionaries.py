"""Small integer codes for columns with few distinct values.

Lance hands strings to DuckDB several times slower than Parquet does, and small integers as fast as anything. So a coded column
``c`` is stored twice: as strings, for every other Lance tool, and as int16 codes in ``c__code``, from which the SQL side
builds dictionary vectors (``backends/duckdb/scan.py``). The dictionaries are in ``meta.codes``, append-only, written before
the rows that use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import meta, snapshot
from counterbalance.engine.schema import BLANK, CODE_SUFFIX
from counterbalance.engine.store import tables
from counterbalance.engine.store.location import CLOSED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import lance

    from counterbalance.engine.schema import Table
    from counterbalance.engine.store.location import Location

MAX_VALUES: Final = 32_767
UNCODED: Final = -1
"""Code of a column that outgrew ``MAX_VALUES``: its strings are read instead."""


class Coder:
    """Gives codes to values, and keeps new ones."""

    def __init__(self, location: Location) -> None:
        self._location = location
        self._codes: dict[tuple[str, str], dict[str, int]] = {}
        self._full: set[tuple[str, str]] = set()
        for name, values in snapshot.codes(location).items():
            self._codes[name] = {v: i for i, v in enumerate(values) if v is not None}
            self._full |= {name} if None in values else set()
        self._new: list[dict[str, Any]] = []

    def encode(self, stored: str, table: Table, rows: pa.Table) -> pa.Table:
        """Return ``rows`` with a code column beside every coded column it has; new codes wait for ``flush``."""
        for name in table.coded:
            if name in rows.column_names:
                codes = self._column((stored, name), rows[name].combine_chunks())
                rows = rows.append_column(name + CODE_SUFFIX, codes)
        return rows

    def flush(self) -> None:
        """Write the new codes; call before the rows that use them are committed."""
        for closed in (False, True):
            rows = [row for row in self._new if row["table_name"].startswith(f"{CLOSED}/") == closed]
            if rows:
                meta.write(self._location, "codes", rows, closed=closed)
        self._new = []

    def _column(self, name: tuple[str, str], values: pa.Array) -> pa.Array:
        encoded = values.dictionary_encode()
        known = self._codes.setdefault(name, {})
        mapping = np.array([self._code(name, known, v) for v in encoded.dictionary.to_pylist()], np.int16)
        if not len(mapping):
            return pa.nulls(len(values), pa.int16())
        return pc.take(pa.array(mapping), encoded.indices)

    def _code(self, name: tuple[str, str], known: dict[str, int], value: str) -> int:
        code = known.get(value)
        if code is not None:
            return code
        if name in self._full:
            return UNCODED
        code = len(known)
        if code < MAX_VALUES:
            known[value] = code
        else:
            self._full.add(name)
        new = value if code < MAX_VALUES else None
        self._new.append({"table_name": name[0], "column_name": name[1], "code": code, "value": new})
        return code if code < MAX_VALUES else UNCODED


def forget_unused(location: Location, kept: Mapping[str, Collection[int]]) -> int:
    """Blank the values that no row of any version has; returns how many. Under the writer lock.

    Attributes of closed labels stay: they say what is kept apart at the next ingest.

    Args:
        location: The lake.
        kept: By table, versions that stay beside the newest one.
    """
    blanks: list[dict[str, Any]] = []
    for (table, column), values in snapshot.codes(location).items():
        if (table, column) == (snapshot.SENSITIVE_LABELS, "attribute"):
            continue
        used = _used(location, table, column + CODE_SUFFIX, kept.get(table, ()))
        blanks += [
            {"table_name": table, "column_name": column, "code": code, "value": f"{BLANK}{code}"}
            for code, value in enumerate(values)
            if value is not None and code not in used and not value.startswith(BLANK)
        ]
    for closed in (False, True):
        own = [row for row in blanks if row["table_name"].startswith(f"{CLOSED}/") == closed]
        if own:
            rows = pa.Table.from_pylist(own, schema=meta.CODES)
            tables.fill(location, meta.stored("codes", closed=closed), ["table_name", "column_name", "code"], rows)
    return len(blanks)


def _used(location: Location, table: str, column: str, versions: Collection[int]) -> set[int]:
    found: set[int] = set()
    for version in (None, *versions):
        dataset = tables.open_table(location, table, version)
        for batch in dataset.scanner(columns=[column]).to_batches() if dataset is not None else ():
            found.update(batch.column(0).unique().to_pylist())
    return found


def codes_hold(dataset: lance.LanceDataset, codes: Mapping[str, Sequence[str | None]]) -> bool:
    """Tell whether every code column says what its strings say; another tool may have written strings alone.

    Args:
        dataset: The table at a version.
        codes: Its coded columns with their values by code; columns that outgrew their codes are not looked at.
    """
    for name, values in codes.items():
        if name + CODE_SUFFIX not in dataset.schema.names or None in values:
            continue
        dictionary = pa.array(list(values), pa.string())
        for batch in dataset.scanner(columns=[name, name + CODE_SUFFIX]).to_reader():
            try:
                if not dictionary.take(batch.column(1)).equals(batch.column(0)):
                    return False
            except pa.ArrowIndexError:
                return False
    return True

"""The system tables of schema ``meta``: ordinary Lance tables under ``meta/`` of the lake, and how they are appended.

``runs`` is the lake's journal. A run that changes tables first appends a row ``running`` with the versions that readers
see, and in the end a row ``finished`` (or ``rolled_back``) with the versions it leaves. While the newest row says
``running``, readers keep seeing the versions it names; otherwise they see the newest version of every table. So a
killed run is not seen, and tables that other Lance tools change are followed as they are.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import getpass
import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.store import enclosing, tables
from counterbalance.engine.store.location import CLOSED

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from counterbalance.engine.ingest_types import Reject
    from counterbalance.engine.store.location import Location

_TIME: Final = pa.timestamp("us", tz="UTC")
_VERSIONS: Final = pa.list_(
    pa.struct([pa.field("table", pa.string()), pa.field("version", pa.int64()), pa.field("coded", pa.bool_())])
)

RUNS: Final = pa.schema(
    [
        pa.field("run_id", pa.string()),
        pa.field("state", pa.string()),
        pa.field("at", _TIME),
        pa.field("started", _TIME),
        pa.field("kind", pa.string()),
        pa.field("target", pa.string()),
        pa.field("mode", pa.string()),
        pa.field("rows_read", pa.int64()),
        pa.field("written", pa.int64()),
        pa.field("updated", pa.int64()),
        pa.field("unchanged", pa.int64()),
        pa.field("rejected", pa.int64()),
        pa.field("seconds", pa.float64()),
        pa.field("details", pa.string()),
        pa.field("user", pa.string()),
        pa.field("versions", _VERSIONS),
        pa.field("fingerprint", pa.string()),
        pa.field("versions_in", _VERSIONS),
        pa.field("versions_out", _VERSIONS),
        pa.field("access", pa.string()),
    ]
)
ERRORS: Final = pa.schema(
    [
        pa.field("error_id", pa.int64(), nullable=False),
        pa.field("run_id", pa.string()),
        pa.field("at", _TIME),
        pa.field("table_name", pa.string()),
        pa.field("column_name", pa.string()),
        pa.field("key", pa.string()),
        pa.field("source", pa.string()),
        pa.field("position", pa.string()),
        pa.field("code", pa.string()),
        pa.field("message", pa.string()),
        pa.field("attempts", pa.int32()),
    ]
)
CODES: Final = pa.schema(
    [
        pa.field("table_name", pa.string()),
        pa.field("column_name", pa.string()),
        pa.field("code", pa.int32()),
        pa.field("value", pa.string()),
    ]
)
TAGS: Final = pa.schema(
    [pa.field("name", pa.string()), pa.field("at", _TIME), pa.field("versions", _VERSIONS)],
)
DEFINITIONS: Final = pa.schema(
    [
        pa.field("at", _TIME),
        pa.field("user", pa.string()),
        pa.field("target", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("state", pa.string()),
        pa.field("body", pa.string()),
    ]
)
FINGERPRINTS: Final = pa.schema(
    [pa.field("at", _TIME), pa.field("fingerprint", pa.string()), pa.field("body", pa.string())]
)
TALLIES: Final = pa.schema(
    [
        pa.field("table_name", pa.string()),
        pa.field("file", pa.string()),
        pa.field("codes", pa.list_(pa.int16())),
        pa.field("rows", pa.list_(pa.int64())),
        pa.field("first_image", pa.int64()),
        pa.field("last_image", pa.int64()),
    ]
)
REMOVED: Final = pa.schema(
    [
        pa.field("run_id", pa.string()),
        pa.field("at", _TIME),
        pa.field("salt", pa.binary()),
        pa.field("digest", pa.binary()),
    ]
)
SCHEMAS: Final = {
    "runs": RUNS,
    "errors": ERRORS,
    "codes": CODES,
    "tallies": TALLIES,
    "tags": TAGS,
    "definitions": DEFINITIONS,
    "fingerprints": FINGERPRINTS,
    "removed": REMOVED,
}
ACCESS_ENDS: Final = "meta/access_ends"
"""The number and the digest of every line of the access log (``access.py``)."""
CLOSED_PARTS: Final = ("codes", "tallies", "errors")
"""System tables with a closed part, in the closed folder."""
_FALLBACK_USER: Final = "unknown"
_FRAGMENTS: Final = 100
"""So many appends to a system table are put together into one file."""


def now() -> dt.datetime:
    """Return the present moment, UTC, to the microsecond."""
    return dt.datetime.now(dt.UTC)


def user() -> str:
    """Return who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return _FALLBACK_USER


def stored(name: str, *, closed: bool = False) -> str:
    """Return the name of a system table with its folder; some have a closed part, of what holds values of closed tables."""
    return f"{CLOSED if closed else 'meta'}/{name}"


def read(
    location: Location,
    name: str,
    version: int | None = None,
    *,
    closed: bool = False,
    columns: Sequence[str] | None = None,
    where: str | None = None,
) -> pa.Table:
    """Return rows of a system table, now or at a version of it; empty when nothing was written yet.

    Args:
        location: The lake.
        name: The table.
        version: Its version; the newest when ``None``.
        closed: Its closed part.
        columns: Some of its columns.
        where: A condition in Lance's SQL; on a column that a lake of an earlier release lacks, it holds for no row.
    """
    dataset = tables.open_table(location, stored(name, closed=closed), version)
    lacking = () if dataset is None else {*SCHEMAS[name].names} - {*dataset.schema.names}
    if dataset is None or (where is not None and any(re.search(rf"\b{c}\b", where) for c in lacking)):
        return SCHEMAS[name].empty_table().select(columns or SCHEMAS[name].names)
    there = None if columns is None else [c for c in columns if c in dataset.schema.names]
    try:
        with tables.reading(location, stored(name, closed=closed)):
            rows = dataset.to_table(columns=there, filter=where)
    except OSError:  # clean-up took this version away; the newest one holds the same rows and more
        newest = tables.open_table(location, stored(name, closed=closed))
        if version is not None or newest is None or newest.version == dataset.version:
            raise
        rows = newest.to_table(columns=there, filter=where)
    rows = completed(name, rows, columns)
    return rows if columns is None else rows.select(columns)


def completed(name: str, rows: pa.Table, columns: Sequence[str] | None = None) -> pa.Table:
    """Return rows of a system table with the columns that a lake of an earlier release lacks."""
    for field_ in SCHEMAS[name]:
        if field_.name not in rows.column_names and (columns is None or field_.name in columns):
            rows = rows.append_column(field_, pa.nulls(len(rows), field_.type))
    return rows


def write(location: Location, name: str, rows: list[dict[str, Any]], *, closed: bool = False) -> None:
    """Append rows to a system table, or its closed part; one of an earlier release gets the columns that are new."""
    if closed:
        enclosing.make_folder(location)
    elif location.is_local:
        (location.path / "meta").mkdir(parents=True, exist_ok=True)
    dataset = tables.open_table(location, stored(name, closed=closed))
    known = SCHEMAS[name].names if dataset is None else dataset.schema.names
    missing = [field_ for field_ in SCHEMAS[name] if field_.name not in known]
    if dataset is not None and missing:
        dataset.add_columns(pa.schema(missing))
    if dataset is not None and len(dataset.get_fragments()) > _FRAGMENTS:
        with contextlib.suppress(OSError):  # somebody else did it at the same moment
            dataset.optimize.compact_files()
    tables.append(location, stored(name, closed=closed), pa.Table.from_pylist(rows, schema=SCHEMAS[name]))


def access_end(location: Location) -> str | None:
    """Return how many lines the access log has, and the digest of the last one, as the journal notes it; ``None`` without any."""
    dataset = tables.open_table(location, ACCESS_ENDS, checked=False)
    count = 0 if dataset is None else dataset.count_rows()
    if dataset is None or not count:
        return None
    last = dataset.take([count - 1]).to_pylist()[0]
    return f"{last['lines']} {last['digest']}"


def identity(*parts: object) -> int:
    """Return what tells a row of ``meta.errors`` from others, 63 bits of the digest of what it is of."""
    import hashlib

    digest = hashlib.md5("\x1f".join(map(str, parts)).encode(errors="replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little") & ((1 << 63) - 1)


def record_rejects(location: Location, run_id: str, rejects: Iterable[tuple[str, Reject]]) -> set[int]:
    """Keep refused items in ``meta.errors``, each once however often its source is read; returns the ids of all."""
    rows: dict[int, dict[str, Any]] = {}
    for table, reject in rejects:
        error = identity(table, reject.source, reject.position, reject.code, reject.message)
        rows[error] = {
            "error_id": error,
            "run_id": run_id,
            "at": now(),
            "table_name": table or None,
            "source": reject.source,
            "position": reject.position,
            "code": reject.code,
            "message": reject.message.encode(errors="replace").decode(),
            "attempts": 1,
        }
    dataset = tables.open_table(location, "meta/errors")
    if dataset is not None and rows:
        known = set(dataset.to_table(columns=["error_id"])["error_id"].to_pylist())
        new = [row for error, row in rows.items() if error not in known]
    else:
        new = list(rows.values())
    if new:
        write(location, "errors", new)
    return set(rows)


def forget_rejects(location: Location, files: Sequence[str], into: Iterable[str], refused: Container[int]) -> None:
    """Forget what was refused of some files once and is not any more.

    Args:
        location: The lake.
        files: Files that were read to their end just now.
        into: Base tables that they were read into; refusals of others stay.
        refused: Ids of what was refused of them.
    """
    import pyarrow.compute as pc

    dataset = tables.open_table(location, "meta/errors")
    if dataset is None:
        return
    rows = dataset.to_table(columns=["error_id", "source", "table_name"], filter="column_name IS NULL")
    of_them = pc.is_in(rows["source"], pa.array(files, pa.string()))
    there = pc.or_(pc.is_null(rows["table_name"]), pc.is_in(rows["table_name"], pa.array(sorted(into), pa.string())))
    ids = rows["error_id"].filter(pc.and_(of_them, there)).to_pylist()
    gone = [error for error in ids if error not in refused]
    tables.delete_listed(location, "meta/errors", "error_id", gone)

"""The log of reads that had sensitive labels: who, when, why, which SQL, which closed columns, which versions, how many rows.

It holds no label. It is a Lance table in the lake's closed folder, only appended to; every row carries the hash of the row
before it, and a table elsewhere in the lake keeps the number and the hash of the last line, so that a changed or removed line
shows (``verify``), at the end of the log, too. The journal notes both with every run, and whenever the log has doubled: a log
that was removed together with its ends is missed. Whoever can write to the whole lake can forge all three: keep a copy elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.catalog import meta, runs, snapshot
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store import digests, enclosing, tables
from counterbalance.engine.store.location import SUFFIX
from counterbalance.engine.store.lock import writer_lock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.store.location import Location

STORED: Final = "sensitive/access"
ENDS: Final = meta.ACCESS_ENDS
NOTE: Final = "access"
"""Kind of the journal's rows that say nothing but where the log ends."""
LOCK: Final = ".access-lock"
"""A lock of its own: a read is not kept waiting by an ingest."""
_SHORTEST: Final = 4
_END: Final = pa.schema([pa.field("lines", pa.int64()), pa.field("digest", pa.string())])
SCHEMA: Final = pa.schema(
    [
        pa.field("at", pa.timestamp("us", tz="UTC")),
        pa.field("user", pa.string()),
        pa.field("purpose", pa.string()),
        pa.field("sql", pa.string()),
        pa.field("columns", pa.list_(pa.string())),
        pa.field("rows", pa.int64()),
        pa.field("versions", pa.string()),
        pa.field("previous", pa.string()),
        pa.field("digest", pa.string()),
    ]
)


def read(location: Location) -> pa.Table:
    """Return the whole log, oldest first."""
    dataset = tables.open_table(location, STORED, checked=False)  # what is lost is told by ``check``
    with tables.reading(location, STORED):
        return SCHEMA.empty_table() if dataset is None else dataset.to_table(columns=SCHEMA.names)


def record(
    location: Location, purpose: str, sql: str, *, columns: Sequence[str], rows: int | None, versions: Mapping[str, int]
) -> None:
    """Append one access; ``rows`` is ``None`` when it was only begun."""
    with writer_lock(location, "access log", wait=10.0, name=LOCK):
        log = tables.open_table(location, STORED, checked=False)
        with tables.reading(location, STORED):
            count = 0 if log is None else int(log.count_rows())
            lines, digest = _newest(location)
            fits = lines == 0 or (count >= lines and _digest_of(log, lines - 1) == digest)
            before = _digest_of(log, count - 1) if count else ""
        entry: dict[str, Any] = {
            "at": meta.now(),
            "user": meta.user(),
            "purpose": purpose,
            "sql": sql,
            "columns": list(columns),
            "rows": rows,
            "versions": json.dumps(dict(sorted(versions.items()))),
            "previous": before if fits else digest,
        }
        entry["digest"] = _digest(entry)
        _append(location, STORED, SCHEMA, entry, mode=0o700)
        lines = count if fits else lines
        _append(location, ENDS, _END, {"lines": lines + 1, "digest": entry["digest"]}, mode=0o777)
        enclosing.seal(location, f"{STORED}{SUFFIX}")
        if lines & (lines + 1) == 0:  # the first, second, fourth … line
            runs.Run(location, NOTE, "").note("no_op", counts={})


def verify(location: Location) -> list[int]:
    """Return numbers (from 0) of the lines that do not fit the chain or are gone; empty when the log is whole.

    A process that was killed while it wrote may leave one last line that is not noted elsewhere; that is not a finding.
    """
    log = read(location)
    lines, digest = _end(location)
    noted = [(lines, digest), *_noted(location)]
    broken = set(range(len(log), max(end for end, _ in noted)))
    if len(log) > lines + 1:
        broken |= set(range(lines, len(log)))
    broken |= {end - 1 for end, last in noted if not _fits(log, end, last)}
    previous = ""
    for number, entry in enumerate(log.to_pylist()):
        if entry["previous"] != previous or entry["digest"] != _digest(entry):
            broken.add(number)
        previous = entry["digest"]
    return sorted(broken)


def check_purpose(purpose: str | None) -> None:
    """Refuse a purpose that says nothing.

    Raises:
        SensitiveError: It has fewer than four letters.
    """
    if purpose is not None and len(purpose.strip()) < _SHORTEST:
        raise SensitiveError(
            "a purpose is a few words that say why", code="E3304", hint='--sensitive "audit of skin-tone labels"'
        )


def stated(location: Location, purpose: str | None, what: str) -> bool:
    """Tell whether a purpose is stated for something that is not a query; it becomes a line of the log.

    Raises:
        SensitiveError: The purpose says nothing.
    """
    check_purpose(purpose)
    if purpose is not None:
        record(location, purpose, what, columns=[], rows=None, versions=snapshot.take(location).versions)
    return purpose is not None


def listed(location: Location, purpose: str) -> pa.Table:
    """Return the log with two columns more: ``line``, from 0, and ``whole``, whether the line fits the chain.

    Reading it is an access, and becomes its next line.

    Raises:
        SensitiveError: The purpose says nothing.
    """
    check_purpose(purpose)
    log, broken = read(location), set(verify(location))
    text = "the access log"
    record(location, purpose, text, columns=["meta.access"], rows=len(log), versions=snapshot.take(location).versions)
    lines = range(len(log))
    log = log.add_column(0, "line", pa.array(lines, pa.int64()))
    return log.append_column("whole", pa.array([n not in broken for n in lines], pa.bool_()))


def _end(location: Location) -> tuple[int, str]:
    """Return how many lines were written, and the digest of the last."""
    dataset = tables.open_table(location, ENDS, checked=False)
    with tables.reading(location, ENDS):
        rows = [] if dataset is None else dataset.to_table(columns=_END.names).to_pylist()
    return max(((int(r["lines"]), str(r["digest"])) for r in rows), default=(0, ""))


def _newest(location: Location) -> tuple[int, str]:
    """Return what ``_end`` does, from the row that was written last."""
    dataset = tables.open_table(location, ENDS, checked=False)
    with tables.reading(location, ENDS):
        count = 0 if dataset is None else int(dataset.count_rows())
        found = dataset.take([count - 1], columns=_END.names).to_pylist() if dataset is not None and count else []
    return (int(found[0]["lines"]), str(found[0]["digest"])) if found else (0, "")


def _digest_of(log: Any, line: int) -> str:
    return str(log.take([line], columns=["digest"])["digest"][0].as_py())


def _noted(location: Location) -> set[tuple[int, str]]:
    """Return the same, as the journal noted it from time to time."""
    rows = meta.read(location, "runs", columns=("access",), where="access IS NOT NULL")["access"].to_pylist()
    return {(int(lines), digest) for lines, _, digest in (row.partition(" ") for row in rows)}


def _fits(log: pa.Table, lines: int, digest: str) -> bool:
    """Tell whether the log still has the last line that was noted."""
    return lines == 0 or (len(log) >= lines and log["digest"][lines - 1].as_py() == digest)


def _append(location: Location, name: str, schema: pa.Schema, row: Mapping[str, Any], *, mode: int) -> None:
    if location.is_local:
        (location.path / name).parent.mkdir(mode=mode, exist_ok=True)
    tables.append(location, name, pa.Table.from_pylist([row], schema=schema))
    digests.record(location, [name])


def _digest(entry: Mapping[str, Any]) -> str:
    parts = [str(entry[f.name]) for f in SCHEMA if f.name != "digest"]
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()

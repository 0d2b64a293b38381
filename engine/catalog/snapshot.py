"""Which version of every table a reader sees: one consistent set, now, at a tag or at a moment."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import definitions, file_statistics, meta, runs
from counterbalance.engine.errors import NotFoundError, RequestError, StorageError, did_you_mean, first_line
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX
from counterbalance.engine.store import digests, lock, tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import lance

    from counterbalance.engine.store.location import Location

SENSITIVE_LABELS = "sensitive/labels"
"""Where labels of sensitive attributes lie: a folder of their own, closed to other users of the machine."""

_CLOCKS: Final = dt.timedelta(minutes=5)
"""By so much clocks may differ."""


@dataclass(frozen=True)
class Snapshot:
    """Pinned versions.

    Args:
        versions: Table name (with its folder) to Lance version; a table that is missing has none.
        coded: Tables whose codes can be trusted, because this engine wrote that version.
        unfinished: The run whose rows are not visible yet, if one was interrupted.
        moment: When these versions were the newest ones; ``None`` for now.
    """

    versions: Mapping[str, int]
    coded: frozenset[str] = frozenset()
    unfinished: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    moment: dt.datetime | None = None


def known_tables(location: Location) -> list[str]:
    """Return every table of the lake by name: the base tables that exist, or did and were lost, and what other tools put there."""
    found = {*location.folders(), *(t for t in digests.listed(location) if "/" not in t)}
    found |= {t for t in location.enclosed(anew=True) if tables.open_table(location, t) is not None}
    if location.is_memory:
        named = {*BASE_TABLES, *definitions.load(location).views()}  # a store in memory cannot be listed
        found |= {t for t in named if tables.open_table(location, t) is not None}
    names = sorted(found)
    if tables.open_table(location, SENSITIVE_LABELS) is not None:
        names.append(SENSITIVE_LABELS)
    return names


def newest(location: Location) -> dict[str, int]:
    """Return the newest version of every table."""
    found = {name: tables.latest_version(location, name) for name in known_tables(location)}
    return {name: version for name, version in found.items() if version is not None}


def take(location: Location, at: str | None = None) -> Snapshot:
    """Return the versions to read.

    Args:
        location: The lake.
        at: A tag's name, or a moment in ISO 8601 (UTC when it names no zone); now when ``None``.

    Raises:
        NotFoundError: No lake is there, or no such tag, or nothing was there at that moment.
    """
    while True:
        journal = tables.latest_version(location, "meta/runs")
        if at is not None:
            return _at(location, at)
        last = next(iter(runs.visible(location)), None)
        if last is not None and last["state"] == "running":
            return _snapshot(runs.by_table(last["versions"]), last, last["target"])
        versions = newest(location)
        if tables.latest_version(location, "meta/runs") == journal:  # nothing was begun or ended meanwhile
            break
    if not versions and last is None:
        raise NotFoundError.lake(location.uri)
    return _snapshot(versions, last)


def _snapshot(versions: Mapping[str, int], row: Mapping[str, Any] | None, unfinished: str | None = None) -> Snapshot:
    """Trust codes in the versions of which the journal's row says that they hold, and in no other tool's."""
    coded = {(v["table"], v["version"]) for v in ([] if row is None else row["versions"]) if v["coded"]}
    return Snapshot(versions, frozenset(t for t, v in versions.items() if (t, v) in coded), unfinished)


def _at(location: Location, at: str) -> Snapshot:
    tags = {t["name"]: t for t in meta.read(location, "tags").to_pylist()}
    if at in tags:
        return replace(_snapshot(runs.by_table(tags[at]["versions"]), tags[at]), moment=tags[at]["at"])
    if not runs.visible(location) and not newest(location):
        raise NotFoundError.lake(location.uri)
    try:
        moment = dt.datetime.fromisoformat(at)
    except ValueError:
        raise NotFoundError(
            f"no tag {at!r} in {location.uri}, and it is not a moment in ISO 8601",
            code="E1007",
            hint="tags: " + (", ".join(sorted(tags)) or "none yet; make one with: counterbalance tag LAKE NAME"),
        ) from None
    moment = _utc(moment)
    past = runs.visible_at(location, moment)
    if past is None:
        raise NotFoundError(
            f"{location.uri} was empty at {moment.isoformat()}",
            code="E1008",
            hint=f"its first run ended at {runs.began(location):%Y-%m-%dT%H:%M:%SZ}",
        )
    return replace(_snapshot(runs.by_table(past["versions"]), past), moment=moment)


def _utc(moment: dt.datetime) -> dt.datetime:
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment


def is_ahead(at: str) -> bool:
    """Tell whether ``at`` is a moment that has not come: what is read there can still change.

    Example:
        >>> is_ahead("2999-01-01"), is_ahead("2020-01-01"), is_ahead("a_tag")
        (True, False, False)
    """
    try:
        return _utc(dt.datetime.fromisoformat(at)) > dt.datetime.now(dt.UTC) + _CLOCKS
    except ValueError:
        return False


def tag(location: Location, name: str) -> Snapshot:
    """Name the present versions, so that ``at=name`` reads them and clean-up spares them.

    Raises:
        RequestError: The name is taken, or looks like a moment.
    """
    if not name.replace("-", "").replace("_", "").replace(".", "").isalnum() or name[0].isdigit():
        raise RequestError(
            f"a tag is letters, digits, '-', '_' and '.', and starts with a letter, not {name!r}", code="E3011"
        )
    with lock.writer_lock(location, f"tag {name}", wait=10.0, name=lock.TAGS):
        return _tag(location, name)


def _tag(location: Location, name: str) -> Snapshot:
    known = meta.read(location, "tags")
    if name in known["name"].to_pylist():
        raise RequestError(f"tag {name!r} is taken", code="E3012", hint="tags never move; take another name")
    snapshot = take(location)
    for table, version in snapshot.versions.items():
        dataset = tables.open_table(location, table)
        there = {} if dataset is None else dataset.tags.list()
        if name in there and there[name]["version"] != version:
            raise RequestError(
                f"table {table!r} has a tag {name!r} of its own, at another version",
                code="E3012",
                hint="take another name",
            )
        if dataset is not None and name not in there:
            tables.tag(location, table, name, version)
    versions = runs.as_versions(snapshot.versions, snapshot.coded)
    runs.record_digests(location)
    meta.write(location, "tags", [{"name": name, "at": meta.now(), "versions": versions}])
    digests.record(location, ["meta/tags"])
    return snapshot


def require_tag(location: Location, name: str) -> None:
    """Raise unless there is such a tag.

    Raises:
        NotFoundError: There is none.
    """
    known = meta.read(location, "tags", columns=["name"])["name"].to_pylist()
    if name not in known:
        hint = "tags: " + (", ".join(sorted(known)) or "none")
        raise NotFoundError(f"no tag {name!r} in {location.uri}{did_you_mean(name, known)}", code="E1007", hint=hint)


def untag(location: Location, name: str) -> None:
    """Give a tag up: clean-up may take away what only it names.

    Raises:
        NotFoundError: There is no such tag.
    """
    require_tag(location, name)
    with lock.writer_lock(location, f"tag {name}", wait=10.0, name=lock.TAGS):
        own = [t for t in meta.read(location, "tags").to_pylist() if t["name"] == name]
        for table in {v["table"] for tag in own for v in tag["versions"] or []}:
            dataset = tables.open_table(location, table)
            if dataset is not None and name in dataset.tags.list():
                dataset.tags.delete(name)
        tables.delete(location, "meta/tags", f"name = '{name}'")
        digests.record(location, ["meta/tags"])


def codes(location: Location) -> dict[tuple[str, str], list[str | None]]:
    """Return the dictionaries of coded columns: (table, column) to values by code.

    Raises:
        StorageError: ``meta/codes`` cannot be read, or some of its rows are gone.
    """
    try:
        rows = pa.concat_tables([meta.read(location, "codes"), meta.read(location, "codes", closed=True)])
    except StorageError:
        raise
    except (OSError, ValueError) as error:  # pyarrow's errors are values
        raise _lost(location, f"cannot be read: {first_line(error)[:200]}") from error
    order = pc.sort_indices(rows, sort_keys=[("code", "ascending")])
    found: dict[tuple[str, str], dict[int, str | None]] = {}
    for row in rows.take(order).to_pylist():  # after a kill while they were moved, some are there twice
        found.setdefault((row["table_name"], row["column_name"]), {})[row["code"]] = row["value"]
    for (table, column), values in found.items():
        lacking = next((code for code in range(len(values)) if code not in values), None)
        if lacking is not None:
            raise _lost(location, f"lacks code {lacking} of {table}.{column}")
    return {name: list(values.values()) for name, values in found.items()}


def require_codes(
    location: Location,
    versions: Mapping[str, int],
    known: Mapping[tuple[str, str], list[str | None]],
) -> None:
    """Refuse to go on where a table has codes that no dictionary has: rows are read of files alone whose codes are not kept.

    Args:
        location: The lake.
        versions: The tables to look at.
        known: The dictionaries, as ``codes`` returns them.

    Raises:
        StorageError: Rows of ``meta/codes`` are gone.
    """
    for name, version in versions.items():
        base = BASE_TABLES.get(name.rpartition("/")[2])
        if base is None or (dataset := tables.open_table(location, name, version)) is None:
            continue
        highest, unread = file_statistics.highest_codes(location, name, dataset)
        for column in (c for c in base.coded if c + CODE_SUFFIX in dataset.schema.names):
            count = len(known.get((name, column), ()))
            if highest.get(column, -1) >= count or _any_beyond(
                location, name, dataset, unread, base.key, column, count
            ):
                raise _lost(location, f"lacks codes of {name}.{column}")


def _any_beyond(
    location: Location,
    name: str,
    dataset: lance.LanceDataset,
    fragments: Sequence[Any],
    key: str,
    column: str,
    count: int,
) -> bool:
    """Tell whether rows of some fragments have a code of a column that is no less than ``count``."""
    if not fragments:
        return False
    with tables.reading(location, name):
        beyond = f"`{column}{CODE_SUFFIX}` >= {count}"
        return bool(dataset.scanner(columns=[key], filter=beyond, limit=1, fragments=fragments).to_table().num_rows)


def _lost(location: Location, what: str) -> StorageError:
    return StorageError(
        f"meta/codes of {location.uri} {what}",
        code="E6042",
        hint="put meta/codes.lance back from a copy of the lake; its tables still hold the words as strings, "
        "which lancedb reads, so that a new lake can be made of them",
    )

"""Taking images out of a lake: find them, delete what hangs on them, and, if asked, every trace in old versions.

``delete`` is a journaled write (``write/removal.py``): readers see the lake before it or after it. Views that have no column
by which their rows are found are left to a refresh. ``purge`` brings views up to date, makes indexes anew, and lets go of
every version, result and dictionary value that could hold what was removed; it says what still holds some.
"""

from __future__ import annotations

import datetime as dt
import time
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import closed, definitions, file_statistics, meta, runs, snapshot
from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.query_engine import reading
from counterbalance.engine.refresh import failures, runner
from counterbalance.engine.refresh.gc import DEFAULT_AGE, gc, spared
from counterbalance.engine.schema import BASE_TABLES, KEY_INDEX
from counterbalance.engine.search import indexes
from counterbalance.engine.store import lock, pins, tables
from counterbalance.engine.write import dictionaries, removal
from counterbalance.engine.write.journal import DELETE, require_lake, settle, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.progress import Progress
    from counterbalance.engine.refresh.model import Stage
    from counterbalance.engine.store.location import Location

KINDS: Final = ("image_id", "key", "uri", "sha256")
"""What names an image, in the order in which a name is looked up."""
_PURGE: Final = "purge"
_COMPLETE: Final = "complete"
_GIVEN_UP: Final = "gives up tag "
_NOTHING: Final = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class DeleteReport:
    """What a deletion took out, or would take out.

    Args:
        images: How many images.
        asked: How many names were given; of a condition, the images that it found.
        unknown: Names that no image has.
        found_by: Names by what they are: ``image_id``, ``key``, ``uri``, ``sha256``.
        rows: Rows by table; closed labels and closed views are left out.
        views: Materialized views that a refresh must compute again; of a purge, that it could not.
        applied: Whether it was done.
        purged: Whether old versions were looked at.
        complete: Whether nothing of what was ever removed is left; ``None`` where that was not asked.
        held: What still holds something, in words: a tag, a reader, a view …
        busy: Only readers hold something: the same call may go through later.
        bytes: Freed by the purge.
        cleaned: What the purge took away of each table: old versions, deleted rows.
        notes: What a person should know.
    """

    images: int = 0
    asked: int = 0
    unknown: int = 0
    found_by: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)
    views: tuple[str, ...] = ()
    applied: bool = False
    purged: bool = False
    complete: bool | None = None
    held: tuple[str, ...] = ()
    busy: bool = False
    bytes: int = 0
    cleaned: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The images that were asked for."""

    ids: NDArray[np.int64]
    asked: int
    unknown: int = 0
    found_by: Mapping[str, int] = field(default_factory=dict)


def delete(
    location: Location,
    *,
    where: str | None = None,
    ids: Iterable[int | str] | None = None,
    by: str | None = None,
    apply: bool = False,
    purge: bool = False,
    drop_tags: Sequence[str] = (),
    wait: float = 10.0,
    progress: Callable[[Progress], None] | None = None,
) -> DeleteReport:
    """Take images out of a lake, with everything that hangs on them; see ``Lake.delete``.

    Raises:
        BusyError: A refresh or another writer is at work.
        NotFoundError: There is no lake, or no such tag.
        RequestError: It is not said which images, or an ingest waits to be completed.
        SqlError: The condition is wrong.
    """
    if (where is not None and ids is not None) or (where is None and ids is None and not purge):
        raise RequestError(
            "images are taken out by a condition or by their names: give one of them",
            code="E3082",
            hint="--where \"license = 'CC BY-NC'\", or --ids FILE; --purge alone goes on with what was removed before",
        )
    if by is not None and by not in KINDS:
        raise RequestError(f"an image has no name called {by!r}", code="E3083", hint=f"one of {', '.join(KINDS)}")
    require_lake(location)
    names = None if ids is None else list(dict.fromkeys(ids))
    _require_tags(location, drop_tags)
    if not apply:
        _refuse_unfinished(location)
        return _planned(location, choose(location, where, names, by), drop_tags, purge=purge)
    report = DeleteReport(applied=True)
    with lock.writer_lock(location, "delete", wait=0.0, name=lock.REFRESH):
        settle(location, wait=wait)
        if where is not None or names is not None:
            report = _applied(location, where, names, by, wait)
    return _purged(location, report, drop_tags, wait, progress) if purge else report


# -- which images ------------------------------------------------------------------------------------------------------


def choose(location: Location, where: str | None, names: Sequence[int | str] | None, by: str | None) -> Chosen:
    """Return the images that a condition or names mean.

    A name is looked up as an id, then as a key, then as a place, then as the digest of a picture; the first that some
    image has counts. A place or a digest may be that of several images, which all go.
    """
    if where is not None:
        found = _where(location, where)
        return Chosen(found, len(found))
    if names is None:
        return Chosen(_NOTHING, 0)
    wanted = _wanted(names, (by,) if by else KINDS)
    hits: dict[str, dict[Any, list[int]]] = {kind: {} for kind in wanted}
    dataset = tables.open_table(location, "images")
    sets = {k: pa.array(sorted(v), pa.int64() if k == "image_id" else pa.string()) for k, v in wanted.items()}
    columns = list(dict.fromkeys(("image_id", *wanted)))
    for batch in () if dataset is None else dataset.scanner(columns=columns).to_batches():
        for kind, values in sets.items():
            there = batch.filter(pc.is_in(batch.column(kind), value_set=values))
            for value, image in zip(there.column(kind).to_pylist(), there.column("image_id").to_pylist(), strict=True):
                hits[kind].setdefault(value, []).append(image)
    return _first_hits(names, wanted, hits)


def _wanted(names: Sequence[int | str], kinds: Sequence[str]) -> dict[str, dict[Any, int | str]]:
    """Return names by what they may be, as the table has them."""
    found: dict[str, dict[Any, int | str]] = {kind: {} for kind in kinds}
    for name in names:
        for kind in kinds:
            value = _as(kind, name)
            if value is not None:
                found[kind][value] = name
    return found


def _as(kind: str, name: int | str) -> int | str | None:
    """Return a name as a value of a column; ``None`` where it cannot be one."""
    if kind == "image_id":
        try:
            number = int(name)
        except ValueError:
            return None
        return number if str(number) == str(name) and -(1 << 63) <= number < 1 << 63 else None
    text = str(name)
    return (text.lower() if len(text) == 64 else None) if kind == "sha256" else text


def _first_hits(
    names: Sequence[int | str], wanted: Mapping[str, Any], hits: Mapping[str, Mapping[Any, list[int]]]
) -> Chosen:
    found: list[int] = []
    by: dict[str, int] = {}
    for name in names:
        kind = next((k for k in wanted if _as(k, name) in hits[k]), None)
        if kind is not None:
            found += hits[kind][_as(kind, name)]
            by[kind] = by.get(kind, 0) + 1
    return Chosen(np.unique(np.array(found, np.int64)), len(names), len(names) - sum(by.values()), by)


def _where(location: Location, condition: str) -> NDArray[np.int64]:
    with reading(location) as engine:
        rows = engine.sql(f"SELECT image_id FROM images WHERE (\n{condition}\n)").to_arrow()
    return np.unique(rows["image_id"].to_numpy())


# -- taking out --------------------------------------------------------------------------------------------------------


def _refuse_unfinished(location: Location) -> None:
    unfinished = snapshot.take(location).unfinished
    if unfinished is not None:
        raise RequestError(
            f"an ingest of {unfinished} was interrupted and must be completed first",
            code="E3084",
            hint="run that ingest again, then delete",
        )


def _planned(location: Location, chosen: Chosen, drop_tags: Sequence[str], *, purge: bool) -> DeleteReport:
    held = tuple(_holders(location, chosen.ids, drop_tags)[0]) if purge else ()
    return replace(_report(location, chosen, removal.count(location, chosen.ids)), held=held)


def _report(location: Location, chosen: Chosen, rows: Mapping[str, int]) -> DeleteReport:
    """Return what is to be said of rows that go, or went, with some images."""
    return DeleteReport(
        images=len(chosen.ids),
        asked=chosen.asked,
        unknown=chosen.unknown,
        found_by=chosen.found_by,
        rows=rows,
        views=tuple(_stale(location, rows)),
        notes=tuple(_foreign(location)),
    )


def _applied(
    location: Location, where: str | None, names: Sequence[int | str] | None, by: str | None, wait: float
) -> DeleteReport:
    """Delete under the refresh lock: a refresh that read the rows before would write them again."""
    with lock.writer_lock(
        location, "delete", wait=wait
    ):  # an ingest at work is waited for, one that was killed is told
        _refuse_unfinished(location)
    chosen = choose(location, where, names, by)
    rows: Mapping[str, int] = removal.count(location, chosen.ids)
    if len(chosen.ids):
        with writing(location, DELETE, "images", wait=wait) as work:
            before = snapshot.newest(location)
            removal.record(location, work.run.run_id, chosen.ids)
            rows = removal.take_out(location, chosen.ids, work.committed)
            counts = {"rows_read": chosen.asked}
            after = snapshot.newest(location)
            changed = {t for t in after if after[t] != before.get(t)}
            work.finish(
                "incremental",
                counts,
                removal.said(rows),
                versions_in={t: before[t] for t in changed},
                versions_out={t: after[t] for t in changed},
            )
    _forget_failures(location)
    return replace(_report(location, chosen, rows), applied=True)


def _derived(location: Location) -> list[str]:
    """Return materialized views that are stored."""
    views = sorted(definitions.load(location).views())
    return [name for name in views if tables.latest_version(location, name) is not None]


def _stale(location: Location, rows: Mapping[str, int]) -> Iterator[str]:
    """Yield stored views that read, directly or not, what rows were taken from."""
    declared = definitions.load(location)
    changed, stored = {table for table, count in rows.items() if count}, _derived(location)
    if changed:  # how many rows of a closed view went is not told, nor whether any did
        changed |= closed.ever(location)
    for definition in (d for d in declared.order() if d.kind == "view"):
        if changed & {relation.rpartition("/")[2] for relation, _ in definition.reads}:
            changed.add(definition.name)
            if definition.name in stored:
                yield definition.name


def _foreign(location: Location) -> Iterator[str]:
    """Return what lies in the lake and is not a table of its own."""
    known = {*BASE_TABLES, *definitions.load(location).views()}
    others = [n for n in snapshot.known_tables(location) if n.rpartition("/")[2] not in known]
    if others:
        yield f"tables that other tools made are left as they are: {', '.join(others)}"


def _forget_failures(location: Location) -> None:
    """Remove what was said of rows of generated columns that are gone."""
    errors = failures.read(location, where="column_name IS NOT NULL AND key IS NOT NULL")
    views = definitions.load(location).views()
    for table in errors["table_name"].unique().to_pylist():
        dataset = tables.open_table(location, table)
        own = errors.filter(pc.equal(errors["table_name"], table))
        base, view = BASE_TABLES.get(table), views.get(table)
        if dataset is None or (base is None and view is None):
            failures.forget(location, own)
            continue
        key = view.key if view is not None else (base.key if base is not None else "",)
        failures.forget_gone(location, own, dataset, key)


# -- every trace -------------------------------------------------------------------------------------------------------


def _purged(
    location: Location,
    report: DeleteReport,
    drop_tags: Sequence[str],
    wait: float,
    progress: Callable[[Progress], None] | None,
) -> DeleteReport:
    """Let go of every trace; killed at any moment, the next purge does it again.

    Indexes go first and are made again last: the log of a table that says whether views are fresh is cut in between.
    """
    notes, held = list(report.notes), []
    pending = bool(_since_the_last(location))
    for name in drop_tags:
        _give_up(location, name)
    dropped: list[str] = []
    if pending:
        with lock.writer_lock(location, "delete", wait=0.0, name=lock.REFRESH):
            settle(location, wait=wait)
            dropped = _drop_indexes(location, wait, notes)
        held += _failed(_refresh(location, _derived(location), progress))
        with lock.writer_lock(location, "delete", wait=0.0, name=lock.REFRESH):
            settle(location, wait=wait)
            _filter_spools(location)
            _forget_failures(location)
            with lock.writer_lock(location, "delete", wait=wait):
                _forget_words(location)
    _wait_for_readers(location, wait)
    done = gc(location, older_than=dt.timedelta(0), apply=True, wait=wait, results_older_than=DEFAULT_AGE)
    for name in BASE_TABLES if pending else ():
        with lock.writer_lock(location, "delete", wait=wait):
            file_statistics.keep(location, name)
    notes += _failed(_refresh(location, dropped, progress))
    by_versions, busy = _holders(location, _NOTHING, ())
    busy = busy and not held
    held += by_versions
    if not held and any("reader" in note for note in done.notes):
        held, busy = list(done.notes), True
    words = _COMPLETE if not held else f"{len(held):,} still hold{'s' * (len(held) == 1)} something"
    runs.Run(location, _PURGE, "images").note("no_op" if held else "incremental", counts={}, details=words)
    return replace(
        report,
        views=(),
        purged=True,
        complete=not held,
        held=tuple(held),
        busy=busy,
        bytes=done.bytes,
        cleaned=tuple(f"{f.name}: {f.what}" for f in done.findings),
        notes=(*notes, *(n for n in done.notes if n not in held)),
    )


def _since_the_last(location: Location) -> list[dict[str, Any]]:
    """Return what was removed or purged since the last purge that left nothing, the oldest first."""
    rows = meta.read(location, "runs", columns=["kind", "details"], where=f"kind IN ('{DELETE}', '{_PURGE}')")
    found: list[dict[str, Any]] = rows.to_pylist()
    ends = [n for n, row in enumerate(found, 1) if row["kind"] == _PURGE and row["details"] == _COMPLETE]
    return found[max(ends, default=0) :]


def _give_up(location: Location, tag: str) -> None:
    """Give a tag up, and say so before: a purge that was killed then is asked for in the same words again."""
    runs.Run(location, _PURGE, "images").note("no_op", counts={}, details=_GIVEN_UP + tag)
    if tag in meta.read(location, "tags", columns=["name"])["name"].to_pylist():
        snapshot.untag(location, tag)


def _refresh(location: Location, targets: Sequence[str], progress: Callable[[Progress], None] | None) -> list[Stage]:
    """Bring some targets up to date; returns their own stages."""
    found = runner.refresh(location, targets, progress=progress).stages if targets else ()
    return [s for s in found if s.target in targets]


def _failed(stages: Sequence[Stage]) -> list[str]:
    bad = [s for s in stages if s.mode in {"failed", "skipped"}]
    return [f"{s.kind} {s.target}, which cannot be refreshed: {s.message}" for s in bad]


def _wait_for_readers(location: Location, wait: float) -> None:
    deadline = time.monotonic() + wait
    while time.monotonic() < deadline and _reading(location, removal.Removed.load(location), _NOTHING):
        time.sleep(0.1)


def _filter_spools(location: Location) -> None:
    """Drop results that wait to be published, of rows that are gone."""
    for target, definition in definitions.load(location).by_target.items():
        for spool in spools.rounds(location, target):
            dataset = tables.open_table(location, definition.table)
            rows = None if dataset is None else dataset.scanner(columns=[], with_row_id=True).to_table()["_rowid"]
            spool.keep_rows(_NOTHING if rows is None else rows.to_numpy().astype(np.int64))


def _drop_indexes(location: Location, wait: float, notes: list[str]) -> list[str]:
    """Drop every index: it keeps the values of rows that are gone. Returns those to make again, a killed purge's with them."""
    declared, dropped = definitions.load(location), []
    for name in (*BASE_TABLES, snapshot.SENSITIVE_LABELS, *_derived(location)):
        dataset: Any = tables.open_table(location, name)
        if dataset is None:
            continue
        ours = declared.indexes(name)
        dropped += [index.target for index in ours.values()]
        there = sorted({str(d.name) for d in dataset.describe_indices()})
        if not there:
            continue
        with writing(location, _PURGE, name, wait=wait) as work:
            for index in there:
                indexes.drop(dataset, index)
                work.committed(name)
            work.finish("incremental", {}, f"{len(there):,} indexes to be made again")
        notes += [
            f"index {i} of {name} was made by another tool: make it again" for i in there if i not in {*ours, KEY_INDEX}
        ]
    return dropped


def _forget_words(location: Location) -> None:
    """Forget dictionary values that no row has any more, and counts of files that are no more."""
    dictionaries.forget_unused(location, spared(location))
    for stored in (meta.stored("tallies", closed=c) for c in (False, True)):
        if tables.open_table(location, stored) is not None:
            tables.delete(location, stored, "true")


# -- what holds it -----------------------------------------------------------------------------------------------------


def _holders(location: Location, ids: NDArray[np.int64], drop_tags: Sequence[str]) -> tuple[list[str], bool]:
    """Return what keeps versions that have removed images, or those of ``ids``; and whether only readers do."""
    listed = removal.Removed.load(location)
    tagged = [
        f"tag {tag['name']} of {tag['at']:%Y-%m-%d}: --drop-tag {tag['name']} gives it up"
        for tag in meta.read(location, "tags").to_pylist()
        if tag["name"] not in drop_tags and _has(location, runs.by_table(tag["versions"]), listed, ids)
    ]
    reading = _reading(location, listed, ids)
    return [*tagged, *reading], bool(reading) and not tagged


def _reading(location: Location, listed: removal.Removed, ids: NDArray[np.int64]) -> list[str]:
    """Open sessions on versions that have removed images."""
    return [
        f"a reader, process {note.get('pid')} on {str(note.get('host')).split(' ')[0]} since {note.get('since')}: "
        "when it has ended, purge again"
        for note in pins.readers(location)
        if note.get("versions") is None or _has(location, note["versions"], listed, ids)
    ]


def _has(location: Location, versions: Mapping[str, int], listed: removal.Removed, ids: NDArray[np.int64]) -> bool:
    """Return whether the files of some versions have an image that was removed, or is about to be, deleted or not."""
    if "images" not in versions or not (listed or len(ids)):
        return False
    dataset = tables.open_table(location, "images", versions["images"])
    if dataset is None:
        return False
    rows = dataset.scanner(columns=["image_id"], with_row_id=True, include_deleted_rows=True)
    there = rows.to_table()["image_id"].to_numpy()
    newest = tables.open_table(location, "images")
    stays = _NOTHING if newest is None else newest.to_table(columns=["image_id"])["image_id"].to_numpy()
    if np.isin(ids, there).any():
        return True
    return bool(listed and listed.has("image_id", pa.array(np.setdiff1d(there, stays))).any())


def _require_tags(location: Location, names: Sequence[str]) -> None:
    known = {row["details"] for row in _since_the_last(location)} if names else set()
    for name in names:
        if _GIVEN_UP + name not in known:
            snapshot.require_tag(location, name)

"""Ingest: rows of a source into the base tables, once each.

Chunk by chunk: rows whose key is new are appended, rows that say something new are updated, equal ones are left alone,
and what cannot be kept goes to ``meta.errors``. The same source again therefore changes nothing, and after a kill the
same call goes on where it stopped. Readers see none of it before the end (``catalog/meta.py``).
"""

from __future__ import annotations

import contextlib
import re
import time
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog import closed, file_statistics, meta, runs, snapshot
from counterbalance.engine.errors import RequestError, SourceError
from counterbalance.engine.progress import Progress
from counterbalance.engine.schema import BASE_TABLES, is_of_people
from counterbalance.engine.store import digests, enclosing, pictures, tables
from counterbalance.engine.store.lock import writer_lock
from counterbalance.engine.write.dictionaries import Coder, codes_hold
from counterbalance.engine.write.journal import recover, wait_again
from counterbalance.engine.write.key_index import ABSENT
from counterbalance.engine.write.removal import Removed
from counterbalance.engine.write.tables import REMOVED, Counts, TableWriter, plain_names, split_sensitive

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.ingest_types import Chunk, Source
    from counterbalance.engine.store.location import Location

_SHOWN: Final = 3
"""Rows of each table that a dry run shows."""
_WIDEST: Final = 300
"""Characters of such a row in words."""
_OURS: Final = re.compile(r"\..*|_digests|meta|sensitive|.*\.lance")
"""What lies in the folder of a lake, or of one that was begun."""
IN_MEMORY: Final = "arrow"
"""Format, and name, of a source that is not a file: what had it before may be other rows."""


@dataclass(slots=True, repr=False)
class IngestReport:
    """What an ingest did; shown in words, as the command tells it.

    Args:
        source: As given.
        format: Name of the reader.
        rows_read: Items of the source, refused ones included.
        rejected: Items refused; they are in ``meta.errors``.
        by_table: Counts by base table.
        seconds: Wall time.
        dry_run: Nothing was written.
        notes: What a person should know.
        first: Of a dry run, by base table, the first rows of the source as they would be stored; no pictures, no perceived labels.
        reasons: How many items were refused for which reason, by its code.
        shows: What an earlier ingest had written before it was interrupted is seen from here on.
    """

    source: str
    format: str
    rows_read: int = 0
    rejected: int = 0
    by_table: dict[str, Counts] = field(default_factory=dict)
    seconds: float = 0.0
    dry_run: bool = False
    notes: list[str] = field(default_factory=list)
    first: dict[str, pa.Table] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    shows: bool = False

    @property
    def written(self) -> int:
        """Return the rows that are new, all tables together."""
        return sum(c.written for c in self.by_table.values())

    @property
    def updated(self) -> int:
        """Return the rows that changed."""
        return sum(c.updated for c in self.by_table.values())

    @property
    def unchanged(self) -> int:
        """Return the rows that were there already, equal."""
        return sum(c.unchanged for c in self.by_table.values())

    @property
    def known(self) -> int:
        """Return perceived labels that were there already; whether they changed is not told."""
        return sum(c.known for c in self.by_table.values())

    @property
    def kept(self) -> int:
        """Return the rows of the source that the lake has now, new or not."""
        return self.written + self.updated + self.unchanged + self.known

    @property
    def changed(self) -> bool:
        """Tell whether any table changed for its readers, or may have."""
        return self.shows or self.written + self.updated + self.known > 0

    def __repr__(self) -> str:
        """Return it in words."""
        verb = "would read" if self.dry_run else "read"
        lines = [f"{verb} {self.rows_read:,} rows of {self.source} ({self.format}) in {self.seconds:.1f} s"]
        for table, counts in self.by_table.items():
            told = ", ".join(f"{n:,} {what}" for what, n in asdict(counts).items() if n)
            lines.append(f"  {table}: {told or 'nothing'}")
        if self.rejected:
            why = ", ".join(f"{code} {n:,}" for code, n in sorted(self.reasons.items()))
            lines.append(
                f"{self.rejected:,} refused: {why}" + "; see lake.sql('FROM meta.errors')" * (not self.dry_run)
            )
        for table, rows in self.first.items():
            shown = (", ".join(f"{k}={v!r}" for k, v in row.items() if v is not None) for row in rows.to_pylist())
            lines += [f"first rows of {table}:", *(f"  {row[:_WIDEST]}" for row in shown)]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready fields."""
        return {
            "source": self.source,
            "format": self.format,
            "rows_read": self.rows_read,
            "written": self.written,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "rejected": self.rejected,
            "reasons": dict(self.reasons),
            "known": self.known,
            "changed": self.changed,
            "by_table": {table: asdict(counts) for table, counts in self.by_table.items()},
            "seconds": round(self.seconds, 3),
            "dry_run": self.dry_run,
            "notes": list(self.notes),
        }


def ingest(
    location: Location,
    source: Source,
    format_name: str,
    *,
    dry_run: bool = False,
    limited: bool = False,
    sensitive: frozenset[str] = frozenset(),
    wait: float = 1.0,
    progress: Callable[[Progress], None] | None = None,
) -> IngestReport:
    """Read a source into a lake.

    Args:
        location: The lake; it is made when it is not there.
        source: What a reader returned.
        format_name: For the journal.
        dry_run: Count, but write nothing.
        limited: Its files are not read to their end: what was refused of them earlier stays, and nothing is complete after it.
        sensitive: Further attributes of ``labels`` to keep apart.
        wait: Seconds to wait for another writer.
        progress: Called after every chunk.

    Raises:
        SourceError: A file is not what it says; the lake is as it was before.
        BusyError: Somebody else is writing.
        RequestError: There is no lake yet, and the folder holds other things (``E3085``).
        StorageError: The lake cannot be written.
    """
    _refuse_a_folder_of_other_things(location)
    with writer_lock(location, f"ingest of {source.uri}", wait=wait):
        if not dry_run:
            recover(location)
            closed.enclose(location)
        run = _Ingest(location, source, format_name, dry_run, sensitive, limited=limited)
        report = run.run(progress)
        if not limited and not dry_run:
            meta.forget_rejects(location, source.files, report.by_table, run.refused)
            digests.record(location, ["meta/errors"])
        enclosing.seal(location)
        report.notes += [] if dry_run else pictures.remember(source.pictures)
        return report


def _refuse_a_folder_of_other_things(location: Location) -> None:
    """Refuse to make a lake among files of somebody's: LAKE and SOURCE changed places, or one of them was forgotten."""
    if not location.is_local or not location.path.is_dir() or runs.exist(location):
        return
    others: list[str] = []
    with contextlib.suppress(OSError):  # where it cannot be looked into, nothing can be written, which is said later
        others = sorted(e.name for e in location.path.iterdir() if not _OURS.fullmatch(e.name))
    if others:
        shown = ", ".join(repr(name[:40]) for name in others[:3]) + ", …" * (len(others) > 3)
        raise RequestError(
            f"{location.uri} is no lake, and holds other things: {shown}",
            code="E3085",
            hint="name a folder that is not there yet, or an empty one; the lake is named first, then what is read",
        )


class _Ingest:
    """One ingest under the writer lock."""

    def __init__(
        self,
        location: Location,
        source: Source,
        format_name: str,
        dry_run: bool,
        sensitive: frozenset[str],
        *,
        limited: bool,
    ) -> None:
        self._location, self._source, self._dry_run, self._limited = location, source, dry_run, limited
        self._report = IngestReport(source.uri, source.format or format_name, dry_run=dry_run)
        self.refused: set[int] = set()
        self._run = runs.Run(location, "ingest", source.uri)
        self._is_new = not runs.exist(location)
        self._physical = snapshot.newest(location)
        self._visible = self._seen()
        self._codes = snapshot.codes(location)
        snapshot.require_codes(location, self._physical, self._codes)
        self._sensitive = self._kept_apart(sensitive)
        coder = Coder(location)
        coded = self._coded_at_start()
        self._removed = Removed.load(location)
        self._held_back = 0
        self._first_refusal = ""
        self._dry_images: dict[int, tuple[float, float, str | None]] = {}
        self._writers: dict[str, TableWriter] = {}
        for stored in (*BASE_TABLES, snapshot.SENSITIVE_LABELS):
            self._writers[stored] = TableWriter(
                location,
                stored,
                coder,
                self._writers,
                coded=coded[stored],
                dry_run=dry_run,
                before_write=self._open,
                removed=self._removed,
            )

    def _seen(self) -> snapshot.Snapshot:
        """Return what readers see while this runs."""
        if self._is_new and not self._physical:
            return snapshot.Snapshot({})
        return snapshot.take(self._location)

    def _kept_apart(self, asked: frozenset[str]) -> frozenset[str]:
        """Return attributes to keep apart: those asked for, and all that this lake keeps apart already."""
        asked = frozenset(plain_names(pa.array(sorted(asked), pa.string())).to_pylist())
        open_labels = tables.open_table(self._location, "labels") if any(not is_of_people(a) for a in asked) else None
        for batch in open_labels.scanner(columns=["attribute"]).to_reader() if open_labels is not None else ():
            names = plain_names(batch.column(0).unique())
            if shown := asked & set(names.to_pylist()):
                raise RequestError(
                    f"{self._location.uri} already holds open labels of {', '.join(sorted(shown))}",
                    code="E3029",
                    hint="make a new lake: the open labels of this one stay readable, also in its past versions",
                )
        known = pa.array(self._codes.get((snapshot.SENSITIVE_LABELS, "attribute"), []), pa.string())
        return asked | {name for name in plain_names(known).to_pylist() if name is not None}

    def _coded_at_start(self) -> dict[str, int | None]:
        start = dict.fromkeys((*BASE_TABLES, snapshot.SENSITIVE_LABELS), 0)
        trusted = self._visible.coded
        same = {t for t, v in self._physical.items() if self._visible.versions.get(t) == v}
        known: dict[str, int | None] = {t: v if t in trusted & same else None for t, v in self._physical.items()}
        return {**start, **known}

    def _coded(self, versions: Mapping[str, int]) -> set[str]:
        """Return tables whose codes, and index of keys, hold at these versions; those that others wrote to are read to find out."""
        found, known = set(), snapshot.codes(self._location)
        for name, version in versions.items():
            if name not in self._writers:
                continue
            codes = {c: values for (t, c), values in known.items() if t == name}
            writer = self._writers[name]
            is_sound = writer.coded == version or (
                writer.has_sound_index and _holds(self._location, name, version, codes)
            )
            if is_sound:
                found.add(name)
        return found

    def _open(self) -> None:
        self._run.open(self._visible.versions, self._visible.coded)

    def run(self, progress: Callable[[Progress], None] | None) -> IngestReport:
        started = time.monotonic()
        bytes_done = 0
        images = self._source.images
        images.has, images.sizes, images.uris, images.before = self._knows, self._sizes_of, self._uris_of, self._before
        try:
            for chunk in self._source.chunks:
                self._chunk(chunk)
                bytes_done += chunk.bytes_read
                if progress is not None:
                    known = self._source.total_bytes is not None
                    done = bytes_done if known else self._report.rows_read
                    unit = "bytes" if known else "rows"
                    progress(Progress("ingest", done, self._source.total_bytes, unit, self._report.rows_read))
        except (SourceError, RequestError):
            self._roll_back()
            raise
        self._report.seconds = time.monotonic() - started
        self._report.notes += self._source.notes
        if self._first_refusal and not self._report.by_table:
            self._report.notes.append(f"nothing was read: {self._first_refusal}")
        if self._held_back:
            self._report.notes.append(
                f"{self._held_back:,} rows are of images that were removed from this lake: they stay out"
            )
        self._finish()
        return self._report

    def _knows(self, ids: pa.Array) -> NDArray[np.bool_]:
        """Return which of some ids the lake has, or had before they were removed."""
        known = self._writers["images"].has(ids)
        return known | self._removed.has("image_id", ids) if self._removed else known

    def _sizes_of(self, ids: pa.Array) -> NDArray[np.float64]:
        """Return the widths and heights of some images, NaN where the lake has none; a dry run knows those that it read."""
        keys = pc.fill_null(ids, ABSENT).to_numpy()
        found = self._writers["images"].stored(keys, ["width", "height"])
        sizes = np.stack([found[c].cast(pa.float64()).to_numpy() for c in ("width", "height")], axis=1)
        for at in np.flatnonzero(np.isnan(sizes).any(axis=1)).tolist() if self._dry_images else ():
            sizes[at] = self._dry_images.get(int(keys[at]), (np.nan, np.nan, None))[:2]
        return sizes

    def _before(self) -> int:
        """Return how many images the lake had when this began."""
        images = tables.open_table(self._location, "images", self._physical.get("images"))
        return images.count_rows() if images is not None and "images" in self._physical else 0

    def _uris_of(self, ids: pa.Array) -> pa.Array:
        """Return where the pictures of some images lie, NULL where the lake has none; a dry run knows those that it read."""
        keys = pc.fill_null(ids, ABSENT).to_numpy()
        found = self._writers["images"].stored(keys, ["uri"])["uri"].cast(pa.string()).combine_chunks()
        if not self._dry_images:
            return found
        read = [self._dry_images.get(key, (0, 0, None))[2] for key in keys.tolist()]
        return pc.coalesce(found, pa.array(read, pa.string()))

    def _chunk(self, chunk: Chunk) -> None:
        images = chunk.tables.get("images")
        if self._dry_run and images is not None:
            unknown = {"width": pa.float64(), "height": pa.float64(), "uri": pa.string()}
            told = [
                images[c].cast(kind) if c in images.column_names else pa.nulls(len(images), kind)
                for c, kind in unknown.items()
            ]
            sides = [side.to_numpy(zero_copy_only=False).tolist() for side in told[:2]]
            of_each = zip(*sides, told[2].to_pylist(), strict=True)
            self._dry_images |= dict(zip(images["image_id"].to_pylist(), of_each, strict=True))
        self._report.rows_read += chunk.rows_read
        rejects, seen = [("", r) for r in chunk.rejects], set(chunk.rejects)
        for name, rows, positions, keys in self._parts(chunk):
            writer = self._writers[name]
            counts = self._report.by_table.setdefault(writer.table.name, Counts())
            refused = writer.write(rows, positions, chunk.source or self._source.uri, counts, keys)
            if self._dry_run and name in BASE_TABLES:
                self._show(name, rows, positions, {r.position for r in refused})
            if positions is not None:  # a place of the source, which may have rows in several tables, is refused once
                first = dict.fromkeys(r for r in refused if r not in seen)
                counts.rejected += len(first) - len(refused)
                seen |= first.keys()
                refused = list(first)
            self._held_back += sum(r.code == REMOVED for r in refused)
            rejects += [(writer.table.name, r) for r in refused]
        self._report.rejected += len(rejects)
        for table, refusal in rejects:
            self._first_refusal = self._first_refusal or (refusal.message if table in {"", "images"} else "")
            self._report.reasons[refusal.code] = self._report.reasons.get(refusal.code, 0) + 1
        if rejects and not self._dry_run:
            self.refused |= meta.record_rejects(self._location, self._run.run_id, rejects)

    def _show(self, table: str, rows: pa.Table, positions: Sequence[str] | None, refused: Collection[str]) -> None:
        """Keep the first rows that are not refused for whoever looks."""
        shown = self._report.first.get(table)
        left = _SHOWN - (0 if shown is None else shown.num_rows)
        if left > 0:
            places = (f"row {i + 1}" if positions is None else positions[i] for i in range(len(rows)))
            good = [*islice((i for i, place in enumerate(places) if place not in refused), left)]
            if not good:
                return
            more = rows.drop_columns([b for b in BASE_TABLES[table].blobs if b in rows.column_names]).take(
                pa.array(good, pa.int64())
            )
            self._report.first[table] = (
                more if shown is None else pa.concat_tables([shown, more], promote_options="default")
            )

    def _parts(self, chunk: Chunk) -> list[tuple[str, pa.Table, Any, pa.Array | None]]:
        parts: list[tuple[str, pa.Table, Any, pa.Array | None]] = []
        for name in BASE_TABLES:
            rows = chunk.tables.get(name)
            if rows is None or not len(rows):
                continue
            positions, keys = chunk.positions.get(name), chunk.keys.get(name)
            if name == "labels":
                parts += split_sensitive(rows, positions, keys, self._sensitive)
            else:
                parts.append((name, rows, positions, keys))
        return parts

    def _finish(self) -> None:
        report, interrupted = self._report, self._visible.unfinished
        has_written = any(w.has_written for w in self._writers.values())
        if interrupted is not None:
            report.shows = not self._dry_run and (
                has_written or (interrupted == self._source.uri and not self._limited)
            )
            report.notes.append(self._said_of(interrupted))
        if self._dry_run:
            return
        counts = {
            "rows_read": report.rows_read,
            "written": report.written,
            "updated": report.updated,
            "unchanged": report.unchanged,
            "rejected": report.rejected,
        }
        if interrupted is not None and not report.shows:
            self._run.note("no_op", counts=counts)
            wait_again(self._location, self._visible)
            return
        for name, writer in self._writers.items():
            if writer.has_written:
                writer.tidy(self._visible.versions.get(name, 0))
        for name in (n for n in BASE_TABLES if self._writers[n].has_written or interrupted is not None):
            file_statistics.keep(self._location, name)
        versions, mode = snapshot.newest(self._location), "incremental" if report.changed else "no_op"
        self._run.close("finished", versions, self._coded(versions), mode=mode, counts=counts)

    def _said_of(self, interrupted: str) -> str:
        """Return what becomes of an ingest that was interrupted before this one."""
        same = interrupted == self._source.uri and self._report.format != IN_MEMORY
        if not self._report.shows:
            return f"an earlier ingest of {interrupted} was interrupted, and is not seen before it is complete: run it again"
        if same and not self._limited:
            return "an interrupted ingest of this source is complete now; what it wrote counts as unchanged"
        what = "this source" if same else "rows in memory" if interrupted == IN_MEMORY else interrupted
        how = ", without a limit," if same else ""
        return (
            f"what an interrupted ingest of {what} had written is seen from here on; run it again{how} to complete it"
        )

    def _roll_back(self) -> None:
        """Restore everything as it was, for readers and for the next run of a source that was interrupted before this one."""
        for name in (n for n, writer in self._writers.items() if writer.has_written):
            tables.restore(self._location, name, self._physical.get(name))
        if self._is_new and not self._physical:
            self._forget()
        elif self._run.opened:
            versions = snapshot.newest(self._location)
            self._run.close("rolled_back", versions, self._coded(versions), mode="rolled_back", counts={})
            if self._visible.unfinished is not None:
                wait_again(self._location, self._visible)

    def _forget(self) -> None:
        """Remove a lake that this run began, without a trace."""
        parts = (*map(meta.stored, meta.SCHEMAS), *(meta.stored(name, closed=True) for name in meta.CLOSED_PARTS))
        for stored in parts:
            if tables.open_table(self._location, stored) is not None:
                tables.drop(self._location, stored)
        for folder in ("meta", "sensitive") if self._location.is_local else ():
            with contextlib.suppress(OSError):  # it is not there, or holds the log of somebody's access
                (self._location.path / folder).rmdir()


def _holds(location: Location, name: str, version: int, codes: Mapping[str, list[str | None]]) -> bool:
    dataset = tables.open_table(location, name, version)
    return dataset is not None and codes_hold(dataset, codes)

"""Writing rows into one base table: validate, tell new from changed from equal, commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.catalog.snapshot import SENSITIVE_LABELS
from counterbalance.engine.errors import RequestError, SourceError, StorageError, first_line
from counterbalance.engine.ingest_types import Reject
from counterbalance.engine.schema import BASE_TABLES, CODE_SUFFIX, is_of_people, plain_name
from counterbalance.engine.store import cleaning, history, tables
from counterbalance.engine.write import stored_keys
from counterbalance.engine.write.first_statement import Said
from counterbalance.engine.write.key_index import ABSENT, VIRTUAL
from counterbalance.engine.write.row_diff import changed_rows
from counterbalance.engine.write.stored_keys import StoredKeys

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.engine.schema import Table
    from counterbalance.engine.store.location import Location
    from counterbalance.engine.write.dictionaries import Coder
    from counterbalance.engine.write.first_statement import Earlier
    from counterbalance.engine.write.removal import Removed

_SHOWN: Final = 100
_AT_ONCE: Final = 64
"""After so many appends little fragments are put together."""
REMOVED: Final = "removed"
"""Code of rows that are refused because their image was taken out of the lake."""
_PLACE: Final = re.compile(r"[a-z]+(?: \d+|\[\d+\])")


@dataclass(slots=True)
class Counts:
    """Count what became of the rows of one table.

    Args:
        written: New ones.
        updated: Those that say something new.
        unchanged: Those that were there, equal.
        rejected: Refused ones.
        known: Perceived labels that were there. Whether they say something new is not told: it would answer any guess.
    """

    written: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0
    known: int = 0


def _with_measures(rows: pa.Table, table: Table) -> pa.Table:
    """Return rows with the columns, NULL where they lack them, that tell something of columns which they have."""
    for name, of in table.measures.items():
        if name not in rows.column_names and not set(of).isdisjoint(rows.column_names):
            kind = table.schema().field(name).type
            rows = rows.append_column(name, pa.nulls(len(rows), kind))
    return rows


def plain_names(attributes: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return names of attributes in one spelling: ``Perceived Gender`` and ``perceived-gender`` are ``perceived_gender``."""
    return _each(attributes, plain_name, pa.string())


def _each(names: pa.Array | pa.ChunkedArray, told: Callable[[str], object], kind: pa.DataType) -> pa.Array:
    """Return what is told of each name, asked once for those that are equal; NULL stays NULL."""
    unique = pc.unique(names)
    found = pa.array([None if n is None else told(n) for n in unique.to_pylist()], kind)
    return pc.take(found, pc.index_in(names, unique))


def split_sensitive(
    rows: pa.Table, positions: Sequence[str] | None, keys: pa.Array | None, extra: frozenset[str]
) -> list[tuple[str, pa.Table, Sequence[str] | None, pa.Array | None]]:
    """Split off labels of sensitive attributes, however they are spelled: they go to a table of their own."""
    if "attribute" not in rows.column_names:
        raise _misfit(BASE_TABLES["labels"], "no column attribute")
    closed = _each(rows["attribute"], lambda name: is_of_people(name) or plain_name(name) in extra, pa.bool_())
    mask = pc.fill_null(closed, fill_value=False).to_numpy(zero_copy_only=False)
    parts: list[tuple[str, pa.Table, Sequence[str] | None, pa.Array | None]] = []
    for stored, at in (("labels", np.flatnonzero(~mask)), (SENSITIVE_LABELS, np.flatnonzero(mask))):
        if len(at):
            chosen = None if positions is None else [positions[i] for i in at.tolist()]
            parts.append((stored, rows.take(pa.array(at)), chosen, None if keys is None else keys.take(pa.array(at))))
    return parts


class TableWriter:
    """Writes one stored table during one ingest. Holds keys of the source, and of the table where these are read, nothing else.

    Args:
        location: The lake.
        stored: Name with folder, such as ``captions`` or ``sensitive/labels``.
        coder: Gives codes to the columns with few values.
        others: All writers of the ingest by stored name, for references between tables.
        coded: Version whose codes are known to hold; 0 for a table that is not there, ``None`` when it is not known.
        dry_run: Count only.
        before_write: Called before the first commit.
        removed: What was taken out of the lake, and does not come back.
    """

    def __init__(
        self,
        location: Location,
        stored: str,
        coder: Coder,
        others: Mapping[str, TableWriter],
        *,
        coded: int | None,
        dry_run: bool,
        before_write: Callable[[], None],
        removed: Removed,
    ) -> None:
        self._removed = removed
        self.table: Table = BASE_TABLES[stored.rsplit("/", 1)[-1]]
        self._location, self._stored, self._coder, self._others = location, stored, coder, others
        self._dry_run, self._before_write = dry_run, before_write
        self.coded = coded
        self._is_closed = stored == SENSITIVE_LABELS
        self.has_written = False
        self._appended = 0
        self._keys: StoredKeys | None = None
        self._said = Said(self.table)

    @property
    def keys(self) -> StoredKeys:
        """Return the keys that are stored, looked at when first asked for."""
        if self._keys is None:
            ours = self.coded is not None
            self._keys = StoredKeys(self._location, self._stored, self.table.key, ours=ours)
        return self._keys

    @property
    def has_sound_index(self) -> bool:
        """Return whether an index of the keys that the table has now tells of all rows."""
        return not self.keys.is_unsound

    def write(
        self,
        rows: pa.Table,
        positions: Sequence[str] | None,
        source: str,
        counts: Counts,
        called: pa.Array | None = None,
    ) -> list[Reject]:
        """Keep what is new or changed of ``rows``; returns what was refused.

        A row counts once in a run: as written, updated or unchanged, whatever more the source says of it.
        """
        rejects = _Rejects(source, positions)
        rows, numbers = self._checked(_typed(self.table, rows), rejects, called)
        keys = rows[self.table.key].to_numpy()
        found, earlier = self.keys.find(keys), self._said.before(keys, source)
        is_new = found == ABSENT
        comparable = ~is_new & (found != VIRTUAL) & ~((earlier.wrote | self._is_closed) & self._dry_run)
        changed, clash = self._changed(rows, np.flatnonzero(comparable), found, numbers, earlier, rejects)
        is_changed = np.isin(keys, changed[self.table.key].to_numpy())
        kept = pa.array(~clash)
        self._said.add(rows.filter(kept), self.table.key, source, (is_new | is_changed)[~clash])
        counts.written += int(is_new.sum())
        if self._is_closed:
            counts.known += int((~is_new & ~earlier.known).sum())
        else:
            counts.updated += int((is_changed & ~earlier.wrote).sum())
            counts.unchanged += int((~is_new & ~is_changed & ~earlier.known).sum())
            counts.unchanged -= int((is_changed & earlier.known & ~earlier.wrote).sum())
        counts.rejected += len(rejects.items)
        new = np.flatnonzero(is_new)
        if self._is_closed and not len(changed) and not self.has_written:
            # one label is written as it is: that all were known to the letter must not show in versions
            changed = rows.take(pa.array(np.flatnonzero(comparable & ~clash)[:1]))
        if not self._dry_run:
            self._commit(rows.take(pa.array(new)), changed)
        elif len(new):
            self.keys.add(keys[new], np.full(len(new), VIRTUAL, np.int64))
        return rejects.items

    def _checked(
        self, rows: pa.Table, rejects: _Rejects, called: pa.Array | None
    ) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return rows with a key, each key once, whose references exist; and their numbers in the chunk."""
        numbers = np.arange(len(rows))
        if "label_id" in rows.column_names:
            rows = self._complete_labels(rows)
        good = pc.is_valid(rows[self.table.key]).to_numpy()
        rejects.add(numbers[~good], "null_key", f"no {self.table.key}")
        if self._removed and self.table.parent is None:
            gone = self._removed.of_images(rows, self.has(rows[self.table.key]))
            good &= ~self._refuse_removed(rows, gone & good, numbers, rejects)
        if self.table.parent is not None:
            known = self._others["images"].has(rows["image_id"])
            bad = good & ~known
            if self._removed:
                bad &= ~self._refuse_removed(rows, self._removed.of_parts(rows, bad), numbers, rejects)
            rejects.add_each(numbers[bad], "unknown_image", _unknown(rows, numbers[bad], called))
            good &= known
        rows, numbers = rows.filter(pa.array(good)), numbers[good]
        first = np.unique(rows[self.table.key].to_numpy(), return_index=True)[1]
        if len(first) < len(rows):
            self._refuse_repeats(rows, first, numbers, rejects)
            first.sort()
            rows, numbers = rows.take(pa.array(first)), numbers[first]
        return rows, numbers

    def _refuse_removed(
        self, rows: pa.Table, gone: NDArray[np.bool_], numbers: NDArray[np.int64], rejects: _Rejects
    ) -> NDArray[np.bool_]:
        """Refuse rows of images that were taken out of the lake, without telling which."""
        for at, image in zip(
            np.flatnonzero(gone).tolist(), rows["image_id"].filter(pa.array(gone)).to_pylist(), strict=True
        ):
            rejects.add_removed(int(numbers[at]), self._removed.digest("image_id", image).hex())
        return gone

    def has(self, ids: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
        """Return which of some keys (int64, NULL for none) the table has."""
        found: NDArray[np.bool_] = self.keys.find(pc.fill_null(ids, ABSENT).to_numpy()) != ABSENT
        known: NDArray[np.bool_] = found & pc.is_valid(ids).to_numpy(zero_copy_only=False)
        return known

    def _complete_labels(self, rows: pa.Table) -> pa.Table:
        """Give a label that names only its box the box's image."""
        missing = pc.and_(pc.is_null(rows["image_id"]), pc.is_valid(rows["detection_id"])).to_numpy()
        if not missing.any():
            return rows
        boxes = self._others["detections"]
        wanted = rows["detection_id"].filter(pa.array(missing)).to_numpy()
        images = boxes.image_ids(wanted)
        column = rows["image_id"].to_pylist()
        for at, image in zip(np.flatnonzero(missing).tolist(), images, strict=True):
            column[at] = image
        return rows.set_column(rows.column_names.index("image_id"), "image_id", pa.array(column, pa.int64()))

    def image_ids(self, keys: NDArray[np.int64]) -> list[int | None]:
        """Return the image of each of this table's rows by key, ``None`` for an unknown one."""
        images: list[int | None] = self.stored(keys, ["image_id"])["image_id"].to_pylist()
        return images

    def stored(self, keys: NDArray[np.int64], columns: Sequence[str]) -> pa.Table:
        """Return some columns of this table's rows by key, NULL for an unknown one."""
        found = self.keys.find(keys)
        hit = found >= 0
        dataset = tables.open_table(self._location, self._stored)
        if dataset is None or not hit.any():
            return pa.table({c: pa.nulls(len(keys), self.table.schema().field(c).type) for c in columns})
        taken = dataset._take_rows(found[hit].tolist(), columns=list(columns))  # noqa: SLF001
        place = np.cumsum(hit) - 1
        return taken.take(pa.array(place, mask=~hit))

    def _refuse_repeats(
        self, rows: pa.Table, first: NDArray[np.int64], numbers: NDArray[np.int64], rejects: _Rejects
    ) -> None:
        keys = rows[self.table.key].to_numpy()
        again = np.setdiff1d(np.arange(len(rows)), first)
        original = {int(keys[i]): i for i in first.tolist()}
        for at in again.tolist():
            same = rows.slice(at, 1).to_pylist() == rows.slice(original[int(keys[at])], 1).to_pylist()
            if not same:
                place = rejects.place(int(numbers[original[int(keys[at])]]))
                rejects.add(numbers[[at]], "duplicate_key", self._twice(int(keys[at]), "content", f"at {place}"))

    def _twice(self, key: int, what: str, first: str) -> str:
        return f"{self.table.key} {key} stands in this source twice, with other {what}; first {first}"

    def _changed(
        self,
        rows: pa.Table,
        known: NDArray[np.int64],
        found: NDArray[np.int64],
        numbers: NDArray[np.int64],
        earlier: Earlier,
        rejects: _Rejects,
    ) -> tuple[pa.Table, NDArray[np.bool_]]:
        """Return the rows to update, and which rows are refused because this run has said otherwise before."""
        bits = self._said.bits
        rows = _with_measures(rows, self.table)
        columns = {c.name: bits[c.name] for c in self.table.columns[1:] if c.type and c.name in rows.column_names}
        refused = np.zeros(len(rows), np.bool_)
        dataset = tables.open_table(self._location, self._stored) if len(known) and columns else None
        if dataset is None:
            return rows.slice(0, 0), refused
        told = earlier.columns[known]
        chosen = rows.take(pa.array(known))
        changed = changed_rows(dataset, self.table.key, columns, chosen, found[known], told, self.table.measures)
        at = known[changed["__position"].to_numpy()]
        others = changed["__clash"].to_pylist()
        clash = np.array([bool(o) for o in others], np.bool_)
        refused[at[clash]] = True
        for i, other in zip(at.tolist(), others, strict=True):
            if other:
                first = self._said.name(int(earlier.first[i]))
                place = "earlier in this file" if first == rejects.source else f"in {first}"
                message = self._twice(rows[self.table.key][i].as_py(), other, place)
                rejects.add(numbers[[i]], "duplicate_key", message)
        changed = changed.drop_columns(["__position", "__clash"]).filter(pa.array(~clash))
        for blob in self.table.blobs:
            if blob in rows.column_names and len(changed):
                changed = changed.append_column(blob, rows[blob].take(pa.array(at[~clash])))
        return changed, refused

    def _commit(self, new: pa.Table, changed: pa.Table) -> None:
        if len(new) or len(changed):
            self._before_write()
            if "/" in self._stored and self._location.is_local:
                (self._location.path / self._stored).parent.mkdir(mode=0o700, exist_ok=True)
            if self.keys.is_unsound:  # writes go by it, too
                self._do_harmless(stored_keys.drop)
                self.keys.is_unsound = False
        if len(changed):
            self._update(changed)
        if len(new):
            rows = self._coder.encode(self._stored, self.table, new)
            self._coder.flush()
            before = tables.open_table(self._location, self._stored)
            known = set() if before is None else {f.fragment_id for f in before.get_fragments()}
            version = tables.append(self._location, self._stored, _storable(self.table, rows))
            self._follow(0 if before is None else before.version, version)
            dataset = tables.existing(self._location, self._stored)
            fragments = [f for f in dataset.get_fragments() if f.fragment_id not in known]
            there = sum(int(f.metadata.num_rows) for f in fragments)
            if there < len(rows):
                raise StorageError(
                    f"{len(rows):,} rows were written to {self._stored}, and {there:,} are there",
                    code="E6048",
                    hint="nothing of this ingest is seen; run it again",
                )
            self.keys.add_rows(dataset, fragments)
            self._appended += 1
            if self._appended % _AT_ONCE == 0:
                self._do_harmless(cleaning.gather)

    def tidy(self, seen: int) -> None:
        """Index the keys of a large table, and put little fragments together, once all is written.

        Args:
            seen: The version that readers see, 0 for none. If there are many between that and the newest, they go.
        """
        for step in (stored_keys.extend, cleaning.gather):
            self._do_harmless(step)
        cleaning.remove_unseen(self._location, self._stored, seen)

    def _update(self, changed: pa.Table) -> None:
        rows = self._coder.encode(self._stored, self.table, changed)
        self._coder.flush()
        blobs = [b for b in self.table.blobs if b in rows.column_names]
        for blob in blobs:  # first: a run that is killed before the rest finds the rows changed, and fills both again
            held = rows.select([self.table.key, blob]).filter(pc.is_valid(rows[blob]))
            if len(held):
                self._fill(_storable(self.table, held, partial=True))
        self._fill(rows.drop_columns(blobs))

    def _fill(self, rows: pa.Table) -> None:
        before = tables.latest_version(self._location, self._stored) or 0
        self._follow(before, tables.fill(self._location, self._stored, [self.table.key], rows))

    def _do_harmless(self, step: Callable[[Location, str], None]) -> None:
        """Let something commit that changes no row."""
        before = tables.latest_version(self._location, self._stored) or 0
        step(self._location, self._stored)
        after = tables.latest_version(self._location, self._stored) or 0
        same = self.coded == before and not history.changed(self._location, self._stored, before, after, None)
        self.coded = after if same else None
        self.has_written = self.has_written or after > before

    def _follow(self, before: int, after: int) -> None:
        """Follow a commit of ours on a version whose codes hold; codes are unknown once another tool committed between."""
        self.coded = after if self.coded == before and after == before + 1 else None
        self.has_written = True


class _Rejects:
    """What is refused of one chunk, with its place in the source."""

    def __init__(self, source: str, positions: Sequence[str] | None) -> None:
        self.source, self._positions = source, positions
        self.items: list[Reject] = []

    def add(self, numbers: NDArray[np.int64], code: str, message: str) -> None:
        self.add_each(numbers, code, [message] * len(numbers))

    def add_each(self, numbers: NDArray[np.int64], code: str, messages: Sequence[str]) -> None:
        for number, message in zip(numbers.tolist(), messages, strict=True):
            self.items.append(Reject(self.source, self.place(number), code, message))

    def add_removed(self, number: int, digest: str) -> None:
        """Refuse a row of an image that was taken out: its place is told where that holds no name."""
        place = self.place(number)
        told = place if _PLACE.fullmatch(place) else digest
        self.items.append(Reject(self.source, told, REMOVED, f"it was removed from this lake (digest {digest})"))

    def place(self, number: int) -> str:
        """Return where a row of the chunk stands in its file."""
        return f"row {number + 1}" if self._positions is None else self._positions[number]


def _unknown(rows: pa.Table, at: NDArray[np.int64], called: pa.Array | None) -> list[str]:
    """Return what is not there, as the source calls it."""
    taken = rows.take(pa.array(at))
    ids = taken["image_id"].to_pylist()
    boxes = taken["detection_id"].to_pylist() if "label_id" in rows.column_names else [None] * len(ids)
    names = [None] * len(ids) if called is None else called.take(pa.array(at)).to_pylist()
    told = []
    for image, box, name in zip(ids, boxes, names, strict=True):
        is_box = image is None and box is not None
        shown = (box if is_box else image) if name is None else repr(name[:_SHOWN]) + "…" * (len(name) > _SHOWN)
        told.append(f"no {'box' if is_box else 'image'} {shown} in the lake")
    return told


def _misfit(table: Table, what: str) -> RequestError:
    names = ", ".join(table.schema(blobs=True).names)
    return RequestError(f"rows for {table.name} have {what}", code="E3020", hint=f"columns: {names}")


def _typed(table: Table, rows: pa.Table) -> pa.Table:
    """Return rows with exactly the base table's types, columns in its order."""
    schema = table.schema(blobs=True)
    unknown = [c for c in rows.column_names if c not in schema.names]
    needed = [table.key, *(["image_id"] if table.parent is not None and table.name != "labels" else [])]
    missing = [c for c in needed if c not in rows.column_names]
    if unknown or missing:
        what = f"unknown columns {', '.join(unknown)}" if unknown else f"no column {missing[0]}"
        raise _misfit(table, what)
    fields = [f for f in schema if f.name in rows.column_names]
    if table.name == "labels":
        fields = list(schema)
        for field in (f for f in schema if f.name not in rows.column_names):
            rows = rows.append_column(field, pa.nulls(len(rows), field.type))
    try:
        typed = rows.select([f.name for f in fields]).cast(pa.schema([f.with_nullable(True) for f in fields]))
        typed.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceError(f"rows for {table.name} cannot be kept: {first_line(error)}", code="E4030") from error
    return typed


def _storable(table: Table, rows: pa.Table, *, partial: bool = False) -> pa.Table:
    """Return rows as Lance stores them: every column of the table, codes, and blobs in Lance's blob type."""
    import lance

    columns: dict[str, Any] = {}
    fields: list[pa.Field] = []
    for column in table.columns:
        if column.name not in rows.column_names and partial:
            continue
        present = rows[column.name] if column.name in rows.column_names else None
        if column.type is None:
            values = present.to_pylist() if present is not None else [None] * len(rows)
            fields.append(lance.blob_field(column.name))
            columns[column.name] = lance.blob_array(values)
            continue
        fields.append(pa.field(column.name, column.type, nullable=column.name != table.key))
        columns[column.name] = present if present is not None else pa.nulls(len(rows), column.type)
    if not partial:
        for name in table.coded:
            code = name + CODE_SUFFIX
            fields.append(pa.field(code, pa.int16()))
            columns[code] = rows[code] if code in rows.column_names else pa.nulls(len(rows), pa.int16())
    return pa.table(columns, schema=pa.schema(fields))

"""Gather pictures with their captions and labels into chunks of the base tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from counterbalance.engine.ingest_types import CHUNK_BYTES, CHUNK_ROWS, Chunk, Reject
from counterbalance.engine.schema import CAPTIONS, IMAGES, LABELS
from counterbalance.ingest import hashing
from counterbalance.ingest.rows import base_rows, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Picture:
    """A row of ``images`` to be; ``place`` is where it stands in the source.

    Sizes are in pixels as stored; ``image`` is the encoded picture when it is to be stored.
    """

    key: str
    uri: str
    place: str
    width: int
    height: int
    split: str | None = None
    license: str | None = None
    nsfw: str | None = None
    sha256: str | None = None
    image: bytes | None = None


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption of a picture; the id is a hash of key, origin and, from the second on, its number."""

    text: str
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """A label of a whole picture."""

    attribute: str
    value: str
    annotator: str


@dataclass(slots=True)
class _Entry:
    picture: Picture
    captions: Sequence[Caption]
    labels: Sequence[Label]


class PictureRows:
    """Pictures of one file or folder until they make a chunk; not thread-safe.

    Args:
        source: The source as the user named it.
        file: URI of the file that is being read.
        origin: Origin of the captions.
        seen: Ids of the keys that came before; a key that comes again is refused.
    """

    def __init__(self, source: str, file: str, origin: str, seen: hashing.Seen) -> None:
        self._source, self._file, self._origin, self._seen = source, file, origin, seen
        self._entries: list[_Entry] = []
        self._rejects: list[Reject] = []
        self._bytes = 0

    @property
    def full(self) -> bool:
        """Return whether it is time for ``flush``."""
        return self._bytes >= CHUNK_BYTES or max(len(self._entries), len(self._rejects)) >= CHUNK_ROWS

    def add(self, picture: Picture, captions: Sequence[Caption] = (), labels: Sequence[Label] = ()) -> None:
        """Take a picture in, with what belongs to it."""
        self._entries.append(_Entry(picture, captions, labels))
        self._bytes += len(picture.image or b"") + sum(len(c.text) for c in captions)

    def refuse(self, place: str, code: str, message: str) -> None:
        """Note an item that was refused."""
        self._rejects.append(Reject(self._file, place, code, message))

    def flush(self, bytes_read: int) -> Chunk:
        """Return the rows so far as a chunk; the next one begins empty."""
        ids = self._fresh()
        entries, rejects = self._entries, self._rejects
        images = [e.picture for e in entries]
        tables, positions = {}, {}
        tables["images"] = _images(self._source, images, ids)
        positions["images"] = [p.place for p in images]
        number = np.arange(len(entries))
        for name, make in (("captions", self._captions), ("labels", _labels)):
            at = np.repeat(number, [len(getattr(e, name)) for e in entries])
            if len(at):
                tables[name] = make(entries, ids.take(pa.array(at)))
                positions[name] = [images[i].place for i in at]
        self._entries, self._rejects, self._bytes = [], [], 0
        return Chunk(tables, rejects, len(entries) + len(rejects), bytes_read, positions, self._file)

    def _fresh(self) -> pa.Array:
        """Drop the entries whose key was there before; ids of the others."""
        ids = hashing.key_ids(pa.array([e.picture.key for e in self._entries], pa.string()))
        new = self._seen.add(ids.to_numpy())
        for i in np.flatnonzero(~new):
            picture = self._entries[i].picture
            message = f"key {shorten(picture.key)} occurs earlier in this source"
            self.refuse(picture.place, "duplicate_key", message)
        self._entries = [e for e, is_new in zip(self._entries, new, strict=True) if is_new]
        return ids.filter(pa.array(new))

    def _captions(self, entries: Sequence[_Entry], image_ids: pa.Array) -> pa.Table:
        captions = [c for e in entries for c in e.captions]
        keys = pa.array([e.picture.key for e in entries for _ in e.captions], pa.string())
        number = [n for e in entries for n in range(len(e.captions))]
        columns = {
            "caption_id": caption_ids(keys, self._origin, number),
            "image_id": image_ids,
            "text": pa.array([c.text for c in captions], pa.string()),
            "origin": pa.repeat(self._origin, len(captions)),
            "similarity": pa.array([c.similarity for c in captions], pa.float32()),
        }
        return base_rows(CAPTIONS, columns)


def caption_ids(keys: pa.Array, origin: str, number: Sequence[int]) -> pa.Array:
    """Return ids of the captions of keyed images: a hash of key and origin and, from the second caption on, its number.

    Args:
        keys: Keys of their images.
        origin: Origin of them all.
        number: 0 for an image's first caption of that origin, 1 for its second …
    """
    origins = pa.repeat(origin, len(keys))
    ids = hashing.hash_rows(keys, origins)
    if not any(number):
        return ids
    later = hashing.hash_rows(keys, origins, pa.array(number, pa.int64()))
    return pa.array(np.where(np.array(number) == 0, ids.to_numpy(), later.to_numpy()), pa.int64())


def _labels(entries: Sequence[_Entry], image_ids: pa.Array) -> pa.Table:
    labels = [label for e in entries for label in e.labels]
    attribute = pa.array([b.attribute for b in labels], pa.string())
    annotator = pa.array([b.annotator for b in labels], pa.string())
    columns = {
        "label_id": hashing.hash_rows(image_ids, pa.nulls(len(labels), pa.string()), attribute, annotator),
        "image_id": image_ids,
        "attribute": attribute,
        "value": pa.array([b.value for b in labels], pa.string()),
        "annotator": annotator,
    }
    return base_rows(LABELS, columns)


def _images(source: str, pictures: Sequence[Picture], ids: pa.Array) -> pa.Table:
    schema = IMAGES.schema(blobs=True)
    columns = {
        f.name: pa.array([getattr(p, f.name) for p in pictures], schema.field(f.name).type)
        for f in fields(Picture)
        if f.name != "place"
    }
    stored = any(p.image is not None for p in pictures)
    columns |= {"image_id": ids, "source": pa.repeat(source, len(pictures))}
    return base_rows(IMAGES, columns if stored else {k: v for k, v in columns.items() if k != "image"})

"""Gather pictures with their captions, boxes and labels into chunks of the base tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.ingest_types import CHUNK_BYTES, CHUNK_ROWS, Chunk, Reject
from counterbalance.engine.schema import CAPTIONS, DETECTIONS, IMAGES, LABELS
from counterbalance.ingest import boxes, hashing
from counterbalance.ingest.rows import base_rows, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNSTORED: Final = (
    "pictures inside of files are seen while they are read, and not stored: nothing can be computed of them later; "
    "--store-images keeps them"
)
"""What is said where shards or tables are read without storing."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A row of ``images`` to be; ``place`` is where it stands in the source.

    Sizes are in pixels as stored, if they are known; ``image`` is the encoded picture when it is to be stored.
    """

    key: str
    uri: str
    place: str
    width: int | None
    height: int | None
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
    """A label of a whole picture, or of a box of it."""

    attribute: str
    value: str
    annotator: str


@dataclass(frozen=True, slots=True)
class Box:
    """A box in a picture, in pixels of it as stored; the id is a hash of key, category, coordinates and origin.

    ``place`` is where it stands in the source; ``keypoints`` are x, y, visibility, … as COCO has them.
    """

    place: str
    category: str
    x: float
    y: float
    width: float
    height: float
    score: float | None = None
    origin: str | None = None
    labels: Sequence[Label] = ()
    keypoints: Sequence[float] | None = None


@dataclass(slots=True)
class _Entry:
    picture: Picture
    captions: Sequence[Caption]
    labels: Sequence[Label]
    boxes: Sequence[Box]


class PictureRows:
    """Pictures of one file or folder until they make a chunk; not thread-safe.

    Args:
        source: The source as the user named it.
        file: URI of the file that is being read.
        origin: Origin of the captions.
        seen: Ids of the keys that came before; a key that comes again is refused.
        again: Whether it is not, and what belongs to it is taken: files of annotations may share pictures.
    """

    def __init__(self, source: str, file: str, origin: str, seen: hashing.Seen, *, again: bool = False) -> None:
        self._again = again
        self._source, self._file, self._origin, self._seen = source, file, origin, seen
        self._entries: list[_Entry] = []
        self._rejects: list[Reject] = []
        self._bytes = self._boxes = 0

    @property
    def full(self) -> bool:
        """Return whether it is time for ``flush``."""
        return self._bytes >= CHUNK_BYTES or max(len(self._entries), len(self._rejects), self._boxes) >= CHUNK_ROWS

    def add(
        self,
        picture: Picture,
        captions: Sequence[Caption] = (),
        labels: Sequence[Label] = (),
        boxes: Sequence[Box] = (),
    ) -> None:
        """Take a picture in, with what belongs to it."""
        self._entries.append(_Entry(picture, captions, labels, boxes))
        self._boxes += sum(1 + len(b.labels) for b in boxes)
        self._bytes += len(picture.image or b"") + sum(len(c.text) for c in captions)

    def refuse(self, place: str, code: str, message: str) -> None:
        """Note an item that was refused."""
        self._rejects.append(Reject(self._file, place, code, message))

    def flush(self, bytes_read: int) -> Chunk:
        """Return the rows so far as a chunk; the next one begins empty."""
        ids, new = self._fresh()
        entries, rejects = self._entries, self._rejects
        images = [e.picture for e in entries]
        tables, positions = {}, {}
        first = [p for p, is_new in zip(images, new, strict=True) if is_new]
        tables["images"] = _images(self._source, first, ids.filter(pa.array(new, pa.bool_())))
        positions["images"] = [p.place for p in first]
        number = np.arange(len(entries))
        at = np.repeat(number, [len(e.captions) for e in entries])
        if len(at):
            tables["captions"] = self._captions(entries, ids.take(pa.array(at)))
            positions["captions"] = [images[i].place for i in at]
        at = np.repeat(number, [len(e.boxes) for e in entries])
        if len(at):
            tables["detections"] = _detections(entries, ids.take(pa.array(at)))
            positions["detections"] = [b.place for e in entries for b in e.boxes]
        labels = _labels(entries, ids, tables.get("detections"))
        if labels.num_rows:
            tables["labels"] = labels
            positions["labels"] = [p for p, _ in _labelled(entries)]
        self._entries, self._rejects, self._bytes, self._boxes = [], [], 0, 0
        return Chunk(tables, rejects, len(entries) + len(rejects), bytes_read, positions, self._file)

    def _fresh(self) -> tuple[pa.Array, list[bool]]:
        """Drop the entries whose key was there before, if they are refused; ids of the others, and which are new."""
        ids = hashing.key_ids(pa.array([e.picture.key for e in self._entries], pa.string()))
        new = self._seen.add(ids.to_numpy())
        if self._again:
            return ids, new.tolist()
        for i in np.flatnonzero(~new):
            picture = self._entries[i].picture
            message = f"key {shorten(picture.key)} occurs earlier in this source"
            self.refuse(picture.place, "duplicate_key", message)
        self._entries = [e for e, is_new in zip(self._entries, new, strict=True) if is_new]
        return ids.filter(pa.array(new)), [True] * len(self._entries)

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


def _detections(entries: Sequence[_Entry], image_ids: pa.Array) -> pa.Table:
    found = [b for e in entries for b in e.boxes]
    keys = pa.array([e.picture.key for e in entries for _ in e.boxes], pa.string())
    values = np.array([(b.x, b.y, b.width, b.height) for b in found], np.float64)
    origin = pa.array([b.origin for b in found], pa.string())
    columns = {
        **boxes.columns_of(keys, pa.array([b.category for b in found], pa.string()), values, origin),
        "image_id": image_ids,
        "score": pa.array([b.score for b in found], pa.float32()),
        "origin": origin,
    }
    if any(b.keypoints is not None for b in found):
        columns["keypoints"] = pa.array([b.keypoints for b in found], pa.list_(pa.float32()))
    return base_rows(DETECTIONS, columns)


def _labelled(entries: Sequence[_Entry]) -> Iterator[tuple[str, Label]]:
    """Yield labels with their places: those of whole pictures, then those of boxes."""
    for entry in entries:
        yield from ((entry.picture.place, label) for label in entry.labels)
    for entry in entries:
        yield from ((b.place, label) for b in entry.boxes for label in b.labels)


def _labels(entries: Sequence[_Entry], image_ids: pa.Array, detections: pa.Table | None) -> pa.Table:
    labels = [label for _, label in _labelled(entries)]
    of_pictures = pa.array(np.repeat(np.arange(len(entries)), [len(e.labels) for e in entries]))
    images, boxed = image_ids.take(of_pictures), pa.nulls(len(of_pictures), pa.int64())
    if detections is not None:
        of_boxes = pa.array(np.repeat(np.arange(len(detections)), [len(b.labels) for e in entries for b in e.boxes]))
        images = pa.concat_arrays([images, detections["image_id"].combine_chunks().take(of_boxes)])
        boxed = pa.concat_arrays([boxed, detections["detection_id"].combine_chunks().take(of_boxes)])
    attribute = pa.array([b.attribute for b in labels], pa.string())
    annotator = pa.array([b.annotator for b in labels], pa.string())
    columns = {
        "label_id": hashing.hash_rows(images, boxed, attribute, annotator),
        "image_id": images,
        **({"detection_id": boxed} if detections is not None else {}),
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

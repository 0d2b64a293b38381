"""Visual Genome: images, objects, descriptions of regions, and attributes, from its lists of JSON, which are streamed.

``image_data.json`` makes rows of ``images``, ``objects.json`` of ``detections``; a description in ``region_descriptions.json``
is a caption of its image, and an attribute in ``attributes.json`` a label of its object's box, with itself as the attribute and
the value 1. Members that have no place are told, and those of images stored as labels where ``keep`` names them. Files are told apart by what their first elements hold. Where a picture lies beside (``VG_100K/1.jpg``), or the lake
has it, it is the image, whose key stays.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.errors import RequestError, SourceError
from counterbalance.engine.ingest_types import Images
from counterbalance.engine.schema import DETECTIONS, IMAGES
from counterbalance.ingest import columns, hashing, ignored_options, targets
from counterbalance.ingest.boxes import MAX_COORDINATE
from counterbalance.ingest.chunking import Piece, merge_pieces
from counterbalance.ingest.compression import read_head
from counterbalance.ingest.files import expand, source_of
from counterbalance.ingest.jsonstream import stream_list
from counterbalance.ingest.labelrows import LabelRows
from counterbalance.ingest.members import Members, chosen
from counterbalance.ingest.rows import MAX_KEY, base_rows, floats, shorten
from counterbalance.ingest.validate import ObjectSieve, outside

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from counterbalance.engine.ingest_types import Chunk, ReadOptions, Reject, Source
    from counterbalance.ingest.files import File
    from counterbalance.ingest.jsonstream import Items
    from counterbalance.ingest.rows import Places
    from counterbalance.ingest.validate import Ints

_LIST: Final = re.compile(rb"\s*(\xef\xbb\xbf)?\s*\[\s*\{")
_ID: Final = re.compile(rb'"(image|region)_id"\s*:')
_KINDS: Final = {
    "images": re.compile(rb'"coco_id"\s*:'),
    "regions": re.compile(rb'"regions"\s*:\s*\[(\s*\{)?'),
    "attributes": re.compile(rb'"attributes"\s*:\s*\['),
    "objects": re.compile(rb'"objects"\s*:\s*\['),
}
_ORDER: Final = ("images", "objects", "attributes", "regions")
_HEAD: Final = 65_536
_SUFFIXES: Final = (".json",)
_FOLDERS: Final = ("VG_100K", "VG_100K_2")
_SIDES: Final = ("x", "y", "w", "h")


def kind_of(head: bytes) -> str | None:
    """Return what a file holds by its first bytes; ``None`` where it is none of Visual Genome.

    Example:
        >>> kind_of(b'[{"image_id": 1, "objects": [{"object_id": 5}]}]'), kind_of(b'{"images": []}')
        ('objects', None)
    """
    if not _LIST.match(head) or not _ID.search(head):
        return None
    return next((kind for kind, shown in _KINDS.items() if shown.search(head)), None)


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images``, ``detections``, ``labels`` and ``captions``.

    Args:
        uri: Files, a folder, a glob.
        options: ``split`` of the images, ``keep`` (members of ``image_data.json``), ``origin`` of captions and boxes (default
            ``"human"``), ``annotator`` of labels (default ``"source"``), ``limit`` (images: the first ones of the first file).

    Raises:
        NotFoundError: If there is no such file; while reading: no such member in ``keep``.
        RequestError: If a column mapping is asked for (``E3007``).
        SourceError: If no file is one of these (``E4032``); when it is read, if it is broken.

    Source:
        Krishna et al., Visual Genome: Connecting Language and Vision Using Crowdsourced Dense Image Annotations, 2017;
        https://homes.cs.washington.edu/~ranjay/visualgenome/api.html
    """
    if options.mapping:
        raise RequestError("files of Visual Genome have no columns to map", code="E3007", hint="leave out --map")
    told = [(f, kind_of(read_head(f, _HEAD)[0])) for f in expand(uri, options.storage_options, _SUFFIXES)]
    files = [(f, kind) for f, kind in told if kind is not None]
    if not files:
        raise SourceError(
            f"{uri} holds none of Visual Genome's image_data, objects, attributes and region_descriptions",
            code="E4032",
            hint="name the files that are, or another format with --format",
        )
    files.sort(key=lambda f: _ORDER.index(f[1]))
    images = Images()
    kinds = {kind for _, kind in files}
    unused = ("images", "store_images", *(() if "images" in kinds else ("keep",)))
    notes = ignored_options.describe("visualgenome", options, *unused)
    if others := [f.name for f, kind in told if kind is None]:
        notes.append(f"left out: {', '.join(others[:5])}" + ", …" * (len(others) > 5))
    if "regions" in kinds:
        notes.append("left out: the boxes of regions; their descriptions are captions of the images")
    return source_of(uri, [f for f, _ in files], _Reader(options, images).chunks(files, notes), notes, images)


class _Reader:
    """Read the files one after the other."""

    def __init__(self, options: ReadOptions, images: Images) -> None:
        self._options, self._images = options, images
        self._passed: set[int] = set()
        self._origin = options.origin or "human"
        self._kept: Sequence[str] = ()
        self._of_image = Members({"image_id", "url", "width", "height"})
        self._of_object = Members({"object_id", *_SIDES, "names", "name", "attributes"})
        self._of_region = Members({"region_id", "image_id", "phrase", "x", "y", "width", "height"})
        self._has_more_names = False

    def chunks(self, files: list[tuple[File, str]], notes: list[str]) -> Iterator[Chunk]:
        """Yield the rows of some files with their kinds; at the end ``notes`` tells what found no place."""
        makes: dict[str, Callable[[str, Items], Piece]] = {
            "images": self._of_images,
            "objects": self._of_objects,
            "attributes": self._of_objects,
            "regions": self._of_regions,
        }
        for file, kind in files:
            with file.open() as opened:
                pieces = (makes[kind](file.uri, items) for items in stream_list(opened, file.uri, kind))
                yield from merge_pieces(pieces, file.uri)
        lost = [f"{of}.{name}" for of, m in self._others() for name in m.names()]
        notes += self._of_image.notes() + columns.cannot_keep("visualgenome", lost)
        if self._has_more_names:
            notes.append("left out: names of objects after the first")

    def _others(self) -> tuple[tuple[str, Members], ...]:
        return ("objects", self._of_object), ("regions", self._of_region)

    def _admitted(self, ids: Ints) -> list[bool]:
        """Return which images are within the limit."""
        limit = self._options.limit
        if limit is None:
            return [True] * len(ids)
        for i in ids.tolist():
            if len(self._passed) < limit:
                self._passed.add(i)
        return [i in self._passed for i in ids.tolist()]

    def _keys(self, ids: Ints) -> pa.Array:
        """Return what the lake calls images of these ids."""
        return targets.picture_keys(pa.array(ids).cast(pa.string()), _FOLDERS, self._images)

    def _of_images(self, uri: str, items: Items) -> Piece:
        sieve = _sieve(uri, items.items, np.arange(items.start, items.start + len(items.items)))
        self._of_image.add(sieve.items)
        if items.start == 0:
            self._kept = chosen(sieve.items, self._options.keep, uri)
        texts = {name: sieve.stored(name, self._of_image.kept(name, sieve.items)) for name in self._kept}
        ids = sieve.ids("image_id")
        url = sieve.text("url", limit=MAX_KEY)
        width, height = sieve.pixels("width"), sieve.pixels("height")
        sieve.keep &= self._admitted(ids)
        keys, own = self._keys(ids), pa.array(ids).cast(pa.string())
        count = len(sieve)
        cells = {"image_id": hashing.key_ids(keys), "key": keys, "width": width, "height": height}
        cells |= {"uri": url, "source": pa.repeat("Visual Genome", count)}
        if self._options.split:
            cells["split"] = pa.repeat(self._options.split, count)
        labels = LabelRows.of_columns(sieve, texts, keys, self._options.annotator or "source")
        # a picture that is there says itself where it is and how large
        sieve.keep &= np.array([k == o for k, o in zip(keys.to_pylist(), own.to_pylist(), strict=True)], dtype=bool)
        piece = _piece({"images": (base_rows(IMAGES, cells), sieve)}, len(items.items), items.read)
        return _joined(piece, labels.tables(), labels.positions())

    def _parts(self, uri: str, items: Items, name: str) -> tuple[ObjectSieve, pa.Array, list[Reject]]:
        """Return the elements of a list that each image has, the ids of their images, and images that were refused."""
        outer = _sieve(uri, items.items, np.arange(items.start, items.start + len(items.items)))
        ids = outer.ids("image_id" if any("image_id" in i for i in outer.items) else "id")
        lists = outer.values(name)
        outer.refuse([not isinstance(p, list) for p in lists], "bad_item", lambda _: f"{name} is no list")
        rejects = outer.rejects
        outer.keep &= self._admitted(ids)
        kept = np.flatnonzero(outer.keep).tolist()
        at = np.repeat(np.array(kept, dtype=np.int64), [len(lists[i]) for i in kept])
        sieve = _sieve(uri, [part for i in kept for part in lists[i]], outer.numbers[at])
        return sieve, hashing.key_ids(self._keys(ids[at])), rejects

    def _of_regions(self, uri: str, items: Items) -> Piece:
        sieve, image_ids, rejects = self._parts(uri, items, "regions")
        self._of_region.add(sieve.items)
        ids, text = sieve.ids("region_id"), sieve.text("phrase")
        blank = [not (t or "").strip() for t in text.to_pylist()]
        sieve.refuse(blank, "missing_text", lambda _: "phrase is missing or empty")
        rows = pa.table(
            {
                "caption_id": pa.array(ids),
                "image_id": image_ids,
                "text": text,
                "origin": pa.repeat(self._origin, len(sieve)),
            }
        )
        return _piece({"captions": (rows, sieve)}, len(items.items), items.read, rejects)

    def _of_objects(self, uri: str, items: Items) -> Piece:
        sieve, image_ids, rejects = self._parts(uri, items, items.name)
        self._of_object.add(sieve.items)
        self._has_more_names |= any(isinstance(n, list) and len(n) > 1 for n in sieve.values("names"))
        ids = sieve.ids("object_id")
        names = [_first(i) for i in sieve.items]
        sieve.refuse([n is None for n in names], "missing_category", lambda i: f"object {ids[i]} has no name")
        values = np.stack([sieve.numbers_of(side, "bad_box") for side in _SIDES], axis=1)
        with np.errstate(invalid="ignore"):
            sound = np.logical_and.reduce(np.abs(values) <= MAX_COORDINATE, axis=1)
            sound &= np.logical_and.reduce(values[:, 2:] >= 0, axis=1)
        why = "x, y, w and h must be pixels, and no size negative, not"
        sieve.refuse(~sound, "bad_box", lambda i: f"object {ids[i]}: {why} {shorten(values[i].tolist())}")
        if self._images.sizes is not None:
            width, height = np.nan_to_num(self._images.sizes(image_ids), nan=np.inf).T
            why_not = "the box reaches out of the picture of"
            beyond = sound & outside(np.where(sound[:, None], values, 0), width, height)
            sieve.refuse(beyond, "bad_box", lambda i: f"object {ids[i]}: {why_not} {width[i]:g} x {height[i]:g}")
        boxes = {n: floats(values[:, i]) for i, n in enumerate(("x", "y", "width", "height"))}
        cells = {"detection_id": pa.array(ids), "image_id": image_ids, "category": pa.array(names, pa.string())}
        cells |= {**boxes, "area": floats(values[:, 2] * values[:, 3])}
        cells["origin"] = pa.repeat(self._origin, len(sieve))
        made = {"detections": (base_rows(DETECTIONS, cells), sieve)}
        piece = _piece(made, len(items.items), items.read, rejects)
        return piece if items.name == "objects" else self._with_labels(piece, sieve, ids, image_ids)

    def _with_labels(self, piece: Piece, sieve: ObjectSieve, ids: Ints, image_ids: pa.Array) -> Piece:
        kept = np.flatnonzero(sieve.keep).tolist()
        words = [dict.fromkeys(_words(sieve.items[i])) for i in kept]
        at = np.repeat(np.array(kept, dtype=np.int64), [len(w) for w in words])
        if not len(at):
            return piece
        boxed, pictured = pa.array(ids[at]), image_ids.take(pa.array(at))
        attribute = pa.array([w for found in words for w in found], pa.string())
        annotator = pa.repeat(self._options.annotator or "source", len(at))
        rows = pa.table(
            {
                "label_id": hashing.hash_rows(pictured, boxed, attribute, annotator),
                "image_id": pictured,
                "detection_id": boxed,
                "attribute": attribute,
                "value": pa.repeat("1", len(at)),
                "annotator": annotator,
            }
        )
        places = piece.positions["detections"]
        return _joined(piece, {"labels": rows}, {"labels": type(places)(places.words, sieve.numbers[at])})


def _sieve(uri: str, items: list[Any], numbers: Ints) -> ObjectSieve:
    return ObjectSieve(uri, "", numbers, items)


def _piece(
    made: dict[str, tuple[pa.Table, ObjectSieve]], rows_read: int, bytes_read: int, rejects: list[Reject] | None = None
) -> Piece:
    tables: dict[str, pa.Table] = {}
    positions: dict[str, Places] = {}
    refused = list(rejects or [])
    for name, (rows, sieve) in made.items():
        key = rows.column_names[0]
        tables[name], positions[name] = sieve.rows({c: rows[c] for c in rows.column_names}, key)
        refused += sieve.rejects
    return Piece(tables, positions, refused, rows_read, bytes_read)


def _joined(piece: Piece, tables: dict[str, pa.Table], positions: dict[str, Places]) -> Piece:
    """Return a piece with the rows of further tables."""
    return replace(piece, tables={**piece.tables, **tables}, positions={**piece.positions, **positions})


def _first(item: dict[str, Any]) -> str | None:
    """Return the first name of an object."""
    names = item.get("names", item.get("name"))
    name = names[0] if isinstance(names, list) and names else names
    return name.strip() or None if isinstance(name, str) and name.isprintable() else None


def _words(item: dict[str, Any]) -> Iterator[str]:
    """Yield the attributes of an object."""
    found = item.get("attributes")
    for word in found if isinstance(found, list) else []:
        if isinstance(word, str) and word.isprintable() and word.strip():
            yield word.strip()[:MAX_KEY]

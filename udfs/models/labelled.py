"""Read what a classifier learns from: labels of boxes from a relation, and the pictures they belong to, one after the other."""

from __future__ import annotations

import contextlib
import hashlib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.backends.duckdb.scan import bytes_of
from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.images import ImageError, decode
from counterbalance.engine.store import pictures, tables
from counterbalance.udfs.pictures import within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

    from counterbalance.engine.session import Session
    from counterbalance.engine.store.location import Location

MIN_IMAGES: Final = 10
"""Images that a class must be seen on, so that every split has one."""
_BYTES: Final = "image"
_AT_ONCE: Final = 64
_BOXES: Final = """\
  d.image_id, d.x, d.y, d.width, d.height, d.category = 'person' AND d.is_crowd IS NOT TRUE AS is_person, i.sha256
FROM {relation} AS l
LEFT JOIN detections AS d ON d.detection_id = l.detection_id
LEFT JOIN images AS i ON i.image_id = d.image_id"""
_NO_BOXES: Final = """\
  CAST(NULL AS BIGINT) AS image_id, CAST(NULL AS FLOAT) AS x, CAST(NULL AS FLOAT) AS y, CAST(NULL AS FLOAT) AS width,
  CAST(NULL AS FLOAT) AS height, false AS is_person, CAST(NULL AS VARCHAR) AS sha256
FROM {relation} AS l"""


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labelled boxes, by rising id.

    Args:
        ids: ``detection_id``, int64.
        images: ``image_id``, int64; that of the box itself, made negative, where the lake does not know its image.
        classes: Names of the classes, sorted.
        labels: Number of each one's class, int64.
        boxes: x, y, width, height in pixels, float64 (rows, 4); NaN where there is no box of a person.
        pictures: Hex digest of each one's image as stored, where the lake has it.
    """

    ids: NDArray[np.int64]
    images: NDArray[np.int64]
    classes: tuple[str, ...]
    labels: NDArray[np.int64]
    boxes: NDArray[np.float64]
    pictures: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, keep: NDArray[np.bool_]) -> Labelled:
        """Return some of them, with the classes that these have."""
        left = np.unique(self.labels[keep])
        classes = tuple(self.classes[i] for i in left)
        labels = np.searchsorted(left, self.labels[keep]).astype(np.int64)
        pictures = tuple(p for p, kept in zip(self.pictures, keep, strict=True) if kept)
        return Labelled(self.ids[keep], self.images[keep], classes, labels, self.boxes[keep], pictures)

    def digest(self) -> str:
        """Return the digest of all of it: another label or box, another digest."""
        sha = hashlib.sha256(repr((self.classes, self.pictures)).encode())
        for part in (self.ids, self.images, self.labels, self.boxes):
            sha.update(np.ascontiguousarray(part).tobytes())
        return sha.hexdigest()[:16]


def read(session: Session, relation: str, attribute: str) -> Labelled:
    """Return the labels of boxes.

    Args:
        session: Opened with a purpose where the labels are sensitive.
        relation: A table, a view, a call or ``(SELECT …)`` with ``detection_id`` and ``value``; of one with a column
            ``attribute`` only that attribute's rows are taken.
        attribute: What is labelled.

    Raises:
        NotFoundError: The relation has no labels of that attribute.
        RequestError: It lacks a column, or a box has two labels.
    """
    columns = set(session.sql(f"SELECT * FROM {relation}").columns)
    if missing := {"detection_id", "value"} - columns:
        raise RequestError(
            f"{relation} has no column {min(missing)!r}",
            code="E3551",
            hint="labels are rows of (detection_id, value), with one label a box",
        )
    rows = _rows(session, relation, attribute, named="attribute" in columns)
    if not len(rows):
        raise _unknown(session, relation, attribute, named="attribute" in columns)
    ids = rows["detection_id"].to_numpy()
    twice = len(ids) - len(np.unique(ids))
    if twice:
        raise RequestError(
            f"{relation} has more than one label of {attribute!r} for some boxes: {twice} rows too many",
            code="E3551",
            hint="train on what annotators agree about: a consensus view, or (SELECT … WHERE annotator = '…')",
        )
    return _sorted(rows)


def _rows(session: Session, relation: str, attribute: str, *, named: bool) -> pa.Table:
    parts = _BOXES if {"detections", "images"} <= set(session.names()) else _NO_BOXES
    text = (
        "SELECT DISTINCT CAST(l.detection_id AS BIGINT) AS detection_id, CAST(l.value AS VARCHAR) AS value,\n"
        f"{parts.format(relation=relation)}\nWHERE l.detection_id IS NOT NULL AND l.value IS NOT NULL"
        f"{' AND l.attribute = $attribute' if named else ''}"
    )
    return session.sql(text, {"attribute": attribute} if named else {}).to_arrow()


def _unknown(session: Session, relation: str, attribute: str, *, named: bool) -> NotFoundError:
    hint, near = None, ""
    if named:
        found = session.sql(
            f"SELECT DISTINCT attribute FROM {relation} WHERE attribute IS NOT NULL ORDER BY 1"
        ).fetchall()
        known = [a for (a,) in found]
        near = did_you_mean(attribute, known)
        hint = f"its attributes are {', '.join(known)}" if known else None
    if attribute in session.sensitive_attributes() and not session.sensitive:
        hint = 'they are perceived labels; state a purpose: --sensitive "why", which is logged'
    return NotFoundError(f"{relation} has no labels of {attribute!r} for boxes{near}", code="E1152", hint=hint)


def _sorted(rows: pa.Table) -> Labelled:
    rows = rows.sort_by("detection_id")
    ids = rows["detection_id"].to_numpy().astype(np.int64)
    values = rows["value"].to_pylist()
    classes = tuple(sorted(set(values)))
    number = {c: i for i, c in enumerate(classes)}
    column = rows["image_id"]
    images = np.where(column.is_null().to_numpy(), -1 - ids, column.fill_null(0).to_numpy()).astype(np.int64)
    person = rows["is_person"].fill_null(False).to_numpy()
    boxes = np.full((len(ids), 4), np.nan)
    for i, name in enumerate(("x", "y", "width", "height")):
        boxes[person, i] = rows[name].cast(pa.float64()).to_numpy()[person]
    labels = np.array([number[v] for v in values], np.int64)
    return Labelled(ids, images, classes, labels, boxes, tuple(rows["sha256"].to_pylist()))


def require_enough(labelled: Labelled) -> None:
    """Refuse classes that are too rare to be learned and judged.

    Raises:
        RequestError: There is only one class, or a class is on fewer than ``MIN_IMAGES`` images.
    """
    pairs = set(zip(labelled.labels.tolist(), labelled.images.tolist(), strict=True))
    seen = Counter(label for label, _ in pairs)
    few = [c for i, c in enumerate(labelled.classes) if seen[i] < MIN_IMAGES]
    if few:
        raise too_few(few, f"on fewer than {MIN_IMAGES} images")
    if len(labelled.classes) < 2:
        raise RequestError(
            f"all labels are {labelled.classes[0]!r}: there is nothing to tell apart",
            code="E3553",
            hint="label others too",
        )


def too_few(classes: Sequence[str], why: str) -> RequestError:
    """Return the error of classes that are too rare."""
    return RequestError(
        f"too few labels to learn {', '.join(map(repr, classes))}: {why}",
        code="E3553",
        hint="label more, or leave these values out: (SELECT … WHERE value NOT IN (…))",
    )


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded picture.

    Args:
        rows: The rows that it shows.
        data: Its bytes.
        boxes: x, y, width, height in pixels, float64 (rows, 4), of what is cut out for each; ``None`` for the whole picture.
    """

    rows: tuple[int, ...]
    data: bytes
    boxes: NDArray[np.float64] | None = None

    def prepared(self, prepare: Callable[[Image], NDArray[np.uint8]]) -> dict[int, NDArray[np.uint8]]:
        """Return pixels by row; rows that cannot be read, or whose box lies outside, are left out."""
        found = {}
        try:
            picture = decode(self.data)
        except ImageError:
            return {}
        for number, row in enumerate(self.rows):
            with contextlib.suppress(ValueError):  # an ImageError is one too
                part = picture if self.boxes is None else picture.crop(within(picture, *self.boxes[number].tolist()))
                found[row] = np.ascontiguousarray(prepare(part))
        return found


class Pictures:
    """The pictures of labelled boxes: crops of the lake's images, or those of a relation. Bytes are read a few at a time.

    Args:
        location: The lake.
        session: Whose pinned versions are read.
        relation: ``None`` for crops of ``images.image`` to the boxes, without a margin, as Girrbach et al. (2025) cut them;
            else what has ``detection_id`` and one column of bytes, or of that name: ``image``.

    Raises:
        RequestError: There are no pictures (E3554).
    """

    def __init__(self, location: Location, session: Session, relation: str | None) -> None:
        self._location, self._session, self._relation = location, session, relation
        self._stored: tuple[Any, str] | None = None
        name = "images" if relation is None else relation.strip()
        self._version = session.pinned.get(name.lower())
        dataset = None if self._version is None else tables.open_table(location, name.lower(), self._version)
        if relation is not None and "detection_id" not in session.sql(f"SELECT * FROM {relation}").columns:
            raise none(f"{relation} has no column 'detection_id'")
        if dataset is not None:
            self._stored = dataset, _column_of_bytes(bytes_of(dataset), name)
        elif relation is None:
            raise none("this lake has no images")

    def digest(self) -> str:
        """Tell one relation of pictures from another, and a stored one from what it was; crops are known by their labels."""
        if self._relation is None:
            return "crops"
        versions = self._version if self._stored is not None else sorted(self._session.pinned.items())
        return hashlib.sha256(f"{self._relation} {versions}".encode()).hexdigest()[:16]

    def __call__(self, labelled: Labelled) -> Iterator[Encoded]:
        """Yield the encoded pictures of these rows, each with all rows that are cut from it; rows without one are left out."""
        if self._relation is None:
            yield from self._crops(labelled)
            return
        rows = {int(d): i for i, d in enumerate(labelled.ids)}
        for detection, data in self._given(list(rows)):
            row = rows.pop(detection, None)
            if row is not None and data is not None:
                yield Encoded((row,), data)

    def _crops(self, labelled: Labelled) -> Iterator[Encoded]:
        rows: dict[int, list[int]] = {}
        for row in np.flatnonzero(~np.isnan(labelled.boxes).any(1)).tolist():
            rows.setdefault(int(labelled.images[row]), []).append(row)
        for image, data in self._bytes("image_id", list(rows)):
            if data is not None:
                yield Encoded(tuple(rows[image]), data, labelled.boxes[rows[image]])

    def _given(self, ids: Sequence[int]) -> Iterator[tuple[int, bytes | None]]:
        """Yield what the relation has; a stored one is read by key, a query runs as a whole."""
        if self._stored is not None:
            yield from self._bytes("detection_id", ids)
            return
        found = self._session.sql(f"SELECT * FROM {self._relation}")
        name = _column_of_bytes([f.name for f in found.schema if pa.types.is_binary(f.type)], str(self._relation))
        chosen = self._session.sql(f'SELECT detection_id, "{name}" AS image FROM {self._relation}')
        for batch in chosen.to_batches():
            yield from zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True)

    def _bytes(self, key: str, ids: Sequence[int]) -> Iterator[tuple[int, bytes | None]]:
        """Yield bytes by key, in the order in which they are stored."""
        dataset, column = self._stored or (None, "")
        if dataset is None or key not in dataset.schema.names:
            raise none(f"{self._relation} has no column {key!r}")
        places = sorted(pictures.places(dataset, key, np.unique(np.array(ids, np.int64)))[1])
        for start in range(0, len(places), _AT_ONCE):
            chunk = ", ".join(str(p) for p in places[start : start + _AT_ONCE])
            for batch in pictures.scan(dataset, [key, column], filter=f"_rowid IN ({chunk})", scan_in_order=True):
                yield from zip(batch.column(key).to_pylist(), batch.column(column).to_pylist(), strict=True)


def _column_of_bytes(found: Sequence[str], name: str) -> str:
    if _BYTES in found or len(found) == 1:
        return _BYTES if _BYTES in found else str(found[0])
    if found:
        raise none(f"{name} has several columns of bytes ({', '.join(found)}), and none is called 'image'")
    raise none(f"{name} has no column of pictures")


def none(why: str) -> RequestError:
    """Return the error of labels without pictures."""
    return RequestError(
        f"no pictures to learn from: {why}",
        code="E3554",
        hint="ingest with --store-images, or give --images a relation of (detection_id, image)",
    )

"""CVAT's own files, "CVAT for images 1.1": all pictures and their shapes in one document of XML, streamed.

A box is a box, turned or not; of a polygon, a mask or an ellipse the bounding box is taken. Attributes of a shape are labels of
its box; tags of a picture are labels of attribute ``tag``, their attributes labels of the picture. Points, lines, cuboids and
skeletons are no boxes, and refused one by one; so are the tracks of a video. What else an element says is told, and stored as a
label of the picture or box where ``keep`` names it: ``image.id``, ``box.source``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from counterbalance.ingest.boxed import HOMELESS, Boxed, Home, number, sorted_out
from counterbalance.ingest.compression import read_head
from counterbalance.ingest.files import relative_name
from counterbalance.ingest.picture_rows import Picture
from counterbalance.ingest.rows import shorten
from counterbalance.ingest.xmlstream import HEAD, elements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from xml.etree.ElementTree import Element

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.boxed import Refusal, Unplaced
    from counterbalance.ingest.files import File
    from counterbalance.ingest.picture_rows import Box, Label

_ROOT: Final = "annotations"
_KNOWN: Final = frozenset({"version", "meta"})
_OF_IMAGES: Final = frozenset({"name", "width", "height", "subset"})
_CORNERS: Final = frozenset(
    {"xtl", "ytl", "xbr", "ybr", "left", "top", "width", "height", "cx", "cy", "rx", "ry", "rotation"}
)
_OF_SHAPES: Final = frozenset({"label", "occluded", *_CORNERS})
_OUTLINES: Final = frozenset({"points", "rle"})
_NOTHING: Final = frozenset({"", "0"})
_TURNED: Final = 1e-9


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images``, ``detections`` and ``labels``.

    Args:
        uri: A file of annotations, or the folder with it and the pictures.
        options: ``split`` of all, ``images`` (folder of the pictures, if it is another), ``store_images`` (default false),
            ``origin`` of the boxes (default ``"human"``), ``annotator`` of labels (default ``"source"``), ``keep``,
            ``limit`` (pictures).

    Raises:
        NotFoundError: If there is no such file.
        RequestError: If a column mapping is asked for.
        SourceError: When it is read: it is no such document, declares a document type, or an element is too long.

    Source:
        https://docs.cvat.ai/docs/dataset_management/formats/format-cvat/
    """
    home = Home(uri, options)
    files = home.documents(".xml")
    reader = _Reader(home)
    return home.source("cvat", reader.items(files), reader.look, files, [])


@dataclass(frozen=True, slots=True)
class _Image:
    """An element of a document, with the place where it stands."""

    element: Element
    place: str
    read: int
    key: str | None


class _Reader:
    """Read pictures by their elements; it is shared by threads, which only look things up."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def items(self, files: Sequence[File]) -> Iterator[_Image]:
        """Yield the elements of pictures."""
        own = [f for f in files if not self._home.leaves_out(f, _ROOT, read_head(f, HEAD)[0])]
        for file in own or files:
            name, count = self._home.files.key(file), 0
            with file.open() as opened:
                for element, read in elements(opened, file.uri, _ROOT, 2):
                    if element.tag in _KNOWN:
                        continue
                    count += 1
                    key = self._home.pictures.find(element.get("name", ""), name) if element.tag == "image" else None
                    yield _Image(element, f"{name}: {element.tag} {count}", read, key)

    def look(self, item: _Image) -> Boxed:
        """Return a picture with its boxes. Called in threads."""
        if item.element.tag != "image":
            why = f"<{item.element.tag[:40]}> is no picture; export as 'CVAT for images 1.1'"
            return Boxed(None, refused=[(item.place, "bad_item", why)], bytes_read=item.read)
        found = self._picture(item)
        if isinstance(found, tuple):
            homeless = [(item.place, *HOMELESS)] if found[0] != item.place and len(item.element) else []
            return Boxed(None, refused=[found, *homeless], bytes_read=item.read)
        split = (item.element.get("subset") or "").strip().lower()
        known = self._home.options.split or (None if split in {"", "default"} else split) or found.split
        boxes, refused = sorted_out(self._boxes(item, found))
        tags, left = self._tags(item.element), dict(_unplaced(item.element, _OF_IMAGES))
        for shape in item.element:
            left |= _unplaced(shape, _OF_SHAPES)
        return Boxed(replace(found, split=known), boxes, tags, refused, item.read, left_out=left)

    def _picture(self, item: _Image) -> Picture | Refusal:
        """Return the picture that lies beside, or what the document says of it where none does."""
        if item.key is not None:
            found = self._home.look(item.key)
            return found if isinstance(found, tuple) else found.picture
        name = item.element.get("name", "")
        if relative_name(name) is None:
            return item.place, "bad_file_name", f"name must be a plain relative name, not {shorten(name)}"
        if why := self._home.unsure(name):
            return item.place, "missing_image", why
        sides = [number(item.element.get(side)) for side in ("width", "height")]
        width, height = (int(s) if 1 <= s < 1 << 31 else None for s in sides)
        return Picture(name, name, item.place, width, height, self._home.split(name))

    def _tags(self, image: Element) -> list[Label]:
        tags = image.findall("tag")
        said = [("tag", ", ".join(dict.fromkeys(filter(None, (t.get("label") for t in tags)))))]
        kept = (pair for one in tags for pair in self._home.kept(_unplaced(one, _OF_SHAPES)))
        of_image = self._home.kept(_unplaced(image, _OF_IMAGES))
        return self._home.labels([*said, *(pair for tag in tags for pair in _attributes(tag)), *kept, *of_image])

    def _boxes(self, item: _Image, picture: Picture) -> Iterator[Box | Refusal]:
        for count, shape in enumerate((s for s in item.element if s.tag != "tag"), 1):
            place = f"{item.place}, {shape.tag} {count}"
            corners = _corners(shape)
            if corners is None:
                yield (
                    place,
                    "unknown_shape",
                    f"<{shape.tag[:40]}> has no box: boxes, polygons, masks and ellipses are read",
                )
                continue
            labels = self._home.labels([*_attributes(shape), *self._home.kept(_unplaced(shape, _OF_SHAPES))])
            yield self._home.box(
                place, shape.get("label", "").strip(), corners, (picture.width, picture.height), labels=labels
            )


def _attributes(element: Element) -> Iterator[tuple[str | None, str | None]]:
    """Yield the attributes of a shape or tag; a flag that is not set says nothing."""
    if element.get("occluded") == "1":
        yield "occluded", "1"
    for one in element.findall("attribute"):
        yield one.get("name"), one.text


def _unplaced(element: Element, placed: Collection[str]) -> Unplaced:
    """Return what a picture or a shape says that has no place; of outlines only the box has one, and they are no labels."""
    said = {n: value for n, value in element.attrib.items() if n not in placed and value not in _NOTHING}
    return {f"{element.tag}.{n}": None if n in _OUTLINES else value for n, value in said.items()}


def _corners(shape: Element) -> Sequence[float] | None:
    """Return the corners of the box around a shape; ``None`` for a shape that has none, NaN for what is no number."""

    def of(*names: str) -> list[float]:
        return [number(shape.get(n)) for n in names]

    match shape.tag:
        case "box":
            return _turned(of("xtl", "ytl", "xbr", "ybr"), number(shape.get("rotation", "0")))
        case "mask":
            left, top, width, height = of("left", "top", "width", "height")
            return left, top, left + width, top + height
        case "ellipse":
            x, y, across, down = of("cx", "cy", "rx", "ry")
            return _turned((x - across, y - down, x + across, y + down), number(shape.get("rotation", "0")))
        case "polygon":
            points = [[number(c) for c in p.split(",")] for p in shape.get("points", "").split(";")]
            if not all(len(p) == 2 and all(map(math.isfinite, p)) for p in points):
                return [math.nan] * 4
            return (
                min(p[0] for p in points),
                min(p[1] for p in points),
                max(p[0] for p in points),
                max(p[1] for p in points),
            )
    return None


def _turned(corners: Sequence[float], degrees: float) -> Sequence[float]:
    """Return the corners of the box around one that is turned about its centre.

    Example:
        >>> [round(c, 6) for c in _turned((0, 0, 4, 2), 90)]
        [1.0, -1.0, 3.0, 3.0]
    """
    if abs(degrees) <= _TURNED:
        return corners
    if not math.isfinite(degrees):
        return [math.nan] * 4
    left, top, right, bottom = corners
    sine, cosine = abs(math.sin(math.radians(degrees))), abs(math.cos(math.radians(degrees)))
    across, down = (right - left) / 2, (bottom - top) / 2
    x, y = (left + right) / 2, (top + bottom) / 2
    wide, high = across * cosine + down * sine, across * sine + down * cosine
    return x - wide, y - high, x + wide, y + high

"""Folders as Pascal VOC has them: a file of XML a picture in ``Annotations``, the pictures in ``JPEGImages``.

Coordinates are those of pixels, counted from 1 as VOC defines it: ``xmin`` 1 is the left edge, ``xmax`` the width the right one.
Parts of objects are boxes of their own. What else is said of an object (``truncated``, ``difficult``, ``occluded``, ``pose``,
actions, attributes) is a label of its box. Elements that have no place are told, and stored as labels of the picture or box
where ``keep`` names them: ``owner``, ``object.hue``. Splits are those of ``ImageSets/Main``, else of the folders' names.
"""

from __future__ import annotations

import io
import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.ingest.boxed import HOMELESS, Boxed, Home, number, place_of, sorted_out
from counterbalance.ingest.files import relative_name
from counterbalance.ingest.picture_rows import Picture
from counterbalance.ingest.rows import shorten
from counterbalance.ingest.xmlstream import HEAD, LARGEST, elements

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from xml.etree.ElementTree import Element

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.boxed import Refusal, Unplaced
    from counterbalance.ingest.files import File
    from counterbalance.ingest.picture_rows import Box

_ROOT: Final = "annotation"
_LISTS: Final = re.compile(r"(?:^|/)ImageSets/Main/(train|val|test)\.txt$")
_LARGEST_LIST: Final = 64 << 20
_FLAGS: Final = ("truncated", "difficult", "occluded", "pose")
_NOTHING: Final = frozenset({"", "unspecified", "0"})
_SAID: Final = frozenset({"name", "bndbox", *_FLAGS, "actions", "attributes"})
"""Elements of a part of an object that have a place."""
_OF_OBJECTS: Final = _SAID | {"part"}
_OF_PICTURES: Final = frozenset({"filename", "size", "object", *_FLAGS, "actions", "attributes"})


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images``, ``detections`` and ``labels``.

    Args:
        uri: The folder, its ``Annotations``, or files of XML.
        options: ``split`` of all, ``images`` (folder of the pictures, if it is another), ``store_images`` (default false),
            ``origin`` of the boxes (default ``"human"``), ``annotator`` of labels (default ``"source"``), ``keep``,
            ``limit`` (pictures).

    Raises:
        NotFoundError: If there is no such file.
        RequestError: If a column mapping is asked for.

    Source:
        Everingham et al., The Pascal Visual Object Classes Challenge, 2010; the development kit of VOC2012, section 8
    """
    home = Home(uri, options, inside=("Annotations",))
    files = home.documents(".xml")
    return home.source("voc", files, _Reader(home, files).look, files, [])


class _Reader:
    """Read pictures by their annotations; it is shared by threads, which only look things up."""

    def __init__(self, home: Home, files: Sequence[File]) -> None:
        self._home = home
        self._pairs = {_pair(home.files.key(f)) for f in files}
        self._splits = {
            line.split()[0]: found[1]
            for key, file in home.files.by_key.items()
            if (found := _LISTS.search(key))
            for line in file.read(_LARGEST_LIST).decode("utf-8", "replace").splitlines()
            if line.strip()
        }

    def look(self, item: File) -> Boxed:
        """Return a picture with its boxes. Called in threads."""
        place = self._home.files.key(item)
        try:
            data = item.read(LARGEST)
            if self._home.leaves_out(item, _ROOT, data[:HEAD]):
                return Boxed(None, bytes_read=item.size or 0)
            root, _ = next(elements(io.BytesIO(data), item.uri, _ROOT, 1))
        except CounterbalanceError as error:
            code = "bad_xml" if isinstance(error, SourceError) else "unreadable"
            return Boxed(None, refused=[(place, code, error.message)], bytes_read=item.size or 0)
        found = self._picture(root, place, item)
        read = item.size or 0
        if isinstance(found, tuple):
            return Boxed(None, refused=[found, (place, *HOMELESS)] if found[0] != place else [found], bytes_read=read)
        split = self._splits.get(posixpath.splitext(item.name)[0]) if self._home.options.split is None else None
        picture = replace(found, split=split or found.split)
        boxes, refused = sorted_out(self._boxes(root, place, picture))
        labels = self._home.labels([*_attributes(root), *self._home.kept(_unplaced(root, "", _OF_PICTURES))])
        return Boxed(picture, boxes, labels, refused, read, left_out=_left_out(root))

    def _picture(self, root: Element, place: str, file: File) -> Picture | Refusal:
        """Return the picture that lies beside, or what the annotation says of it where none does."""
        name = (root.findtext("filename") or "").strip()
        stem = posixpath.splitext(file.name)[0]
        key = (self._home.pictures.find(name, place) if name else None) or self._home.pictures.find(stem, place)
        if key is not None and place_of(key) != place_of(place) and _pair(key) in self._pairs:
            return place, "missing_image", f"{shorten(key)} is the picture of another file of annotations"
        if key is not None:
            found = self._home.look(key)
            return found if isinstance(found, tuple) else found.picture
        name = name or stem
        if relative_name(name) is None:
            return place, "bad_file_name", f"filename must be a plain relative name, not {shorten(name)}"
        if why := self._home.unsure(name):
            return place, "missing_image", why
        width, height = (_side(root.findtext(f"size/{side}")) for side in ("width", "height"))
        return Picture(name, name, place, width, height, self._home.split(place))

    def _boxes(self, root: Element, place: str, picture: Picture) -> Iterator[Box | Refusal]:
        for count, element in enumerate(root.findall("object"), 1):
            where = f"{place}: object {count}"
            yield self._box(where, element, picture, _unplaced(element, "object.", _OF_OBJECTS))
            for part in element.findall("part"):
                said = _unplaced(part, "object.part.", _SAID)
                yield self._box(f"{where}, part {shorten(part.findtext('name'))}", part, picture, said)

    def _box(self, place: str, element: Element, picture: Picture, said: Unplaced) -> Box | Refusal:
        left, top, right, bottom = (number(element.findtext(f"bndbox/{c}")) for c in ("xmin", "ymin", "xmax", "ymax"))
        corners = [c - 1 if c >= 1 else c for c in (left, top)] + [right, bottom]
        name = (element.findtext("name") or "").strip()
        labels = self._home.labels([*_attributes(element), *self._home.kept(said)])
        return self._home.box(place, name, corners, (picture.width, picture.height), labels=labels)


def _pair(path: str) -> tuple[str, ...]:
    """Return what a picture and its annotation have in common."""
    return (*place_of(path), posixpath.splitext(posixpath.basename(path))[0])


def _attributes(element: Element) -> Iterator[tuple[str | None, str | None]]:
    """Yield what is said of an object, or of a picture, beside its boxes; a flag that is not set says nothing."""
    for flag in _FLAGS:
        text = element.findtext(flag)
        if text is not None and text.strip().lower() not in _NOTHING:
            yield flag, text
    for action in element.findall("actions/*"):
        yield action.tag, action.text
    for one in element.findall("attributes/attribute"):
        yield one.findtext("name"), one.findtext("value")


def _left_out(root: Element) -> Unplaced:
    """Return the elements that say something and have no place."""
    found = dict(_unplaced(root, "", _OF_PICTURES))
    for one in root.findall("object"):
        found |= _unplaced(one, "object.", _OF_OBJECTS)
        for part in one.findall("part"):
            found |= _unplaced(part, "object.part.", _SAID)
    return found


def _unplaced(element: Element, prefix: str, placed: Collection[str]) -> Unplaced:
    """Return what the elements inside of one say that have no place; a flag that is not set says nothing."""
    return {
        prefix + e.tag: None if len(e) else (e.text or "").strip()
        for e in element
        if e.tag not in placed and (len(e) or (e.text or "").strip().lower() not in _NOTHING)
    }


def _side(text: str | None) -> int | None:
    """Return a width or height in pixels; ``None`` where none is told."""
    value = number(text)
    return int(value) if 1 <= value < 1 << 31 else None

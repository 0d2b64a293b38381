"""PHASE: perceived labels of persons in images of Conceptual Captions, from its files of JSON, which are streamed.

A member of the document is an image: its caption, and regions with what annotators saw in a person. ``…_all_….json`` has three
annotators a region, whose answers are labels of the box by each (``worker``); ``…_regions_….json`` has their majority, and is
left out where the former lies beside. What else a region says is told, and stored as a label of its box where ``keep`` names it. Pictures may have names without an ending; one that is not there is an image without a size.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, replace
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from counterbalance.ingest.boxed import HOMELESS, Boxed, Home, sorted_out
from counterbalance.ingest.compression import read_head
from counterbalance.ingest.files import relative_name
from counterbalance.ingest.jsonstream import ObjectMember, stream
from counterbalance.ingest.name_parts import split_of
from counterbalance.ingest.picture_rows import Caption, Picture
from counterbalance.ingest.rows import MAX_KEY, MAX_TEXT, kind_of, shorten
from counterbalance.ingest.validate import is_number, is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.boxed import Refusal, Unplaced
    from counterbalance.ingest.files import File
    from counterbalance.ingest.picture_rows import Box, Label

_START: Final = re.compile(rb'\s*\{\s*"[^"]*"\s*:\s*\{')
_REGION: Final = re.compile(rb'"region"\s*:\s*\[')
_HEAD: Final = 65_536
_CATEGORY: Final = "person"
_OF_PERSONS: Final = frozenset({"region", "annotations"})


def is_document(head: bytes) -> bool:
    """Return whether a file that begins so is one of PHASE.

    Example:
        >>> is_document(b'{"1234": {"1": {"region": [1, 2, 3, 4]'), is_document(b'{"info": {}, "images": []}')
        (True, False)
    """
    return _START.match(head) is not None and _REGION.search(head) is not None


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images``, ``captions``, ``detections`` and ``labels``.

    Args:
        uri: Files of annotations, or the folder that holds them, and perhaps the pictures.
        options: ``split``, ``images`` (folder of the pictures), ``store_images``, ``origin``, ``annotator`` of majorities
            (default ``"source"``), ``keep``, ``limit`` (images).

    Raises:
        NotFoundError: If there is no such file.
        RequestError: If a column mapping is asked for.
        SourceError: When it is read: it is no JSON, or cut short.

    Source:
        Garcia et al., Uncurated Image-Text Datasets: Shedding Light on Demographic Bias, 2023; https://github.com/noagarcia/phase
    """
    home = Home(uri, options, bare=True)
    found = [f for f in home.documents(".json") if is_document(read_head(f, _HEAD)[0])]
    single = {f.name for f in found if "_all_" in f.name}
    files = [f for f in found if "_regions_" not in f.name or f.name.replace("_regions_", "_all_") not in single]
    notes: list[str] = []
    if left := [f.name for f in found if f not in files]:
        notes.append(f"left out: {', '.join(left)}, majorities of the answers that are read")
    reader = _Reader(home)
    return home.source("phase", reader.items(files), reader.look, files, notes)


@dataclass(frozen=True, slots=True)
class _Image:
    """A member of a document."""

    name: str
    value: Any
    place: str
    split: str | None
    read: int


class _Reader:
    """Read images by their members; it is shared by threads, which only look things up."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def items(self, files: Sequence[File]) -> Iterator[_Image]:
        """Yield the members of documents."""
        for file in files:
            split = self._home.options.split or split_of(file.stem.replace("_", " "))
            with file.open() as opened:
                for event in stream(opened, file.uri):
                    value = event.value if isinstance(event, ObjectMember) else event.items
                    yield _Image(event.name, value, f"{file.name}: {shorten(event.name)}", split, event.read)

    def look(self, item: _Image) -> Boxed:
        """Return an image with its persons. Called in threads."""
        if not isinstance(item.value, dict) or not is_utf8(item.name):
            why = f"an object of regions was expected, not a {type(item.value).__name__}"
            return Boxed(None, refused=[(item.place, "bad_item", why)], bytes_read=item.read)
        found = self._picture(item)
        if isinstance(found, tuple):
            homeless = [(item.place, *HOMELESS)] if found[0] != item.place else []
            return Boxed(None, refused=[found, *homeless], bytes_read=item.read)
        persons = {k: v for k, v in item.value.items() if k != "caption"}
        boxes, refused = sorted_out(self._box(f"{item.place}, {shorten(k)}", v, found) for k, v in persons.items())
        text = item.value.get("caption")
        said = [Caption(text.strip())] if isinstance(text, str) and text.strip() and _is_short(text) else []
        if text is not None and not said:
            refused.append((item.place, "bad_text", f"the caption is no text that can be stored, but {kind_of(text)}"))
        refused += [r for k, v in persons.items() for r in _unread(f"{item.place}, {shorten(k)}", v)]
        left = {name: text for v in persons.values() for name, text in _unplaced(v).items()}
        return Boxed(found, boxes, (), refused, item.read, said, left)

    def _picture(self, item: _Image) -> Picture | Refusal:
        key = self._home.pictures.find(item.name, item.split or "")
        key = key or self._home.pictures.find(f"{item.split}/{posixpath.basename(item.name)}")
        if key is not None:
            found = self._home.look(key)
            return (
                found if isinstance(found, tuple) else replace(found.picture, split=item.split or found.picture.split)
            )
        if relative_name(item.name) is None:
            return item.place, "bad_file_name", f"its name must be a plain relative name, not {shorten(item.name)}"
        return Picture(item.name, item.name, item.place, None, None, item.split)

    def _box(self, place: str, person: Any, picture: Picture) -> Box | Refusal:
        region = person.get("region") if isinstance(person, dict) else None
        if not isinstance(region, list) or len(region) != 4 or not all(map(is_number, region)):
            return place, "bad_box", f"a region of two corners is needed, not {kind_of(region)}"
        corners = [float(c) for c in region]
        labels = [*self._labels(person.get("annotations")), *self._home.labels(self._home.kept(_unplaced(person)))]
        return self._home.box(place, _CATEGORY, corners, (picture.width, picture.height), labels=labels)

    def _labels(self, found: Any) -> Iterator[Label]:
        """Yield what annotators answered: of each of a list, or of an object what they agreed on."""
        for answers in found if isinstance(found, list) else [found]:
            if isinstance(answers, dict):
                texts = {k: _answer(v) for k, v in answers.items() if _fits(k)}
                worker = (_answer(answers.get("worker")) or "").strip()
                for label in self._home.labels((k, v) for k, v in texts.items() if k != "worker"):
                    yield replace(label, annotator=worker or label.annotator)


def _unplaced(person: Any) -> Unplaced:
    """Return what is said of a person that has no place."""
    said = person.items() if isinstance(person, dict) else ()
    return {f"region.{name}": _answer(value) for name, value in said if name not in _OF_PERSONS and _fits(name)}


def _answer(value: Any) -> str | None:
    """Return an answer as a text; a number is one as it is written, and ``None`` what is neither, or cannot be stored.

    Example:
        >>> _answer("adult"), _answer(30), _answer([30]), _answer(True)
        ('adult', '30', None, None)
    """
    text = str(value) if is_number(value) else value
    return text if isinstance(text, str) and _fits(text) else None


def _unread(place: str, person: Any) -> Iterator[Refusal]:
    """Yield why answers were not taken, by what they are: messages are open, and answers may be closed."""
    found = person.get("annotations") if isinstance(person, dict) else None
    for answers in found if isinstance(found, list) else [found]:
        if not isinstance(answers, (dict, NoneType)):
            yield place, "bad_item", f"an object of answers was expected, not {kind_of(answers)}"
        for name, value in answers.items() if isinstance(answers, dict) else ():
            if value is not None and (not _fits(name) or _answer(value) is None):
                yield (
                    place,
                    "bad_text",
                    f"an answer must be a short text or a number that can be stored, not {kind_of(value)}",
                )


def _fits(text: str) -> bool:
    return len(text) <= MAX_KEY and is_utf8(text)


def _is_short(text: str) -> bool:
    return len(text) <= MAX_TEXT and is_utf8(text)

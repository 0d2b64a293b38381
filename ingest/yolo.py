"""Folders for YOLO, as Ultralytics, Roboflow and labelImg write them: a text file of boxes beside each picture.

A line is a class and four fractions of the picture as it is seen (centre, width, height), then perhaps the points of a pose
(``kpt_shape`` of the YAML file says how many) and a score; or a class and the corners of a polygon, whose bounding box is taken.
The names of the classes stand in a YAML file (``names``), or a line
each in ``classes.txt`` or ``obj.names``. The label of ``images/a.jpg`` is ``labels/a.txt``, else the one beside the picture; a
picture without one has no boxes. Splits are those of the YAML file, else of the folders' names.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.ingest.boxed import HOMELESS, Boxed, Home, number, sorted_out
from counterbalance.ingest.compression import read_head
from counterbalance.ingest.rows import shorten
from counterbalance.ingest.validate import is_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterbalance.engine.images import Header
    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.boxed import Refusal
    from counterbalance.ingest.files import File
    from counterbalance.ingest.picture_rows import Box

_YAML: Final = (".yaml", ".yml")
_LISTS: Final = ("classes.txt", "obj.names", "_darknet.labels")
_NAMES: Final = re.compile(rb"^names[ \t]*:", re.MULTILINE)
_LINE: Final = re.compile(rb"(\xef\xbb\xbf)?\s*\d+(\.0*)?([ \t]+[-+.\deE]+){4,}[ \t]*([\r\n]|$)")
_LARGEST_LINE: Final = 4096
_LARGEST: Final = 1 << 20
"""Bytes of a file of names."""
_LARGEST_LABELS: Final = 16 << 20
_LOOKED_AT: Final = 5
_SPLITS: Final = ("train", "val", "test")
_IMAGES: Final = re.compile(r"(^|.*/)images/")
_BOX: Final = 4
_PLANE: Final = 2
_VISIBLE: Final = 2
"""Visibility that COCO gives a point that is seen; a point that says nothing of it is taken for seen."""
_ROUNDED: Final = 0.01


def names_of(files: Sequence[File]) -> File | None:
    """Return the file that names the classes, if one does: the YAML file nearest to the root, else a list."""
    near = sorted(files, key=lambda f: (f.path.count("/"), f.path))
    for file in near:
        if file.name.lower().endswith(_YAML) and _NAMES.search(read_head(file, _LARGEST)[0]):
            return file
    return next((f for f in near if f.name in _LISTS), None)


def are_labels(files: Sequence[File], most: int) -> bool:
    """Return whether one of the first text files that hold something holds boxes."""
    texts = [f for f in files if f.name.lower().endswith(".txt") and f.name not in _LISTS and f.size]
    return any(_LINE.match(read_head(f, _LARGEST_LINE)[0]) for f in texts[:most])


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images`` and ``detections``.

    Args:
        uri: The folder, or its YAML file.
        options: ``split`` of all, ``images`` (folder of the pictures, if it is another), ``store_images`` (default false),
            ``origin`` of the boxes (default ``"human"``, or ``annotator`` where they have scores), ``limit`` (pictures).

    Raises:
        NotFoundError: If there is nothing.
        RequestError: If a column mapping is asked for (``E3006``).
        SourceError: If there are no pictures (``E4010``), or the names of the classes are not to be found (``E4025``).

    Source:
        https://docs.ultralytics.com/datasets/detect/
    """
    home = Home(uri, options)
    home.is_folder = True
    notes: list[str] = []
    if not home.pictures.by_key:
        hint = "boxes are fractions of pictures: name the folder that holds both, or that of the pictures with --images"
        raise SourceError(f"{uri} holds no pictures, and their sizes are needed", code="E4010", hint=hint)
    file = names_of(list(home.files.by_key.values()))
    if file is None:
        why = f"no file tells the names of the classes: a YAML file with names, or {_LISTS[0]}"
        raise _nameless(uri, why + "; links that lead out of the folder are not read" * home.has_links_out)
    about = _about(file)
    reader = _Reader(home, _names(file.uri, about), about, notes)
    return home.source("yolo", reader.items(), reader.look, [file], notes, keeps=False)


def _nameless(uri: str, why: str) -> SourceError:
    hint = "write data.yaml with 'names: [person, dog]' into the folder, in the order of the classes' numbers"
    return SourceError(f"{uri}: {why}", code="E4025", hint=hint)


def _about(file: File) -> dict[str, Any]:
    """Return what a YAML file says, or the names of a list.

    Raises:
        SourceError: It cannot be read (``E4025``).
    """
    data = file.read(_LARGEST)
    try:
        if not file.name.lower().endswith(_YAML):
            return {"names": [line.strip() for line in data.decode("utf-8-sig").rstrip().splitlines()]}
        found = _texts(data)
    except Exception as error:  # what a loader raises is of no common kind
        what = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise _nameless(file.uri, f"it is not read as text of its kind: {what[:200]}") from error
    return found if isinstance(found, dict) else {}


def _texts(data: bytes) -> Any:
    """Return a document of YAML as texts, lists and objects; one with aliases, which multiply, or tags raises."""
    import yaml

    for event in yaml.parse(data, Loader=yaml.BaseLoader):
        if getattr(event, "anchor", None) or getattr(event, "tag", None):
            why = f"anchors, aliases and tags (&, *, !) are refused, as at line {event.start_mark.line + 1:,}"
            raise ValueError(why)
    return yaml.load(data, Loader=yaml.BaseLoader)  # noqa: S506 - it makes nothing but texts, lists and objects


def _names(uri: str, about: Mapping[str, Any]) -> dict[int, str]:
    """Return names of classes by number.

    Raises:
        SourceError: They are no list, nor an object of numbers and texts (``E4025``).
    """
    names = about.get("names")
    pairs = (
        list(enumerate(names)) if isinstance(names, list) else list(names.items()) if isinstance(names, dict) else []
    )
    found = {
        int(k): v for k, v in pairs if str(k).isascii() and str(k).isdigit() and len(str(k)) <= 9 and isinstance(v, str)
    }
    if not found or len(found) < len(pairs) or not all(v.strip() and is_utf8(v) for v in found.values()):
        raise _nameless(uri, f"names must be a list of texts, or numbers with a text each, not {shorten(pairs[:5])}")
    return found


class _Reader:
    """Read the labels of pictures; what it holds does not change while it reads, so threads may share it."""

    def __init__(self, home: Home, names: Mapping[int, str], about: Mapping[str, Any], notes: list[str]) -> None:
        self._home, self._names, self._notes = home, names, notes
        self._has_points = isinstance(about.get("kpt_shape"), list)
        self._points = _shape(about["kpt_shape"]) if self._has_points else None
        if self._has_points and self._points is None:
            why = f"kpt_shape is not their number and 2 or 3, but {shorten(about['kpt_shape'])}"
            notes.append(f"left out: the keypoints of poses, for {why}; their boxes are taken")
        self._splits = dict(self._listed(about, notes))
        texts = [k for k in home.files.by_key if k.lower().endswith(".txt")]
        self._texts = {posixpath.splitext(k)[0]: k for k in texts}
        self._label_of = {k: self._label(k) for k in home.pictures.by_key}

    def _listed(self, about: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, str]]:
        """Yield folders or pictures and the split that the YAML file says they are of."""
        for split in _SPLITS:
            entries = about.get(split)
            for entry in entries if isinstance(entries, list) else [entries]:
                path = _within(entry, about.get("path"), self._home)
                if path is None:
                    continue
                if not path.endswith(".txt"):
                    yield path, split
                    continue
                try:
                    lines = self._home.files.by_key[path].read(_LARGEST_LABELS).decode("utf-8", "replace").splitlines()
                except CounterbalanceError as error:
                    notes.append(f"the list of {split} is not read: {error.message}")
                    continue
                yield from ((key, split) for line in lines if (key := self._home.pictures.find(_plain(line.strip()))))

    def _label(self, key: str) -> str | None:
        """Return the text file that holds the boxes of a picture."""
        stem = posixpath.splitext(key)[0]
        paired = _IMAGES.sub(r"\1labels/", stem, count=1)
        found = next((self._texts[p] for p in (paired, stem) if p in self._texts), None)
        if found is None and self._home.options.images is not None:
            found = self._home.files.find(f"{posixpath.basename(stem)}.txt", f"{paired}.txt")
        return found

    def items(self) -> Iterator[tuple[str | None, str | None]]:
        """Yield pictures with their labels, then labels without a picture."""
        yield from self._label_of.items()
        others: dict[str, list[str]] = {}
        for text in sorted(set(self._texts.values()) - set(self._label_of.values())):
            folder = posixpath.dirname(text)
            if "labels" in folder.split("/"):
                yield None, text
            else:
                others.setdefault(folder, []).append(text)
        for folder, texts in others.items():
            if are_labels([self._home.files.by_key[t] for t in texts], _LOOKED_AT):
                shown = f"{len(texts):,} files of boxes, such as {texts[0]}" if len(texts) > 1 else texts[0]
                where = "beside their pictures, or in 'labels' as the pictures are in 'images'"
                self._notes.append(f"left out: {shown} in {folder or '.'}, for files of boxes must lie {where}")

    def look(self, item: tuple[str | None, str | None]) -> Boxed:
        """Return a picture with its boxes. Called in threads."""
        key, label = item
        if key is None:
            return Boxed(None, refused=[(str(label), "missing_image", "no picture of this file of boxes was found")])
        found = self._home.look(key)
        size = self._home.pictures.by_key[key].size or 0
        if isinstance(found, tuple):
            return Boxed(None, refused=[found, *([(label, *HOMELESS)] if label is not None else [])], bytes_read=size)
        boxes, refused = sorted_out(self._boxes(label, found.header)) if label is not None else ([], [])
        return Boxed(replace(found.picture, split=self._split(key)), boxes, (), refused, size)

    def _split(self, key: str) -> str | None:
        if self._home.options.split is None and self._splits:
            parts = key.split("/")
            for end in range(len(parts), 0, -1):
                if (found := self._splits.get("/".join(parts[:end]))) is not None:
                    return found
        return self._home.split(key)

    def _boxes(self, label: str, header: Header) -> Iterator[Box | Refusal]:
        try:
            lines = self._home.files.by_key[label].read(_LARGEST_LABELS).decode("utf-8-sig").splitlines()
        except UnicodeDecodeError:
            yield label, "bad_utf8", "the file of boxes is not UTF-8"
            return
        except CounterbalanceError as error:
            yield label, "unreadable", error.message
            return
        for count, line in enumerate(lines, 1):
            if cells := line.split():
                yield self._box(f"{label}: line {count}", cells, header)

    def _box(self, place: str, cells: Sequence[str], header: Header) -> Box | Refusal:
        values = [number(c) for c in cells]
        corners, score = self._parted(values[1:])
        if corners is None or not all(map(_is_fraction, values[1 : 1 + _BOX])):
            wanted = "a class and four fractions of the picture, or the corners of a polygon"
            return place, "bad_box", f"{wanted} are needed, not {shorten(' '.join(cells))}"
        if score is not None and not 0 <= score <= 1:
            return place, "bad_score", f"the score must be in [0, 1], not {score:g}"
        category = self._names.get(int(values[0])) if values[0] == values[0] // 1 else None
        if category is None:
            return place, "unknown_category", f"no class has the number {shorten(cells[0])}"
        size = header.width, header.height
        pixels = _stored(corners, header.orientation)
        scaled = [p * size[i % 2] for i, p in enumerate(pixels)]
        points = self._pose(values[1 + _BOX :], header)
        if isinstance(points, str):
            return place, "bad_keypoints", points
        return self._home.box(place, category, scaled, size, score=score, keypoints=points)

    def _pose(self, values: Sequence[float], header: Header) -> list[float] | str | None:
        """Return the points of a pose as COCO has them (x, y, visibility, …), in pixels; why it will not do; ``None`` without one."""
        if self._points is None or len(values) <= 1:
            return None
        count, parts = self._points
        if len(values) - count * parts not in {0, 1}:
            return f"{count} points of {parts} numbers are needed after the box, not {len(values)} numbers"
        found: list[float] = []
        for at in range(0, count * parts, parts):
            x, y, seen = (*values[at : at + parts], _VISIBLE)[:3]
            if seen == 0 or (parts == _PLANE and (min(x, y) < 0 or x == y == 0)):
                found += (0.0, 0.0, 0.0)  # a point that nobody marked
                continue
            if not (_is_fraction(x) and _is_fraction(y) and 0 < seen <= _VISIBLE):
                return f"a point is two fractions of the picture and 0, 1 or 2, not {shorten([x, y, seen])}"
            x, y = _stored((x, y, x, y), header.orientation)[:2]
            found += (x * header.width, y * header.height, seen)
        return found

    def _parted(self, values: Sequence[float]) -> tuple[Sequence[float] | None, float | None]:
        """Return two corners and the score of what follows the class; ``None`` where it is no box."""
        if len(values) > _BOX + 1 and not self._has_points:
            score = values[-1] if len(values) % 2 else None
            points = values[:-1] if len(values) % 2 else values
            across, down = points[::2], points[1::2]
            if not all(map(_is_fraction, points)):
                return None, None
            return (min(across), min(down), max(across), max(down)), score
        if len(values) < _BOX:
            return None, None
        x, y, width, height = values[:_BOX]
        of_pose = self._points[0] * self._points[1] if self._points is not None else 0
        score = values[-1] if len(values) in {_BOX + 1, _BOX + of_pose + 1} else None
        return (x - width / 2, y - height / 2, x + width / 2, y + height / 2), score


def _shape(told: Sequence[object]) -> tuple[int, int] | None:
    """Return how many points a pose has, and how many numbers a point.

    Example:
        >>> _shape(["17", "3"]), _shape(["17"]), _shape(["17", "4"])
        ((17, 3), None, None)
    """
    if len(told) != _PLANE or not all(isinstance(t, str) and t.isascii() and t.isdigit() and len(t) <= 4 for t in told):
        return None
    count, parts = (int(str(t)) for t in told)
    return (count, parts) if count and parts in {_PLANE, _PLANE + 1} else None


def _stored(corners: Sequence[float], orientation: int) -> tuple[float, float, float, float]:
    """Return a box of the picture as it is seen as one of the picture as it is stored: EXIF may have it turned.

    Example:
        >>> _stored((0, 0, 0.25, 0.5), 3)
        (0.75, 0.5, 1, 1)
    """
    left, top, right, bottom = corners
    if orientation in {5, 6, 7, 8}:
        left, top, right, bottom = top, left, bottom, right
    if orientation in {2, 3, 7, 8}:
        left, right = 1 - right, 1 - left
    if orientation in {3, 4, 6, 7}:
        top, bottom = 1 - bottom, 1 - top
    return left, top, right, bottom


def _is_fraction(value: float) -> bool:
    """Return whether a number is one of the fractions that Ultralytics takes: some are a little rounded."""
    return -_ROUNDED <= value <= 1 + _ROUNDED


def _plain(path: str) -> str:
    """Return a path without what leads up or to the root: lists name pictures as the machine had them that wrote them."""
    return "/".join(p for p in path.replace("\\", "/").split("/") if p not in {"", ".", ".."})


def _within(entry: object, path: object, home: Home) -> str | None:
    """Return what a split of the YAML file names, if it is there: below ``path``, or below the folder itself."""
    if not isinstance(entry, str) or not entry.strip():
        return None
    inside = _plain(entry)
    below = f"{_plain(path)}/{inside}" if isinstance(path, str) else inside
    known = home.pictures.by_key
    for name in dict.fromkeys((below, inside)):
        if name in home.files.by_key or any(k.startswith(f"{name}/") for k in known):
            return name
    return None

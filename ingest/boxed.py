"""Pictures with boxes as labelling tools leave them: annotations in files of their own, and the pictures beside them.

All that these formats share: which picture a name means, its size by its header, boxes that must lie in it, labels of boxes.
The key of an image is its path within the folder, as for imagefolder; where the picture is not there, what the annotation
calls it. A box may reach a pixel beyond its picture, as in COCO; one that reaches further is refused.
"""

from __future__ import annotations

import math
import posixpath
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeVar

from counterbalance.engine.errors import RequestError
from counterbalance.engine.images import EXTENSIONS, OTHER_PICTURES
from counterbalance.ingest import columns, detections, hashing, ignored_options, imagefolder
from counterbalance.ingest.files import expand, file_system, leads_out, picture_folder, source_of
from counterbalance.ingest.globs import split_commas
from counterbalance.ingest.lookahead import looked_ahead
from counterbalance.ingest.name_parts import is_split
from counterbalance.ingest.picture_rows import Box, Caption, Label, Picture, PictureRows
from counterbalance.ingest.rows import MAX_KEY, shorten
from counterbalance.ingest.validate import FRAME_TOLERANCE, MAX_COORDINATE
from counterbalance.ingest.xmlstream import outermost

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from counterbalance.engine.images import Header
    from counterbalance.engine.ingest_types import Chunk, ReadOptions, Source
    from counterbalance.ingest.files import File

Refusal = tuple[str, str, str]
"""Place, code and message."""
Unplaced = Mapping[str, str | None]
"""Names of what has no place, with its text; ``None`` where it is more than one text."""
_LONG: Final = ("too_long", f"a class, an attribute or its value has more than {MAX_KEY:,} bytes")
HOMELESS: Final = ("missing_image", "the picture of these boxes was refused")
_KINDS: Final = frozenset({"Annotations", "JPEGImages", "images"})
"""Folders that part pictures from their annotations; those below them are the same in both."""
_TEXTS: Final = (".txt", ".xml", ".json", ".yaml", ".yml", ".names", ".labels")
"""Endings of files with annotations and names; no link may lead to one out of the folder."""
_MOST_NAMES: Final = 1_000
"""So many names of what has no place are gathered."""
_OF_PERSONS: Final = {n: a for a, names in detections.ATTRIBUTES.items() for n in (a, *names) if a != "caption"}


Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Looked:
    """A picture that was looked at, and its header."""

    picture: Picture
    header: Header


@dataclass(frozen=True, slots=True)
class Boxed:
    """Result of an item: a picture with its boxes, labels and captions, what was refused, and what has no place."""

    picture: Picture | None
    boxes: Sequence[Box] = ()
    labels: Sequence[Label] = ()
    refused: Sequence[Refusal] = ()
    bytes_read: int = 0
    captions: Sequence[Caption] = ()
    left_out: Unplaced = field(default_factory=dict)


class Files:
    """The files below a folder, by path, name and name without ending.

    Args:
        root: Path of the folder.
        files: The files.
    """

    def __init__(self, root: str, files: Iterable[File]) -> None:
        self._root = root
        self.by_key: dict[str, File] = {self.key(f): f for f in files}
        self._by_name: dict[str, list[str]] = defaultdict(list)
        for key in self.by_key:
            name = posixpath.basename(key)
            for known in {name, posixpath.splitext(name)[0]}:
                self._by_name[known].append(key)

    def key(self, file: File) -> str:
        """Return a file's path within the folder."""
        return file.path.removeprefix(self._root).lstrip("/")

    def find(self, name: str, near: str = "") -> str | None:
        """Return the key of the file that a name or path means; of several, the one that ends as the path, or lies nearest.

        Args:
            name: A path or file name, with or without its ending.
            near: A path of the folder; of several that are as near nothing is found.
        """
        if name in self.by_key:
            return name
        keys = self.named(name)
        keys = [k for k in keys if f"/{k}".endswith(f"/{name}")] or keys
        keys = [k for k in keys if place_of(k) == place_of(near)] or keys
        if len(keys) > 1:
            shared = [len(posixpath.commonpath([k, near])) for k in keys]
            keys = [k for k, n in zip(keys, shared, strict=True) if n == max(shared)]
        return keys[0] if len(keys) == 1 else None

    def named(self, name: str) -> list[str]:
        """Return the keys of all files that are called as the last part of a name, with or without its ending."""
        return self._by_name.get(posixpath.basename(name), [])


class Home:
    """The folder that a source is, and the pictures in it, or in the folder that was named for them.

    Args:
        uri: The source: a folder, or files of it.
        options: As for a reader.
        inside: Names of folders of annotations: where one is named, the folder above it is meant.
        bare: Files whose names have no ending count as pictures, too.

    Raises:
        NotFoundError: If there is nothing (``E1006``).
        RequestError: If a mapping of columns is asked for (``E3006``).
    """

    def __init__(self, uri: str, options: ReadOptions, *, inside: Sequence[str] = (), bare: bool = False) -> None:
        if options.mapping:
            raise RequestError("files of labelling tools have no columns to map", code="E3006", hint="leave out --map")
        self.options, self.uri = options, uri
        self._met, self._strange = set[str](), list[str]()
        fs, path = file_system(uri, options.storage_options)
        first = uri if fs.exists(path) else next(iter(split_commas(uri)), uri)
        root = imagefolder.root_of(first, options).rstrip("/")
        if posixpath.basename(root) in inside:
            root = posixpath.dirname(root)
        self.is_folder = bool(fs.isdir(path))
        found = expand(self._named(first, root), options.storage_options, recursive=True)
        shown = [f for f in found if "/." not in f.path.removeprefix(root)]
        texts = [f for f in shown if self.is_folder and f.name.lower().endswith(_TEXTS)]
        self._outside = {f.uri: f for f in texts if leads_out(f, [root])}
        self.files = Files(root, [f for f in shown if f.uri not in self._outside])
        self._homes, self.named = [root], picture_folder(self._named(first, root), options.storage_options)
        self.pictures = self.files
        if options.images is not None:
            fs, path = file_system(options.images, options.storage_options)
            self._homes = [str(path).rstrip("/")]
            self.named = picture_folder(options.images, options.storage_options)
            self.pictures = Files(self._homes[0], expand(options.images, options.storage_options, recursive=True))
        known = self.pictures.by_key.values()
        self.pictures = Files(self._homes[0], [f for f in known if _is_picture(f) or (bare and "." not in f.name)])

    def _named(self, uri: str, root: str) -> str:
        """Return the folder as its file system is named."""
        protocol, colon, _ = uri.partition("://")
        return f"{protocol}://{root}" if colon else root

    @property
    def has_links_out(self) -> bool:
        """Return whether links to files with annotations or names lead out of the folder."""
        return bool(self._outside)

    def documents(self, ending: str) -> list[File]:
        """Return the files of the source with an ending."""
        found = expand(self.uri, self.options.storage_options, recursive=True)
        return [f for f in found if f.name.lower().endswith(ending) and f.uri not in self._outside]

    def leaves_out(self, file: File, root: str, head: bytes) -> bool:
        """Return whether a file of a folder is XML of another kind, and note so; it may be called in threads."""
        strange = self.is_folder and outermost(head) not in {root, None}
        if strange:
            self._strange.append(file.name)
        return strange

    def look(self, key: str) -> Looked | Refusal:
        """Return the picture of a key, or why it is refused; it may be called in threads."""
        file = self.pictures.by_key[key]
        self._met.add(key)
        found = imagefolder.look(file, key, self._homes, store=bool(self.options.store_images))
        if isinstance(found, tuple):
            return found
        size = found.header.width, found.header.height
        picture = Picture(key, file.uri, key, *size, self.split(key), sha256=found.digest, image=found.data)
        return Looked(picture, found.header)

    def _alone(self, key: str) -> Boxed:
        """Return a picture that no annotation means; it may be called in threads."""
        found, size = self.look(key), self.pictures.by_key[key].size or 0
        return (
            Boxed(None, refused=[found], bytes_read=size)
            if isinstance(found, tuple)
            else Boxed(found.picture, bytes_read=size)
        )

    def unsure(self, name: str) -> str:
        """Return why no picture is known to be the one of a name; empty where the folder has none that is called so."""
        keys = self.pictures.named(name)
        return f"{shorten(name)} may be {len(keys):,} pictures, such as {shorten(keys[0])}" if keys else ""

    def split(self, key: str) -> str | None:
        """Return the split that was asked for, or that a folder on the way to a picture is called."""
        return self.options.split or next((p for p in key.split("/")[:-1] if is_split(p)), None)

    def box(
        self,
        place: str,
        category: str | None,
        corners: Sequence[float],
        size: tuple[float | None, float | None],
        **more: object,
    ) -> Box | Refusal:
        """Return a box by its two corners in pixels, or why it is refused."""
        left, top, right, bottom = corners
        shown = shorten([float(round(c, 2)) if math.isfinite(c) else c for c in corners])
        if not category:
            return place, "missing_category", "the box has no class"
        labels: Sequence[Label] = more.get("labels", ())  # type: ignore[assignment]
        if not (_is_short(category) and all(map(_fits, labels))):
            return place, *_LONG
        if not all(abs(c) <= MAX_COORDINATE for c in corners):
            return place, "bad_box", f"not all of the box are finite numbers of pixels: {shown}"
        if right < left or bottom < top:
            return place, "bad_box", f"negative width or height: {shown}"
        width, height = (math.inf if s is None else s for s in size)
        if min(left, top) < -FRAME_TOLERANCE or right > width + FRAME_TOLERANCE or bottom > height + FRAME_TOLERANCE:
            return place, "bad_box", f"the corners {shown} reach out of the picture of {width:g} x {height:g}"
        score = more.get("score")
        origin = self.options.origin or ("human" if score is None else self.options.annotator)
        return Box(place, category, left, top, right - left, bottom - top, origin=origin, **more)  # type: ignore[arg-type]

    def labels(self, pairs: Iterable[tuple[str | None, str | None]]) -> list[Label]:
        """Return labels of attributes and values; those of persons go by their names here, in lower case."""
        found = {}
        for attribute, value in pairs:
            if attribute and attribute.strip() and value and value.strip():
                known = _OF_PERSONS.get(columns.plain(attribute))
                found[known or attribute.strip()] = value.strip().lower() if known else value.strip()
        return [Label(a, v, self.options.annotator or "source") for a, v in found.items()]

    def kept(self, said: Unplaced) -> Iterator[tuple[str, str | None]]:
        """Yield what is to be kept though it has no place, as attributes and values; of ``object.hue`` the attribute is ``hue``."""
        return ((name.rpartition(".")[2], text) for name, text in said.items() if name in self.options.keep)

    def source(
        self,
        format_: str,
        items: Iterable[Item],
        look: Callable[[Item], Boxed],
        files: Sequence[File],
        notes: list[str],
        *,
        keeps: bool = True,
    ) -> Source:
        """Return the source of some items: a picture each, or none.

        Args:
            format_: Name of the format.
            items: Taken lazily.
            look: Called once an item, in threads.
            files: Of annotations.
            notes: What a person should know.
            keeps: Items may say what has no place.
        """
        pictures = list(self.pictures.by_key.values()) if self.is_folder else []
        notes[:0] = ignored_options.describe(format_, self.options, *["keep"] * (not keeps))
        named = [*files, *(f for f in pictures if f.uri not in {g.uri for g in files})]
        return replace(source_of(self.uri, named, self._chunks(items, look, notes), notes), pictures=self.named)

    def _others(self) -> Iterator[Boxed]:
        """Yield the pictures of the folder that nothing has met so far."""
        if self.is_folder and self.options.images is None:
            others = (k for k in self.pictures.by_key if k not in self._met)
            yield from (found for _, found in looked_ahead(others, self._alone))

    def _chunks(self, items: Iterable[Item], look: Callable[[Item], Boxed], notes: list[str]) -> Iterator[Chunk]:
        rows = PictureRows(self.uri, self.uri, self.options.origin or "human", hashing.Seen(), again=True)
        for file in self._outside.values():
            rows.refuse(self.files.key(file), *imagefolder.OUT)
        done, taken, left = 0, set[str](), dict[str, str | None]()
        for found in chain((f for _, f in looked_ahead(items, look)), self._others()):
            for refusal in found.refused:
                rows.refuse(*refusal)
            if found.picture is not None:
                labels = [label for label in found.labels if _fits(label)]
                if len(labels) < len(found.labels):
                    rows.refuse(found.picture.place, *_LONG)
                rows.add(found.picture, found.captions, labels, found.boxes)
                taken.add(found.picture.key)
                if len(left) < _MOST_NAMES:
                    left |= {n: text for n, text in found.left_out.items() if left.get(n) is None}
            done += found.bytes_read
            if rows.full:
                yield rows.flush(done)
                done = 0
            if len(taken) == self.options.limit:
                break
        if self._strange:
            shown = ", ".join(sorted(self._strange)[:3]) + ", …" * (len(self._strange) > 3)
            notes.append(f"not read with the others, as their outermost elements are called otherwise: {shown}")
        lists = sorted(name for name, text in left.items() if text is None)
        notes += columns.left_out(sorted(left.keys() - {*self.options.keep, *lists}), lists, as_json=False)
        notes += [f"--keep {name}: nothing is called so" for name in self.options.keep if name not in left]
        yield rows.flush(done)


def place_of(path: str) -> list[str]:
    """Return the folders of a path without those that part pictures from annotations: a pair of both has the same.

    Example:
        >>> place_of("VOC2012/Annotations/x/1.xml") == place_of("VOC2012/JPEGImages/x/1.jpg")
        True
    """
    return [p for p in path.split("/")[:-1] if p not in _KINDS]


def sorted_out(found: Iterable[Box | Refusal]) -> tuple[list[Box], list[Refusal]]:
    """Return boxes, and what was refused, apart."""
    boxes: list[Box] = []
    refused: list[Refusal] = []
    for one in found:
        if isinstance(one, Box):
            boxes.append(one)
        else:
            refused.append(one)
    return boxes, refused


def number(text: object) -> float:
    """Return a number that is written as text; NaN where it is none.

    Example:
        >>> number(" 1.5"), number(None), number("1_0")
        (1.5, nan, nan)
    """
    try:
        return float(text) if isinstance(text, str) and "_" not in text else math.nan
    except ValueError:
        return math.nan


def _fits(label: Label) -> bool:
    return _is_short(label.attribute) and _is_short(label.value)


def _is_short(text: str) -> bool:
    return len(text.encode()) <= MAX_KEY


def _is_picture(file: File) -> bool:
    return file.name.lower().rpartition(".")[2] in EXTENSIONS | OTHER_PICTURES

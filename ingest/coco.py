"""Read COCO annotation files: captions, instances, person keypoints, or all in one.

A source is a file, a folder (its ``annotations/`` first), a glob, or several with commas and braces. What a file holds
shows in its annotations: ``caption`` makes rows of ``captions``; ``bbox`` with ``category_id`` makes rows of
``detections``, with ``keypoints`` where they are. The split is told by the file's name (``captions_val2017.json``).
Files are streamed and read once, except where ``annotations`` come before ``images`` or ``categories`` stand in the
middle; then twice. Members that have no place are told, and those of images and boxes stored as labels of these where
``keep`` names them: ``photographer``, ``annotations.occluded``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import NotFoundError, RequestError, SourceError, did_you_mean
from counterbalance.ingest import coco_pictures, coco_rows, columns
from counterbalance.ingest.chunking import Piece, merge_pieces
from counterbalance.ingest.coco_document import Document, check
from counterbalance.ingest.coco_rows import FileContext, Frames
from counterbalance.ingest.files import expand, picture_folder, source_of
from counterbalance.ingest.jsonstream import WINDOW
from counterbalance.ingest.members import Members, chosen
from counterbalance.ingest.validate import ObjectSieve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterbalance.engine.ingest_types import Chunk, ReadOptions, Reject, Source
    from counterbalance.ingest.files import File
    from counterbalance.ingest.jsonstream import Items
    from counterbalance.ingest.validate import Ints

SUFFIXES: Final = (".json",)
_PREFIX: Final = "annotations."
_BOX: Final = frozenset({"bbox", "category_id"})
_OF_IMAGES: Final = ("id", "file_name", "width", "height", "license")
_OF_ANNOTATIONS: Final = (
    *("id", "image_id", "caption", *_BOX, "area", "iscrowd", "segmentation", "score"),
    *("keypoints", "num_keypoints"),
)
_KIND_NAMES: Final = "captions|instances|person_keypoints|keypoints|stuff|image_info|annotations|panoptic|lvis_v[0-9.]+"
_PREFIXED: Final = re.compile(rf"(?:{_KIND_NAMES})_(.+)", re.IGNORECASE)
_SPLIT_WORD: Final = re.compile(
    r"(?:^|[^a-z0-9])((?:train|val|valid|validation|test|dev|minival|unlabeled)[0-9]*(?:-[a-z0-9]+)?)(?:$|[^a-z0-9])",
    re.IGNORECASE,
)


def read(uri: str, options: ReadOptions, *, window: int = WINDOW) -> Source:
    """Open COCO files; both ends of each are looked at here, the rest when the chunks are taken.

    Args:
        uri: A path or fsspec URI of a file, folder or glob; commas and braces for several.
        options: ``split`` names the split of a single file, and picks from several; ``images`` is the folder that
            ``file_name`` is joined to (or its sub-folder of the split's name, where there is one); ``keep`` names members
            of images, and of boxes with ``annotations.`` before, to store as labels by ``annotator``.
        window: Bytes of JSON parsed at once.

    Returns:
        ``images`` before the ``captions`` and ``detections`` of each file. The same image comes again with every file
        that lists it.

    Raises:
        NotFoundError: If nothing is there, or no file of that split (``E1006``); the chunks raise it for a name in ``keep``
            that the first images, or the first boxes, of a file do not have (``E1002``).
        SourceError: If a file is packed, empty, cut short, HTML … (``E4020``, ``E4021``); the chunks raise it, too, for
            what only reading shows (``E4021`` to ``E4023``).
        RequestError: If ``options`` ask for what this format does not have (``E3001``), or to store pictures of a folder
            that is not named (``E3002``).

    Source:
        Lin et al., Microsoft COCO: Common Objects in Context, 2014; https://cocodataset.org/#format-data
    """
    if options.mapping:
        hint = "leave out --map; the fields of COCO have fixed names"
        raise RequestError("COCO files take no column mapping", code="E3001", hint=hint)
    chosen = pick_split(expand(uri, options.storage_options, SUFFIXES, inside=("annotations",)), options.split)
    bases = {split: coco_pictures.folder(options, split) for _, split in chosen}
    for file, _ in chosen:
        check(file)
    files, notes = [file for file, _ in chosen], list[str]()
    chunks = _chunks([(file, split, bases[split]) for file, split in chosen], options, window, notes)
    named = picture_folder(options.images, options.storage_options) if options.images else []
    return replace(source_of(uri, files, chunks, notes), pictures=named)


def _chunks(
    files: Sequence[tuple[File, str | None, str | None]], options: ReadOptions, window: int, notes: list[str]
) -> Iterator[Chunk]:
    limit, stored, looked = _Limit(options.limit), set[int](), coco_pictures.Looked(options)
    left = _LeftOut(Members(_OF_IMAGES if options.images else (*_OF_IMAGES, "coco_url")))
    for file, split, base in files:
        loader = _Loader(Document(file, window), split, base, options, limit, stored, looked, left)
        try:
            yield from merge_pieces(loader.parts(), file.uri)
            left.others.update(loader.document.others)
        except NotFoundError as error:
            if error.code != "E1006":
                raise
            # it was there when the source was opened
            raise SourceError(error.message, code="E4001", hint=error.hint) from error
    notes += looked.notes()
    notes += left.notes()
    if options.keep and not left.kept_of_boxes and (asked := [n for n in options.keep if n.startswith(_PREFIX)]):
        notes.append(f"--keep {asked[0]} keeps nothing: there are no boxes")


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """Members of a source's objects that have no place."""

    images: Members
    boxes: Members = field(default_factory=lambda: Members(_OF_ANNOTATIONS, _PREFIX))
    captions: Members = field(default_factory=lambda: Members(_OF_ANNOTATIONS))
    categories: Members = field(default_factory=lambda: Members(("id", "name")))
    others: set[str] = field(default_factory=set)
    kept_of_boxes: set[str] = field(default_factory=set)

    def notes(self) -> list[str]:
        """Return what they are: those of images and of boxes can be kept."""
        others = {"annotations": self.captions, "categories": self.categories}
        names = [f"{array}.{name}" for array, members in others.items() for name in members.names()]
        lost = columns.cannot_keep("coco", names + sorted(self.others))
        return [*self.images.notes(), *self.boxes.notes(), *lost]


@dataclass(slots=True)
class _Limit:
    """Let the first ``most`` images of a source pass, and what belongs to them; everything if ``most`` is ``None``."""

    most: int | None
    passed: set[int | str] = field(default_factory=set)

    def images(self, items: list[Any], numbers: Ints) -> tuple[list[Any], Ints]:
        """Return those of some images that pass, and their indexes."""
        if self.most is None:
            return items, numbers
        return _where(items, numbers, [self._admits(i) for i in items])

    def _admits(self, image: Any) -> bool:
        key = _key(image, "id")
        if key is not None and len(self.passed) < (self.most or 0):
            self.passed.add(key)
        return key in self.passed if key is not None else len(self.passed) < (self.most or 0)

    def annotations(self, items: list[Any], numbers: Ints) -> tuple[list[Any], Ints]:
        """Return those of some annotations that belong to images that passed, and their indexes."""
        if self.most is None:
            return items, numbers
        return _where(items, numbers, [_key(i, "image_id") in self.passed for i in items])


def _key(item: Any, name: str) -> int | str | None:
    """Return an id as it came, or ``None`` if it is none."""
    key = item.get(name) if isinstance(item, dict) else None
    return key if isinstance(key, (int, str)) and not isinstance(key, bool) else None


def _where(items: list[Any], numbers: Ints, chosen: list[bool]) -> tuple[list[Any], Ints]:
    if all(chosen):
        return items, numbers
    return [i for i, c in zip(items, chosen, strict=True) if c], numbers[np.array(chosen, dtype=bool)]


class _Loader:
    """Read one file."""

    def __init__(
        self,
        document: Document,
        split: str | None,
        base: str | None,
        options: ReadOptions,
        limit: _Limit,
        stored: set[int],
        looked: coco_pictures.Looked,
        left: _LeftOut,
    ) -> None:
        self.document, self.base, self.options, self.limit, self.stored = document, base, options, limit, stored
        self.looked, self.left = looked, left
        self.kept: Sequence[str] | None = None
        self.kept_of_boxes: Sequence[str] | None = None
        self.frames = Frames()
        self.images_from: str | None = None
        self.context = FileContext(document.uri, split, "", {}, base, options.origin, options.annotator)
        self.licenses: Mapping[object, str] | None = None
        self.categories: Mapping[object, str] | None = None

    def parts(self) -> Iterator[Piece]:
        """Yield what the file holds, images before what refers to them."""
        read = 0
        for event in self.document.events():
            if event.name == "annotations":
                yield from self._images_first()
                self._look()
                yield self._annotations(event)
            elif self.images_from != "before":
                self.images_from = "here"
                yield from self._images(event)
            else:
                continue
            read += event.read
        self._look()
        yield Piece(bytes_read=max(0, (self.document.file.size or 0) - read))

    def _look(self) -> None:
        if self.base is not None:
            self.looked.check(self.base, self.document.uri)

    def _images_first(self) -> Iterator[Piece]:
        """Yield all images of the file, if none has come when the first annotation does."""
        if self.images_from is None:
            self.images_from = "before"
            for event in self.document.events():
                if event.name == "images":
                    yield from self._images(replace(event, read=0))

    def _images(self, event: Items) -> Iterator[Piece]:
        items, numbers = self.limit.images(event.items, _numbers(event))
        if not self.context.title:
            self.context = replace(self.context, title=self.document.title())
        if self.licenses is None and any(isinstance(i, dict) and i.get("license") is not None for i in items):
            self.licenses = self.document.licenses()
            self.context = replace(self.context, licenses=self.licenses)
        part, labels = coco_rows.images(self.context, numbers, items, self.frames, event.read, self._kept(items))
        if self.options.store_images and self.base is not None:
            yield from coco_pictures.stored(part, self.context.uri, self.base, self.options, self.stored)
        else:
            if self.base is not None:
                self.looked.add(part, self.base)
            yield part
        yield labels

    def _kept(self, items: list[Any]) -> dict[str, list[str | None]]:
        """Return the members of images that are kept, as texts; the first images of a file must have them."""
        self.left.images.add(items)
        objects = [i if isinstance(i, dict) else {} for i in items]
        if self.kept is None and objects:
            own = [name for name in self.options.keep if not name.startswith(_PREFIX)]
            self.kept = chosen(objects, own, self.document.uri)
        return {name: self.left.images.kept(name, objects) for name in self.kept or ()}

    def _kept_of_boxes(self, items: list[Any]) -> dict[str, list[str | None]]:
        """Return the members of boxes that are kept, as texts; the first boxes of a file must have them."""
        self.left.boxes.add(items)
        if self.kept_of_boxes is None:
            own = [name.removeprefix(_PREFIX) for name in self.options.keep if name.startswith(_PREFIX)]
            self.kept_of_boxes = chosen(items, own, self.document.uri)
            self.left.kept_of_boxes.update(_PREFIX + name for name in self.kept_of_boxes)
        return {name: self.left.boxes.kept(name, items) for name in self.kept_of_boxes}

    def _annotations(self, event: Items) -> Piece:
        items, numbers = self.limit.annotations(event.items, _numbers(event))
        said, boxed = _kinds(items)
        found: dict[str, Any] = {}
        rejects: list[Reject] = []
        if any(said):
            chosen, places = _where(items, numbers, said)
            self.left.captions.add(chosen)
            found["captions"] = coco_rows.captions(self.context, places, chosen)
        if any(boxed):
            chosen, places = _where(items, numbers, boxed)
            if self.categories is None:
                self.categories = self.document.categories(rejects)
                self.left.categories.add(self.document.small("categories"))
            kept = self._kept_of_boxes(chosen)
            *boxes, labels = coco_rows.detections(self.context, places, chosen, self.frames, self.categories, kept)
            found["detections"] = boxes
            labelled, of_labels = labels.tables(), labels.positions()
            found |= {name: (table, of_labels[name], ()) for name, table in labelled.items()}
        entries = len(rejects)
        rejects += self._neither(items, numbers, said, boxed)
        for _, _, refused in found.values():
            rejects += refused
        tables = {name: table for name, (table, _, _) in found.items()}
        places_of = {name: places for name, (_, places, _) in found.items()}
        return Piece(tables, places_of, rejects, len(items) + entries, event.read)

    def _neither(self, items: list[Any], numbers: Ints, said: list[bool], boxed: list[bool]) -> list[Reject]:
        """Return what is not an annotation of a kind that is known here."""
        other = [not (s or b) for s, b in zip(said, boxed, strict=True)]
        if not any(other):
            return []
        chosen, places = _where(items, numbers, other)
        sieve = ObjectSieve(self.context.uri, "annotations", places, chosen)
        sieve.refuse([True] * len(chosen), "bad_item", lambda _: "neither a caption nor a bbox is given")
        return sieve.rejects


def _kinds(items: list[Any]) -> tuple[list[bool], list[bool]]:
    """Return which items are captions, and which are boxes; an empty caption beside a box is none."""
    try:
        shapes = set(map(tuple, items))  # the names of the fields: few different ones
    except TypeError:
        shapes = {()}
    said, boxed = {"caption" in s for s in shapes}, {not _BOX.isdisjoint(s) for s in shapes}
    if len(said) == len(boxed) == 1 and said != boxed:
        return [said.pop()] * len(items), [boxed.pop()] * len(items)
    in_box = [isinstance(i, dict) and not _BOX.isdisjoint(i) for i in items]
    with_text = [
        isinstance(i, dict) and "caption" in i and (i["caption"] or not b) for i, b in zip(items, in_box, strict=True)
    ]
    return list(map(bool, with_text)), in_box


def _numbers(event: Items) -> Ints:
    return np.arange(event.start, event.start + len(event.items), dtype=np.int64)


def split_of(name: str) -> str | None:
    """Return the split in the name of a file, or ``None``.

    Example:
        >>> [split_of(n) for n in ("captions_val2017", "image_info_test-dev2017", "my_train_v2", "karpathy")]
        ['val2017', 'test-dev2017', 'train', None]
    """
    found = _PREFIXED.fullmatch(name) or _SPLIT_WORD.search(name)
    return found.group(1) if found else None


def pick_split(files: Sequence[File], split: str | None) -> list[tuple[File, str | None]]:
    """Choose the files to read, each with its split.

    Args:
        files: What the source expands to.
        split: The split asked for. A single file is of that split whatever its name; of several, those of another
            split are left out and those whose name tells none are taken for it.

    Raises:
        NotFoundError: If none is left (``E1006``).
    """
    if split is None or len(files) == 1:
        return [(f, split or split_of(f.stem)) for f in files]
    named = [(f, split_of(f.stem)) for f in files]
    chosen: list[tuple[File, str | None]] = [(f, split) for f, s in named if s in {None, split}]
    if not chosen:
        known = sorted({s for _, s in named if s})
        raise NotFoundError(
            f"no file of split {split!r}{did_you_mean(split, known)}", code="E1006", hint="splits: " + ", ".join(known)
        )
    return chosen

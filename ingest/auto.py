"""Tell by its content what a source is, and read it so: what ``ingest`` does where no format is named.

A shard is told by its tar header, a picture by its ending, COCO by the first names of its JSON object, a table by its
columns, files of labelling tools by their outermost element or their names of classes. A folder that holds several kinds is
taken apart, images first: files of COCO and of labelling tools go with the pictures beside them. What is not known to be
read is left out with a note, unless it is all there is.
"""

from __future__ import annotations

import contextlib
import posixpath
import re
from collections import Counter
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import SourceError
from counterbalance.engine.images import EXTENSIONS, OTHER_PICTURES
from counterbalance.engine.ingest_types import Images, Source
from counterbalance.ingest import (
    boxes,
    captions,
    columns,
    counterfactuals,
    detections,
    huggingface,
    labels,
    laion,
    openimages,
    phase,
    tabular,
    targets,
    visualgenome,
    xmlstream,
    yolo,
)
from counterbalance.ingest.compression import read_head
from counterbalance.ingest.files import expand, file_system, leads_out, local_folder
from counterbalance.ingest.ignored_options import OF_TABLES
from counterbalance.ingest.imagefolder import METADATA
from counterbalance.ingest.tarstream import BLOCK, is_header

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from counterbalance.engine.ingest_types import Chunk, ReadOptions
    from counterbalance.ingest.files import File

_HEAD: Final = 65_536
_OBJECTS: Final = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*\{")
"""A JSON list of objects."""
_NAMES: Final = 1 << 20
"""Bytes of a COCO file in which names of pictures are looked for: some 3,000 images."""
_LOOKED_AT: Final = 20
"""Files of a kind that are looked into; further ones are as the last of these."""
_FEW: Final = 5
_ORDER: Final = (
    "coco",
    "webdataset",
    "imagefolder",
    "yolo",
    "voc",
    "cvat",
    "phase",
    "huggingface",
    "laion",
    "captions",
    "karpathy",
    "counterfactuals",
    "openimages",
    "visualgenome",
    "detections",
    "labels",
)
_TOOLS: Final = frozenset({"yolo", "voc", "cvat"})
"""Of labelling tools: their readers take pictures by themselves."""
_OF_XML: Final = {"annotation": "voc", "annotations": "cvat"}
_OF_FOLDERS: Final = _TOOLS | {"imagefolder", "phase"}
"""What is read by its folder, whose paths are keys."""
_OF_MEMBERS: Final = frozenset({"coco", "karpathy", "visualgenome", "webdataset"})
"""Whose columns are members of objects."""
_OF_COCO: Final = re.compile(rb'"(images|annotations|categories|licenses)"\s*:\s*\[')
_SENTENCES: Final = re.compile(rb'"sentences"\s*:\s*\[')
_FILE_NAME: Final = re.compile(rb'"file_name"\s*:\s*"([^"\\]+)"')
_OF_DATASETS: Final = frozenset({"dataset_info.json", "dataset_dict.json", "state.json"})
"""What ``save_to_disk`` writes beside the rows."""
_ARCHIVE: Final = re.compile(r"\.(tar|tar\.gz|tgz)$", re.IGNORECASE)
_CROISSANT: Final = "croissant.json"
"""What exports write about themselves."""
_SIDECARS: Final = re.compile(r"(_stats\.json|\.parquet)$")
"""What img2dataset writes beside a shard, be it an archive, a folder of files or a table."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some files of a source that one reader reads.

    Args:
        format: Name of the reader.
        uri: What it is given.
        why: What tells it, for people.
        images: Folder of the pictures, where they lie beside COCO files.
        origin: Of its captions, where nobody says another.
        elsewhere: Files of a folder of pictures that other parts read.
        alone: Only the pictures, and all of them: those that the tables beside it name.
    """

    format: str
    uri: str
    why: str
    images: str | None = None
    origin: str | None = None
    elsewhere: frozenset[str] = frozenset()
    alone: bool = False

    def open(self, options: ReadOptions) -> Source:
        """Return its rows."""
        asked = replace(options, images=self.images or options.images, origin=options.origin or self.origin)
        asked = replace(asked, limit=None) if self.alone else asked
        more = {"elsewhere": self.elsewhere} if self.elsewhere else {}
        source: Source = import_module(f"counterbalance.ingest.{self.format}").read(self.uri, asked, **more)
        return replace(source, chunks=map(_pictures_alone, source.chunks)) if self.alone else source


def read(uri: str, options: ReadOptions) -> Source:
    """Return the rows of a source of any format of this package, or of several.

    Args:
        uri: As for the reader that it turns out to be for.
        options: As for that.

    Raises:
        NotFoundError: There is no such file.
        SourceError: It cannot be told what it is (E4014).
    """
    parts, notes = told(uri, options)
    if options.images is not None and all(part.format in OF_TABLES for part in parts):
        read = frozenset(f.uri for part in parts for f in expand(part.uri, options.storage_options, recursive=True))
        why = f"the pictures of {options.images}"
        parts = [Part("imagefolder", options.images, why, elsewhere=read, alone=True), *parts]
        options = replace(options, images=None)
    asked = [options] if len(parts) == 1 else _options_of(uri, parts, options)
    sources = [part.open(given) for part, given in zip(parts, asked, strict=True)]
    notes = [*(f"read as {part.format}: {part.why}" for part in parts), *notes]
    if len(sources) == 1:
        sources[0].notes[:0] = notes
        return replace(sources[0], format=parts[0].format)
    sizes, images = [s.total_bytes for s in sources], Images()
    return Source(
        uri,
        _one_after_another(sources, images, _names(parts, options), notes),
        None if None in sizes else sum(filter(None, sizes)),
        [f for s in sources for f in s.files],
        notes,
        images,
        ", ".join(dict.fromkeys(p.format for p in parts)),
        [f for s in sources for f in s.pictures],
    )


def _pictures_alone(chunk: Chunk) -> Chunk:
    """Return the pictures of a folder that was named for a table's, without what their folders' names and files of metadata say."""
    kept = {name: rows for name, rows in chunk.tables.items() if name == "images"}
    return replace(chunk, tables=kept, rows_read=sum(map(len, kept.values())) + len(chunk.rejects))


def _options_of(uri: str, parts: Sequence[Part], options: ReadOptions) -> list[ReadOptions]:
    """Return what is asked of each part: of ``mapping`` and ``keep`` the columns that its tables have.

    What no table has is asked of the parts whose members show when they are read.

    Raises:
        NotFoundError: None has one of them (E1002).
    """
    of_tables = replace(options, store_images=None)  # the part beside them stores pictures
    if not (options.mapping or options.keep):
        return [of_tables if part.format in OF_TABLES else options for part in parts]
    heads = [
        tabular.inspect(expand(part.uri, options.storage_options, tabular.SUFFIXES)[0]).names
        if part.format not in _OF_FOLDERS | _OF_MEMBERS
        else []
        for part in parts
    ]
    everything = list(dict.fromkeys(name for names in heads for name in names))
    known = set(map(columns.plain, everything))
    late = [column for column in options.keep if columns.plain(column) not in known]
    if not any(part.format in _OF_MEMBERS for part in parts):
        columns.as_labels(everything, late, uri)
    columns.as_labels(everything, list(options.mapping.values()), uri)
    found = []
    for part, names in zip(parts, heads, strict=True):
        there = set(map(columns.plain, names))
        mapping = {field: column for field, column in options.mapping.items() if columns.plain(column) in there}
        keep = [column for column in options.keep if columns.plain(column) in there]
        own = of_tables if part.format in OF_TABLES else options
        found.append(replace(own, mapping=mapping, keep=late if part.format in _OF_MEMBERS else keep))
    return found


def _names(parts: Sequence[Part], options: ReadOptions) -> dict[str, str]:
    """Return what the pictures of a folder may be called by the tables beside them, to their keys: each means one picture.

    A table may lie in any folder above a picture, so the ends of its path are names, too.
    """
    found: dict[str, str] = {}
    several: set[str] = set()
    for part in (p for p in parts if p.format in _OF_FOLDERS):
        fs, root = file_system(part.uri, options.storage_options)
        for file in expand(part.uri, options.storage_options, recursive=True):
            if fs.isdir(root) and file.name.lower().rpartition(".")[2] in EXTENSIONS:
                key = file.path.removeprefix(root).lstrip("/")
                folders = key.split("/")
                for name in {posixpath.splitext(file.name)[0], *("/".join(folders[i:]) for i in range(len(folders)))}:
                    if found.setdefault(name, key) != key:
                        several.add(name)
    return {name: key for name, key in found.items() if name not in several or name == key}


def _one_after_another(
    sources: Sequence[Source], images: Images, names: Mapping[str, str], notes: list[str]
) -> Iterator[Chunk]:
    for source in sources:
        own = source.images
        own.has, own.sizes, own.uris, own.names = images.has, images.sizes, images.uris, names
        own.before = images.before
        yield from source.chunks
        notes += source.notes


def told(uri: str, options: ReadOptions) -> tuple[list[Part], list[str]]:
    """Return the parts of a source, images first, and notes about files that are left out.

    Raises:
        NotFoundError: There is no such file.
        SourceError: None can be told (E4014).
    """
    files = [
        f for f in expand(uri, options.storage_options, recursive=True) if f.is_plain and not f.name.startswith(".")
    ]
    kinds: dict[str, list[File]] = {}
    homes = [part for home in local_folder(uri, options.storage_options) for part in (home, _blobs(home)) if part]
    others = [
        f for f in files if homes and f.name.lower().rpartition(".")[2] not in EXTENSIONS
    ]  # readers tell pictures
    out = {f.uri: f for f in others if leads_out(f, homes)}
    for file in (f for f in files if f.uri not in out):
        kinds.setdefault(_kind(file, alone=len(files) == 1), []).append(file)
    shards = {_SIDECARS.sub("", f.path) for f in kinds.get("json", []) if f.name.endswith("_stats.json")}
    _drop_companions(kinds, shards)
    parts: dict[str, list[tuple[File, str]]] = {}
    strange = [
        _untold(f"{f.uri} is a symbolic link that leads out of the folder; name what it means itself")
        for f in out.values()
    ]
    _take_out_tools(kinds, parts, strange)
    for kind, look in (("json", _json), ("table", _table)):
        found: tuple[str, str] | None = None
        for number, file in enumerate(kinds.get(kind, [])):
            try:
                if found is None or number < _LOOKED_AT:
                    found = look(file, options, alone=len(files) == 1)
                parts.setdefault(found[0], []).append((file, found[1]))
            except SourceError as error:
                strange.append(error)
    texts = [f for f in kinds.get("other", []) if f.name.lower().endswith((".txt", ".token"))]
    for file in (
        texts if len(texts) <= _FEW else ()
    ):  # captions.txt of Flickr8k is a table; labels of YOLO are one a picture
        with contextlib.suppress(SourceError):
            name, why = _table(file, options)
            parts.setdefault(name, []).append((file, why))
    for kind, what in (("webdataset", "file"), ("imagefolder", "picture")):
        if of := kinds.get(kind):
            told_of = " of tar shards" * (kind == "webdataset")
            parts[kind] = [(f, _count(of, what) + told_of) for f in of]
    left = [p for p in parts.get("laion", []) if "imagefolder" in parts and _SIDECARS.sub("", p[0].path) in shards]
    if left:  # tables of pictures that img2dataset left as files
        parts["captions"] = [*parts.get("captions", []), *left]
        parts["laion"] = [p for p in parts["laion"] if p not in left]
    parts = {name: of for name, of in parts.items() if of}
    if not parts and strange:
        raise strange[0]
    if not parts:
        endings = Counter(posixpath.splitext(f.name)[1] or f.name for f in files)
        seen = ", ".join(f"{n} {e}" for e, n in endings.most_common(5))
        raise _untold(f"{uri} holds nothing that is known to be read ({seen})")
    tables = {f.uri for f in (*kinds.get("table", []), *texts) if not f.name.lower().endswith(tabular.SUFFIXES)}
    unseen = any(f.uri in tables for of in parts.values() for f, _ in of) and _is_folder(uri, options)
    more = f", and {len(strange) - _FEW:,} more files" * (len(strange) > _FEW)
    shown = [f"left out: {error.message}" for error in strange[:_FEW]]
    origins = {"captions": "alt_text"} if left else {}
    read = [f for name, of in parts.items() if name != "imagefolder" for f, _ in of]
    read += [f for f in files if "openimages" in parts and openimages.NAMES.search(f.name)]
    elsewhere = {"imagefolder": frozenset(f.uri for f in read)}
    ordered = _ordered(uri, parts, options, whole=not (out or unseen or strange))
    return [
        replace(p, origin=origins.get(p.format), elsewhere=elsewhere.get(p.format, frozenset())) for p in ordered
    ], [
        *shown[:-1],
        *(f"{text}{more}" for text in shown[-1:]),
    ]


def _is_folder(uri: str, options: ReadOptions) -> bool:
    fs, path = file_system(uri, options.storage_options)
    return bool(fs.isdir(path))


def _blobs(folder: str) -> str:
    """Return the folder that the links of a folder in the cache of Hugging Face's Hub lead to; nothing for any other."""
    repository, cached, _ = folder.partition("/snapshots/")
    return f"{repository}/blobs" if cached and posixpath.basename(repository).startswith("datasets--") else ""


def _take_out_tools(
    kinds: dict[str, list[File]], parts: dict[str, list[tuple[File, str]]], strange: list[SourceError]
) -> None:
    """Move the files of labelling tools to the parts, with the pictures and lists that belong to them."""
    name = ""
    for number, file in enumerate(kinds.get("xml", [])):
        if not name or number < _LOOKED_AT:
            name = _OF_XML.get(xmlstream.outermost(read_head(file, xmlstream.HEAD)[0]) or "", "")
        if name:
            parts.setdefault(name, []).append((file, f"{file.name} has <annotation{'s' * (name == 'cvat')}>"))
        else:
            strange.append(_untold(f"{file.uri} is XML, and neither of Pascal VOC nor of CVAT"))
    others, pictures = kinds.get("other", []), kinds.get("imagefolder", [])
    alone = not (others or pictures)
    classes = yolo.names_of([*kinds.get("yaml", []), *others])
    if classes is not None and (alone or yolo.are_labels(others, _LOOKED_AT)):
        parts["yolo"] = [
            (classes, f"{classes.name} names classes" + f", with {_count(pictures, 'picture')}" * (not alone))
        ]
    elif classes is None and yolo.are_labels(others, _LOOKED_AT):
        first = next(f for f in others if yolo.are_labels([f], 1))
        why = "looks like boxes of YOLO, and no file names their classes: write data.yaml with 'names: [person, dog]'"
        strange.append(_untold(f"{first.uri} {why} into the folder, in the order of the classes' numbers"))
    if _TOOLS & parts.keys():
        kinds["imagefolder"] = []
        kinds["other"] = [f for f in others if not f.name.lower().endswith(".txt")]


def _drop_companions(kinds: dict[str, list[File]], shards: Collection[str]) -> None:
    """Take out what belongs to other files: sidecars of shards, metadata of pictures, what ``datasets`` keeps beside rows.

    Args:
        kinds: Files by kind.
        shards: Paths of img2dataset's shards, without an ending.
    """
    archives = {_ARCHIVE.sub("", f.path) for f in kinds.get("webdataset", [])}
    for other in ("json", "table"):
        kinds[other] = [f for f in kinds.get(other, []) if _SIDECARS.sub("", f.path) not in archives]
    kinds["json"] = [
        f for f in kinds["json"] if not (f.name.endswith("_stats.json") and _SIDECARS.sub("", f.path) in shards)
    ]
    if "imagefolder" in kinds:
        pictures = {f.path.rpartition(".")[0] for f in kinds["imagefolder"] if f.path.rpartition("/")[0] in shards}
        for other in ("json", "other"):
            kinds[other] = [f for f in kinds.get(other, []) if f.path.rpartition(".")[0] not in pictures]
        kinds["table"] = [f for f in kinds.get("table", []) if f.name.lower() not in METADATA]
    if any(of for kind, of in kinds.items() if kind != "json"):
        kinds["json"] = [f for f in kinds["json"] if f.name != _CROISSANT]
    kinds["table"] = [f for f in kinds.get("table", []) if not openimages.NAMES.search(f.name)]
    if any(f.name.endswith(".arrow") for f in kinds.get("table", [])):
        kinds["json"] = [f for f in kinds.get("json", []) if f.name not in _OF_DATASETS]
        kinds["table"] = [f for f in kinds["table"] if not huggingface.is_cache(f.name)]


def _ordered(
    uri: str, parts: Mapping[str, Sequence[tuple[File, str]]], options: ReadOptions, *, whole: bool
) -> list[Part]:
    """Return parts in the order in which they are read: images before what names them.

    Args:
        uri: The source.
        parts: Files by format, with what tells it.
        options: What was asked.
        whole: All of a folder may be read, and is seen by readers, so that one can be given the folder itself.
    """
    names = [n for n in _ORDER if n in parts]
    images = None
    if {"coco", "imagefolder"} <= parts.keys() and _are_named(parts["coco"], parts["imagefolder"]):
        names.remove("imagefolder")  # they are the pictures of these files
        images = options.images or _folder_of([f for f, _ in parts["imagefolder"]])
    if len(names) == 1 and images is None and (whole or names[0] in _OF_FOLDERS):
        return [Part(names[0], uri, parts[names[0]][0][1])]
    found = []
    for name in names:
        files = [f for f, _ in parts[name]]
        why = parts[name][0][1]
        if name in _OF_FOLDERS:
            found.append(Part(name, uri, why))
        elif name == "coco" and images is not None:
            pictures = f"{why}, with {_count(parts['imagefolder'], 'picture')} of {images}"
            found += [Part(name, u, pictures, images) for u in _together(files)]
        else:
            found += [Part(name, u, why) for u in _together(files)]
    return found


def _are_named(documents: Sequence[tuple[File, str]], pictures: Sequence[tuple[File, str]]) -> bool:
    """Return whether COCO files name some of the pictures, as far as their beginnings say whom they name."""
    heads = [read_head(file, _NAMES)[0] for file, _ in documents[:_LOOKED_AT]]
    named = {m[1].rpartition(b"/")[2] for head in heads for m in _FILE_NAME.finditer(head)}
    return not named or any(file.name.encode(errors="replace") in named for file, _ in pictures)


def _folder_of(files: Sequence[File]) -> str:
    """Return the folder that files lie in, or that their folders lie in."""
    folders = {f.uri.rpartition("/")[0] for f in files}
    return posixpath.commonpath(folders) if "://" not in files[0].uri else min(folders, key=len)


def _together(files: Sequence[File]) -> list[str]:
    """Return one name for all files, or a name each where a name has signs that mean something in a list."""
    uris = [f.uri for f in files]
    return uris if any(set(u) & set(",{}*?[]") for u in uris) else [",".join(uris)]


def _kind(file: File, *, alone: bool) -> str:
    """Return what a file is by its ending, or, where it is named alone, by its first bytes."""
    name = file.name.lower()
    if name.endswith((".tar", ".tar.gz", ".tgz")):
        return "webdataset"
    if name.rpartition(".")[2] in EXTENSIONS | OTHER_PICTURES:
        return "imagefolder"
    if name.endswith(".json"):
        return "json"
    if name.endswith((".xml", ".yaml", ".yml")):
        return "xml" if name.endswith(".xml") else "yaml"
    if name.endswith(tabular.SUFFIXES):
        return "table"
    if not alone:
        return "other"
    head, _ = read_head(file, BLOCK)
    return "webdataset" if is_header(head) else "table"


def _json(file: File, options: ReadOptions, *, alone: bool = False) -> tuple[str, str]:
    head, _ = read_head(file, _HEAD)
    if phase.is_document(head):
        return "phase", f"{file.name} has images with regions"
    if _SENTENCES.search(head):
        return "karpathy", f"{file.name} has images with 'sentences'"
    if found := _OF_COCO.search(head):
        return "coco", f"{file.name} has {found[1].decode()!r}"
    if kind := visualgenome.kind_of(head):
        return "visualgenome", f"{file.name} is a list of images with their {kind}"
    if (head.lstrip()[:1] == b"{" and b"\n{" in head.strip()) or _OBJECTS.match(head):
        return _table(file, options, alone=alone)
    raise _untold(f"{file.uri} is JSON, and neither COCO's object nor a list of objects, nor an object a line")


def _table(file: File, options: ReadOptions, *, alone: bool = False) -> tuple[str, str]:
    layout = captions.headed(laion.headed(tabular.inspect(file)))
    if picture := huggingface.column_of_pictures(layout.schema):
        return "huggingface", f"{file.name} has pictures in its column {picture}"
    if not layout.headed:
        name, what = ("laion", "URLs") if "url" in layout.names else ("captions", "names of pictures")
        return name, f"{file.name} has captions and {what}, and no header"
    if {"imageid", "originalurl"} <= set(map(columns.plain, layout.names)):
        raise _untold(f"{file.uri} is Open Images' list of pictures, whose labels are in other files")
    if openimages.is_table(layout.names):
        return "openimages", f"{file.name} has columns ImageID, LabelName"
    if captions.is_of_karpathy(layout.names):
        return "captions", f"{file.name} has columns raw, sentids, filename, as Karpathy's splits have"
    names, there = layout.names, set(map(columns.plain, layout.names))

    def has(fields: columns.Fields, *wanted: str) -> str | None:
        """The columns that are some fields, as text; ``None`` where one is missing."""
        own = columns.matters(fields)
        mapping = {k: v for k, v in options.mapping.items() if own(k) and (alone or columns.plain(v) in there)}
        at = columns.resolve(names, fields, mapping, file.uri)
        return ", ".join(names[at[w]] for w in wanted) if all(w in at for w in wanted) else None

    target = next((t for t in targets.FIELDS if has(targets.FIELDS, t)), None)
    box = next((b for way in boxes.WAYS if (b := has(boxes.FIELDS, *way))), None)
    ways: Sequence[tuple[str, str | None]] = (
        ("counterfactuals", has(counterfactuals.FIELDS, *counterfactuals.FIELDS)),
        ("detections", box if target else None),
        ("labels", has(labels.FIELDS, "attribute", "value")),
        ("laion", has(laion.FIELDS, "url", "caption") or has(laion.FIELDS, "key", "caption")),
        ("captions", has(captions.FIELDS, target, "caption") if target else None),
        ("detections", has(detections.FIELDS, "detection_id") if has(detections.FIELDS, "perceived_gender") else None),
        ("labels", has(targets.FIELDS, target) if target and len({*names} - layout.nested) > 1 else None),
        ("captions", has(captions.FIELDS, "caption")),
    )
    for name, why in ways:
        if why is not None:
            return name, f"{file.name} has columns {why}"
    raise _untold(f"{file.uri} is a table of other columns: {', '.join(n[:40] for n in names[:20])}")


def _untold(message: str) -> SourceError:
    return SourceError(
        message,
        code="E4014",
        hint="name the format with --format, and columns with --map: laion needs caption and url or key; captions a caption; "
        "labels an image and an attribute; detections an image and a box",
    )


def _count(files: Sequence[object], what: str = "file") -> str:
    return f"{len(files):,} {what}{'s' * (len(files) != 1)}"

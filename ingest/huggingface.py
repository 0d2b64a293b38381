"""Tables that hold their pictures: Hugging Face ``datasets`` on disk or in memory, and Parquet as img2dataset writes it.

A source is what ``save_to_disk`` left, Parquet or Arrow files of the Hub's layout, a ``Dataset`` or a ``DatasetDict``. What a
column is shows in its feature (``Image``, ``ClassLabel``) and its name (``FIELDS``); a note tells what was taken for what:

* the first column of pictures, as ``{bytes, path}`` or bytes, is the image. Where only the path is given, the picture is
  read from ``images`` or the folder that is the source, never from elsewhere, nor through a link that leads out of it;
* a text, a list of texts, Karpathy's ``sentences`` or ``caption_0``, ``caption_1`` … are captions;
* class labels and truth values are labels named by their column; ``objects`` are boxes, whose categories go by name;
* other columns are listed in a note, and stored as labels where ``keep`` names them.

The key of an image is what its source calls it (``key``, ``image_id``, ``file_name`` …), else the digest of its picture, so
that a shuffled, filtered or renamed copy of a dataset is the same images. Rows of one picture are one image with the captions
of them all; a key that comes again with another picture is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import CounterbalanceError, SourceError
from counterbalance.engine.images import MAX_BYTES, Header, ImageError, check, read_header, sha256
from counterbalance.engine.ingest_types import Images, Source
from counterbalance.engine.schema import IMAGES
from counterbalance.ingest import arrowfile, box_cells, captions, columns, foldermeta, hashing, parquet, tabular
from counterbalance.ingest.batches import cuts, damage, lengths
from counterbalance.ingest.chunking import Piece, merge_pieces
from counterbalance.ingest.files import (
    File,
    expand,
    file_in,
    file_system,
    leads_out,
    picture_folder,
    relative_name,
    source_of,
    uri_of,
)
from counterbalance.ingest.lookahead import looked_ahead
from counterbalance.ingest.name_parts import is_split, split_of
from counterbalance.ingest.picture_rows import UNSTORED
from counterbalance.ingest.rows import MAX_KEY, MAX_TEXT, Rows, Sieve, base_rows, is_null

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from counterbalance.engine.ingest_types import Chunk, ReadOptions
    from counterbalance.ingest.rows import Mask

FIELDS: Final = {
    "image": ("jpg", "jpeg", "png", "webp", "img", "picture", "photo", "image_bytes"),
    "caption": (*foldermeta.FIELDS["caption"], "sentences", "sentence", "txt", "raw"),
    "key": ("__key__", "image_key", "uid", "image_id", "img_id", "cocoid", "file_name", "filename"),
    "url": ("uri", "image_url", "coco_url"),
    "objects": foldermeta.FIELDS["objects"],
    "split": (),
    "license": ("licence",),
    "nsfw": (),
    "similarity": ("clip_similarity",),
}
_OF_IMAGES: Final = ("key", "url", "split", "license", "nsfw")
_NUMBERED: Final = re.compile(r"(?:alt_)?(?:caption|sentence|text)s?_?\d+", re.IGNORECASE)
_OTHER_MEDIA: Final = frozenset({"Audio", "Video", "Pdf", "Nifti"})
"""Features whose bytes are no pictures."""
_TEXT: Final = ("raw", "text", "caption")
"""Where the text of a sentence is, when it is an object."""
_LANGUAGE: Final = re.compile(r"[a-z]{2}([-_][A-Za-z]{2,4})?")
"""A code of a language, as ISO 639-1 and BCP 47 have them: of an object of texts by these each is a caption."""


def read(uri: str | Any, options: ReadOptions) -> Source:
    """Return rows of ``images``, ``captions``, ``labels`` and ``detections``.

    Args:
        uri: File, folder, glob or brace range of Parquet or Arrow files; or a ``Dataset``, an ``IterableDataset``, or a
            mapping of these by split, of texts alone, too.
        options: ``split``, ``images`` (folder of pictures that are only named), ``store_images`` (default true), ``mapping``
            (fields of ``FIELDS``), ``keep``, ``origin`` of captions and boxes (default ``"human"``), ``annotator`` (default
            ``"source"``), ``limit`` (rows).

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping`` or ``keep``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a file is none of these, or has no column of pictures.
    """
    notes: list[str] = []
    if isinstance(uri, str):
        found = expand(uri, options.storage_options, SUFFIXES, recursive=True)
        files = [tabular.inspect(f) for f in found if f.is_plain and not is_cache(f.name)]
        home = options.images or _folder(uri, options)
        tables = [_of_file(f, home, options) for f in files]
        images = Images()
        chunks = _chunks(uri, tables, options, notes, images)
        source = source_of(uri, [f.file for f in files], chunks, notes, images)
    else:
        parts = tabular.held(uri)
        layouts = [layout for layout in parts.values() if layout is not None]
        name = layouts[0].file.uri.partition("/")[0]
        if _is_of_texts(layouts, options):
            return captions.of_layouts(name, layouts, options)
        empty = [split for split, layout in parts.items() if layout is None]
        notes += [f"split {split} has no rows" for split in empty]
        home, tables = options.images, [_of_dataset(layout, options) for layout in layouts]
        images = Images()
        chunks = _chunks(name, tables, options, notes, images)
        source = Source(name, chunks, notes=notes, images=images)
    named = picture_folder(home, options.storage_options) if home else []
    return replace(source, pictures=named)


def _is_of_texts(found: Sequence[tabular.Layout], options: ReadOptions) -> bool:
    """Return whether datasets have captions and no pictures."""
    shows = "image" in columns.asked(options.mapping, FIELDS) or any(column_of_pictures(t.schema) for t in found)
    return not shows and any(
        "caption" in columns.resolve(t.names, captions.FIELDS, options.mapping, t.file.uri) for t in found
    )


def _folder(uri: str, options: ReadOptions) -> str | None:
    """Return the folder that is the source; ``None`` where files are named."""
    fs, path = file_system(uri, options.storage_options)
    return uri_of(fs, path).rstrip("/") if fs.isdir(path) else None


SUFFIXES: Final = (".parquet", ".arrow")
_CACHE: Final = re.compile(r"(cache|tmp)-?\w*\.arrow")


def is_cache(name: str) -> bool:
    """Return whether a file is one that ``datasets`` keeps beside a dataset for what was computed of it.

    Example:
        >>> is_cache("cache-1b2f.arrow"), is_cache("data-00000-of-00001.arrow")
        (True, False)
    """
    return _CACHE.fullmatch(name) is not None


def column_of_pictures(schema: pa.Schema | None) -> str | None:
    """Return the name of the first column that holds pictures, if one does.

    Args:
        schema: Of a Parquet or Arrow file; ``None`` for files of other kinds.

    Example:
        >>> column_of_pictures(pa.schema([("text", pa.string()), ("jpg", pa.binary())]))
        'jpg'
    """
    if schema is None:
        return None
    kinds = {n: f.get("_type") for n, f in _features(schema).items()}
    found = [f for f in schema if (_is_pair(f.type) or _is_bytes(f.type)) and kinds.get(f.name) not in _OTHER_MEDIA]
    told = [f.name for f in found if kinds.get(f.name) == "Image"]
    pairs = [f.name for f in found if _is_pair(f.type)]
    called = [f.name for f in found if columns.plain(f.name) in ("image", *FIELDS["image"])]
    return next(iter((*told, *pairs, *called)), None)


def _features(schema: pa.Schema) -> dict[str, Any]:
    """Return what ``datasets`` noted of the columns; nothing where another program wrote the file."""
    try:
        found = orjson.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return {}
    return {n: f for n, f in found.items() if isinstance(f, dict)} if isinstance(found, dict) else {}


def _holds_bytes(kind: pa.DataType) -> bool:
    """Return whether values are bytes, such as pictures, which are no text."""
    return _is_pair(kind) or bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_pair(kind: pa.DataType) -> bool:
    """Return whether a type is that of an ``Image``: a struct of bytes and path."""
    if not pa.types.is_struct(kind):
        return False
    return {kind.field(i).name for i in range(kind.num_fields)} == {"bytes", "path"}


def _bytes(column: pa.Array) -> pa.Array:
    """Return the bytes of pictures, NULL where there are none."""
    return pc.struct_field(column, "bytes") if pa.types.is_struct(column.type) else column


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


@dataclass(frozen=True, slots=True)
class _Table:
    """Rows of one file or dataset, and which column is what.

    Args:
        uri: What messages call it.
        schema: Its columns.
        found: Field to column.
        captions: Columns of captions.
        labels: Columns that are labels.
        unplaced: Columns that no table has a place for.
        split: Of all its rows.
        is_file: Whether it is a file, so that its rows have a place.
        home: Folder that paths of pictures are relative to; ``None`` where they are taken as they are.
        batches: The columns asked for, with the bytes of the file behind each batch.
    """

    uri: str
    schema: pa.Schema
    features: Mapping[str, Any]
    found: Mapping[str, str]
    captions: Sequence[str]
    labels: Sequence[str]
    unplaced: Sequence[str]
    split: str | None
    is_file: bool
    home: str | None
    batches: Iterable[tuple[pa.RecordBatch, int]]

    def describe(self) -> str:
        """Return what was taken for what."""
        told = [f"{f} from {c}" for f, c in self.found.items() if f != "caption"]
        told += [f"captions from {', '.join(self.captions)}"] * bool(self.captions)
        told += [f"labels from {', '.join(self.labels)}"] * bool(self.labels)
        if "key" not in self.found:
            told.append("keys from the pictures' digests")
        return "; ".join(told)


def _of_file(layout: tabular.Layout, home: str | None, options: ReadOptions) -> _Table:
    file = layout.file
    if layout.schema is None:
        hint = "a list of URLs and captions is read with --format laion, captions alone with --format captions"
        raise SourceError(f"{file.uri} holds no pictures", code="E4016", hint=hint)
    folder = file.path.rpartition("/")[0].rpartition("/")[2]
    split = options.split or split_of(file.name) or (folder if is_split(folder) else None)
    return _planned(file.uri, layout.schema, options, split, home, file)


def _of_dataset(layout: tabular.Layout, options: ReadOptions) -> _Table:
    name, _, split = layout.file.uri.partition("/")
    schema = layout.schema or pa.schema([])
    return _planned(name, schema, options, options.split or split or None, options.images, layout.held)


def _planned(
    uri: str, schema: pa.Schema, options: ReadOptions, split: str | None, home: str | None, rows: File | Any
) -> _Table:
    names, features = schema.names, _features(schema)
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise SourceError(f"{uri} has two columns of the name {twice[0]!r}", code="E4019", hint="rename one of them")
    at = columns.resolve(names, FIELDS, options.mapping, uri)
    chosen = "image" in columns.asked(options.mapping, FIELDS)
    picture = names[at["image"]] if chosen else column_of_pictures(schema)
    if picture is None or not (_is_pair(schema.field(picture).type) or _is_bytes(schema.field(picture).type)):
        raise SourceError(
            f"{uri} has no column of pictures; its columns are: {', '.join(n[:40] for n in names[:20])}",
            code="E4018",
            hint="name one of bytes, or of bytes and path, with --map image=COLUMN (paths in text: "
            "cast_column(COLUMN, datasets.Image()) first); --format laion and captions need none",
        )
    found = {f: names[i] for f, i in at.items() if f != "image" and names[i] != picture}
    numbered = [n for n in names if _NUMBERED.fullmatch(n) and n not in found.values()]
    captions = [found["caption"]] if "caption" in found else numbered
    taken = {picture, *found.values(), *captions}
    labels = [n for n in names if n not in taken and _is_label(features.get(n, {}), schema.field(n).type)]
    kept = [names[i] for i in columns.as_labels(names, options.keep, uri).values()]
    labels += [n for n in kept if n not in {*taken, *labels} and not _holds_bytes(schema.field(n).type)]
    unplaced = [n for n in names if n not in {*taken, *labels} and columns.plain(n) not in columns.TOLD]
    if "objects" in found:
        fields = box_cells.without_place(schema.field(found["objects"]).type)
        unplaced += [f"{found['objects']}.{field}" for field in fields]
    wanted = [n for n in names if n in {*taken, *labels}]
    return _Table(
        uri,
        schema,
        features,
        {"image": picture, **found},
        captions,
        labels,
        unplaced,
        split,
        isinstance(rows, File),
        home,
        _batches(rows, schema, picture, wanted),
    )


def _is_label(feature: Mapping[str, Any], kind: pa.DataType) -> bool:
    return feature.get("_type") == "ClassLabel" or bool(pa.types.is_boolean(kind))


def _batches(
    rows: File | Any, schema: pa.Schema, picture: str, wanted: Sequence[str]
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield few rows at a time, of a file or a dataset in memory."""
    if not isinstance(rows, File):
        with damage("dataset", "dataset of Hugging Face"):
            for table in rows.iter(parquet.PICTURES):
                for batch in table.select(list(wanted)).to_batches():
                    yield batch, batch.nbytes
        return
    if rows.name.lower().endswith(".parquet"):
        path = f"{picture}.bytes" if _is_pair(schema.field(picture).type) else picture
        yield from parquet.batches(rows, wanted, [path])
        return
    for batch, share in arrowfile.batches(rows, wanted):
        for begin in range(0, batch.num_rows, parquet.PICTURES):
            yield batch.slice(begin, parquet.PICTURES), share if begin == 0 else 0


def _chunks(
    uri: str, tables: Sequence[_Table], options: ReadOptions, notes: list[str], images: Images
) -> Iterator[Chunk]:
    notes += dict.fromkeys(t.describe() for t in tables)
    for names in dict.fromkeys(tuple(t.unplaced) for t in tables):
        own = {f.name: f.type for t in tables for f in t.schema if f.name in names}
        kinds = {name: kind for name, kind in own.items() if _is_pair(kind) or not _holds_bytes(kind)}
        pictures = sorted(name for name, kind in kinds.items() if _is_pair(kind))
        lists = sorted(n for n, kind in kinds.items() if pa.types.is_nested(kind) and n not in pictures)
        notes += columns.left_out([n for n in names if n in kinds and n not in {*lists, *pictures}], lists)
        notes += columns.cannot_keep("huggingface", [n for n in names if n not in kinds])  # fields of boxes, and bytes
        if pictures:
            which = f"--map image={columns.some(pictures[:1])} reads {'it' if len(pictures) == 1 else 'one'} instead"
            notes.append(f"left out: {columns.some(pictures)}, of pictures; {which}")
    reader = _Reader(uri, options, images)
    for table in tables:
        yield from merge_pieces(reader.pieces(table), table.uri)
    if reader.textless:
        looked = ", ".join(_TEXT)
        notes.append(
            f"left out: captions that are objects of {columns.some(sorted(reader.textless))}: none is {looked}, or a language"
        )
    notes += [UNSTORED] * reader.unstored
    if reader.repeated:
        notes.append(
            f"{reader.repeated:,} rows are of pictures that came before: what belongs to them is added to those images"
        )


@dataclass(frozen=True, slots=True)
class _Found:
    """A picture that was checked."""

    data: bytes | None
    header: Header
    digest: str
    uri: str | None


class _Reader:
    """Read the rows of a source; not thread-safe."""

    def __init__(self, uri: str, options: ReadOptions, images: Images) -> None:
        self._uri, self._options, self._known = uri, options, images
        self._keys, self._pictures = hashing.Seen(), hashing.Seen()
        self.repeated = 0
        self.textless = set[str]()
        self.unstored = False
        self._left = options.limit

    def pieces(self, table: _Table) -> Iterator[Piece]:
        """Yield rows of a table, of those that are within the limit."""
        first = 1
        for batch, share in table.batches:
            part = batch if self._left is None else batch.slice(0, self._left)
            if not part.num_rows:
                return
            if self._left is not None:
                self._left -= part.num_rows
            begin = 0
            for end in cuts(lengths(pa.chunked_array([_bytes(part[table.found["image"]])]))):
                yield self._piece(table, part.slice(begin, end - begin), first + begin, 0 if begin else share)
                begin = end
            first += part.num_rows

    def _piece(self, table: _Table, batch: pa.RecordBatch, first: int, share: int) -> Piece:
        numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
        cells = {f: batch[c] for f, c in table.found.items() if f not in {"image", "caption"}}
        if "objects" in cells:
            cells["objects"] = _named(cells["objects"], table.features.get(table.found["objects"], {}))
        if table.captions:
            cells["caption"] = _texts([batch[c] for c in table.captions], self.textless)
        for name in table.labels:
            cells[columns.LABEL + name] = _named(batch[name], table.features.get(name, {}))
        sieve = Sieve(Rows(pa.table(cells or {"_": pa.nulls(len(numbers))}), numbers, "row", table.uri, (), share))
        texts = {f: sieve.text(f, MAX_KEY if f in {"key", "url"} else MAX_TEXT) for f in _OF_IMAGES if sieve.has(f)}
        pictures = self._found(table, batch[table.found["image"]], numbers, sieve)
        keys, new = self._keyed(sieve, texts.get("key"), pictures)
        tables, positions, parts = foldermeta.belongings(
            sieve, keys, self._options.origin or "human", self._options.annotator or "source", several_rows=True
        )
        new &= sieve.keep
        tables["images"] = self._images(table, keys, texts, pictures, new)
        positions["images"] = sieve.places().take(new)
        return Piece(tables, positions, sieve.rejects, len(numbers) + parts, share)

    def _found(self, table: _Table, column: pa.Array, numbers: Any, sieve: Sieve) -> list[_Found | None]:
        """Return the picture of each row; those without a good one are refused."""
        pair = pa.types.is_struct(column.type)
        data, paths = _bytes(column), pc.struct_field(column, "path") if pair else pa.nulls(len(column), pa.string())

        def look(i: int) -> _Found | ImageError:
            try:
                return self._look(table, data[i].as_py(), paths[i].as_py(), int(numbers[i]))
            except ImageError as error:
                return error

        found: list[_Found | None] = []
        for i, seen in looked_ahead(range(len(column)), look):
            found.append(seen if isinstance(seen, _Found) else None)
            if isinstance(seen, ImageError):
                at = np.zeros(sieve.size, dtype=bool)
                at[i] = True
                sieve.refuse(at, seen.code, str(seen))
        return found

    def _look(self, table: _Table, data: bytes | None, path: str | None, number: int) -> _Found:
        """Return a picture, checked; called in threads.

        Raises:
            ImageError: If there is none, or it is no good one.
        """
        uri = f"{table.uri}#{number}" if table.is_file else None
        store = self._options.store_images is not False
        self.unstored |= not store and data is not None
        if data is None:
            if not path:
                raise ImageError("no picture", "missing_image")
            file = _file(path, table.home, self._options)
            uri = file.uri
            try:
                data = file.read(MAX_BYTES)
            except CounterbalanceError as error:
                raise ImageError(error.message, "missing_image") from error
        header = (check if store else read_header)(data)
        return _Found(data if store else None, header, sha256(data), uri)

    def _keyed(self, sieve: Sieve, keys: pa.Array | None, found: Sequence[_Found | None]) -> tuple[pa.Array, Mask]:
        """Return the key of each row's image, and which of them are new; one that stands for two pictures is refused."""
        digests = pa.array([f.digest[:32] if f else None for f in found], pa.string())
        if keys is not None:
            sieve.refuse(is_null(keys), "missing_key", "no key")
        named = digests if keys is None else keys
        new = np.zeros(sieve.size, dtype=bool)
        new[sieve.keep] = self._keys.add(hashing.key_ids(sieve.kept(named)).to_numpy())
        both = hashing.hash_rows(sieve.kept(named), sieve.kept(digests))
        other = self._pictures.add(both.to_numpy()) & ~new[sieve.keep]
        self.repeated += int((~new & sieve.keep).sum()) - int(other.sum())
        sieve.refuse_kept(other, lambda i: f"key {named[i].as_py()!r} was there before, of another picture")
        return named, new

    def _images(
        self,
        table: _Table,
        keys: pa.Array,
        texts: Mapping[str, pa.Array],
        found: Sequence[_Found | None],
        which: Mask,
    ) -> pa.Table:
        good = [f for f, wanted in zip(found, which, strict=True) if f and wanted]
        mask = pa.array(which)
        said = {name: text.filter(mask) for name, text in {**texts, "key": keys}.items()}
        told: dict[str, list[Any]] = {
            "uri": [f.uri for f in good],
            "width": [f.header.width for f in good],
            "height": [f.header.height for f in good],
            "split": [table.split] * len(good),
            "source": [self._uri] * len(good),
            "sha256": [f.digest for f in good],
        }
        schema = IMAGES.schema(blobs=True)
        cells = {name: pa.array(values, schema.field(name).type) for name, values in told.items()}
        cells["image_id"] = hashing.key_ids(said["key"])
        cells.update((n, said[n]) for n in ("key", "license", "nsfw") if n in said)
        if self._known.has is not None:  # another copy of what is there says no more than where it is itself
            known = pa.array(self._known.has(cells["image_id"]))
            cells |= {name: pc.if_else(known, None, cells[name]) for name in ("uri", "source")}
        if "url" in said:
            cells["uri"] = pc.coalesce(said["url"], cells["uri"])
        if "split" in said and not self._options.split:
            cells["split"] = pc.coalesce(said["split"], cells["split"])
        if self._options.store_images is not False:
            cells["image"] = pa.array([f.data for f in good], pa.binary())
        return base_rows(IMAGES, cells)


def _file(path: str, home: str | None, options: ReadOptions) -> File:
    """Return the file of a picture that is only named.

    Raises:
        ImageError: No folder is named, or the file does not lie in it.
    """
    if home is None:
        how = "name the folder of pictures with --images, in Python images=…"
        raise ImageError(f"only the path {path[:200]} is given; {how}", "bad_name")
    root = file_system(home, options.storage_options)[1]
    name = relative_name(path.removeprefix(home.rstrip("/") + "/").removeprefix(root.rstrip("/") + "/"))
    if name is None:
        raise ImageError(f"{path[:200]} is no plain name in {home}; name their folder with --images", "bad_name")
    file = file_in(home, name, options.storage_options)
    if leads_out(file, [root]):
        raise ImageError(f"{path[:200]} is a link that leads out of {home}", "link_out")
    return file


def _texts(cells: Sequence[pa.Array], textless: set[str]) -> pa.Array:
    """Return captions as texts, or as a JSON list where a row has several; ``textless`` takes what objects without a text are made of."""
    if len(cells) == 1 and not pa.types.is_nested(cells[0].type):
        return cells[0]
    rows = zip(*(c.to_pylist() for c in cells), strict=True)
    found = [[t for cell in row for t in _sentences(cell, textless)] for row in rows]
    return pa.array([orjson.dumps(r, default=str).decode() if r else None for r in found], pa.string())


def _sentences(value: Any, textless: set[str]) -> list[Any]:
    """Return the texts of a cell: itself, those of a list, or of objects such as ``{"raw": …}`` and ``{"en": …, "de": …}``."""
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in _sentences(v, textless)]
    if not isinstance(value, dict):
        return [] if value is None else [value]
    named = next((value[n] for n in _TEXT if n in value), None)
    if named is not None:
        return _sentences(named, textless)
    if value and all(_LANGUAGE.fullmatch(k) and isinstance(v, str | None) for k, v in value.items()):
        return _sentences(list(value.values()), textless)
    textless.update(value.keys() - {*_TEXT})
    return []


def _named(array: pa.Array, feature: Any) -> pa.Array:
    """Return values with the names of classes in place of their numbers."""
    if not _has_names(feature):
        return array
    values = [_spelled(v, feature) for v in array.to_pylist()]
    if not pa.types.is_nested(array.type):
        return pa.array(values, pa.string())
    return pa.array([None if v is None else orjson.dumps(v, default=str).decode() for v in values], pa.string())


def _has_names(feature: Any) -> bool:
    if isinstance(feature, list):
        return any(map(_has_names, feature))
    return isinstance(feature, dict) and (_names(feature) is not None or any(map(_has_names, feature.values())))


def _names(feature: Mapping[str, Any]) -> list[Any] | None:
    """Return the names of the classes, where a feature is one of classes."""
    found = feature.get("names")
    return found if feature.get("_type") == "ClassLabel" and isinstance(found, list) else None


def _spelled(value: Any, feature: Any) -> Any:
    """Return a value with names of classes, of whatever depth; a class that has no name keeps its number."""
    if isinstance(feature, list):
        feature = {"feature": feature[0]} if feature else {}
    if not isinstance(feature, dict):
        return value
    names = _names(feature)
    if names is not None and isinstance(value, (int, float)):
        at = int(value) if float(value).is_integer() else -1
        return str(names[at]) if 0 <= at < len(names) else None if value == -1 else str(value)
    inner = feature.get("feature", feature)
    if isinstance(value, list):
        return [_spelled(v, inner) for v in value]
    if isinstance(value, dict):
        return {k: _spelled(v, inner.get(k) if isinstance(inner, dict) else None) for k, v in value.items()}
    return value

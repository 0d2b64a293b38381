"""Captions from any table: of images that the lake has, of files that are only named, or texts alone.

A row needs a caption; its image is named as in ``labels``, by key, id or file name (``targets``). An image that the lake has
keeps what it says of itself; any other becomes a row of ``images`` with the name as its ``uri``. Where a table names no
images, each text is of an image of its own, whose key is ``FILE:ROW``. The id of a caption is a hash of key, origin and text:
an image has any number of captions, each once; a cell may hold a list of them.

Of Flickr8k and Flickr30k all published tables are read: ``results.csv``, the headerless ``….token`` (``36.jpg#0``, a tab, the
caption), and Karpathy's as a table (``raw``, ``sentids``, ``filename``), whose ``img_id`` is the number of a row.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.ingest_types import Chunk, Images
from counterbalance.engine.schema import CAPTIONS, IMAGES
from counterbalance.ingest import columns, hashing, ignored_options, laion, tabular, targets
from counterbalance.ingest.files import source_of
from counterbalance.ingest.labelrows import LabelRows, kept_texts
from counterbalance.ingest.name_parts import split_of
from counterbalance.ingest.rows import MAX_KEY, Sieve, base_rows, floats, is_null

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.rows import Rows
    from counterbalance.ingest.tabular import Layout

FIELDS: Final = {
    "caption": (*laion.FIELDS["caption"], "sentence", "comment", "captions", "prompt", "txt"),
    **targets.FIELDS,
    "similarity": laion.FIELDS["similarity"],
    "split": (),
}
_NUMBERED: Final = re.compile(r".+\.(jpe?g|png)#\d+", re.IGNORECASE)
_HEADLESS: Final = ("name", "caption")
_OF_KARPATHY: Final = frozenset({"raw", "sentids", "filename"})


def read(uri: str | Any, options: ReadOptions) -> Source:
    """Return rows of ``captions``, and of ``images`` that the lake does not have.

    Args:
        uri: File, folder, glob or brace range of Parquet, Arrow, CSV, TSV or JSON lines, compressed or not; a ``Dataset`` of
            Hugging Face, or several by split.
        options: ``split``, ``mapping`` (fields of ``FIELDS``), ``keep``, ``origin`` (default ``"human"``), ``annotator`` of what
            is kept (default ``"source"``), ``limit`` (rows).

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping`` or ``keep``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a file is not a table or has no caption column.
    """
    layouts = tabular.layouts(uri, options)
    return of_layouts(uri if isinstance(uri, str) else layouts[0].file.uri.partition("/")[0], layouts, options)


def of_layouts(uri: str, files: Sequence[Layout], options: ReadOptions) -> Source:
    """Return what ``read`` does, of files that were looked at."""
    layouts, images = [headed(f) for f in files], Images()
    found = [_columns(f, options) for f in layouts]
    changed = {f.file.uri: _without_numbers for f in layouts if not f.headed}
    changed |= {
        f.file.uri: _trimmed
        for f, there in zip(layouts, found, strict=True)
        if f.names[there["caption"]].startswith(" ")
    }
    parts = (
        changed.get(rows.source, lambda same: same)(rows)
        for rows in tabular.read_all(layouts, found, FIELDS, options.limit)
    )
    notes = ignored_options.describe("captions", options, "images", "store_images")
    if not all(map(targets.is_named, found)):
        notes.append("no column names an image: each text is of one of its own")
    notes += tabular.left_out(layouts, found)
    return source_of(uri, [f.file for f in layouts], chunks(uri, parts, options, images, notes), notes, images)


def headed(layout: Layout) -> Layout:
    """Take a file whose first line is a numbered picture and a caption for one without a header."""
    first = layout.names
    if layout.kind == "csv" and len(first) == len(_HEADLESS) and _NUMBERED.fullmatch(first[0].strip()):
        return layout.headless(_HEADLESS)
    return layout


def is_of_karpathy(names: Sequence[str]) -> bool:
    """Return whether a table with these columns is one of Karpathy's splits, as the Hub has that of Flickr30k.

    Example:
        >>> is_of_karpathy(["raw", "sentids", "split", "filename", "img_id"])
        True
    """
    return set(map(columns.plain, names)) >= _OF_KARPATHY


def _without_numbers(rows: Rows) -> Rows:
    """Return rows whose pictures are named without the numbers of their captions."""
    at = rows.table.column_names.index("name")
    names = pc.replace_substring_regex(rows.table["name"], r"#\d+\s*$", "")
    return replace(rows, table=rows.table.set_column(at, "name", names))


def _trimmed(rows: Rows) -> Rows:
    """Return rows whose texts have no blanks around them, as those of Flickr30k's ``results.csv``, cut at ``| ``, have."""
    at, texts = rows.table.column_names.index("caption"), rows.table["caption"]
    plain = (text.strip() if isinstance(text, str | bytes) else text for text in texts.to_pylist())
    return replace(rows, table=rows.table.set_column(at, "caption", pa.array(plain, texts.type)))


def _columns(layout: Layout, options: ReadOptions) -> dict[str, int]:
    of_karpathy = is_of_karpathy(layout.names)
    fields = FIELDS | {"caption": (*FIELDS["caption"], "raw")} if of_karpathy else FIELDS
    found = columns.resolve(layout.names, fields, options.mapping, layout.file.uri)
    if of_karpathy and "image_id" not in columns.asked(options.mapping, fields):
        found.pop("image_id", None)
    columns.require(found, ["caption"], layout.names, layout.file.uri)
    return found | layout.kept(options.keep)


def chunks(uri: str, parts: Iterator[Rows], options: ReadOptions, images: Images, notes: list[str]) -> Iterator[Chunk]:
    """Yield captions and their images.

    Args:
        uri: The source.
        parts: Rows with fields of ``FIELDS``.
        options: As for ``read``.
        images: What is asked about the lake, and about pictures of the same source.
        notes: Gets what a person should know of values that were left out.
    """
    bad, without, met, seen = laion.BadValues(), 0, 0, hashing.Seen()
    for rows in parts:
        chunk = _chunk(uri, Sieve(_one_each(rows)), options, images, bad)
        if _names_images(rows):
            new, about = chunk.tables[IMAGES.name], pc.unique(chunk.tables[CAPTIONS.name]["image_id"])
            without += new.num_rows
            met += int(seen.add(about.to_numpy()).sum()) - new.num_rows
        yield chunk
    notes += bad.notes()
    if images.names and without:
        those, are = ("image", "is") if without == 1 else ("images", "are")
        notes.append(f"{without:,} {those} that captions name {are} not among the pictures beside them")
    elif without and not met and (before := images.before()):
        told = f"none of the {without:,} images that captions name is one of the {before:,} that the lake had"
        notes.append(
            f"{told}: they are images of their own; if they should be the same, --map key=COLUMN names the column of the lake's keys"
        )


def _one_each(rows: Rows) -> Rows:
    """Return rows of one caption each: one with a list of texts is as many rows."""
    column = rows.table["caption"]
    kind = column.type
    if (pa.types.is_list(kind) or pa.types.is_large_list(kind)) and _is_text(kind.value_type):
        cells, kind = [cell or [None] for cell in column.to_pylist()], kind.value_type
    elif _is_text(kind) and pc.any(pc.starts_with(column, "[")).as_py():
        cells = [_listed(cell) for cell in column.to_pylist()]
    else:
        return rows
    at = np.repeat(np.arange(len(cells)), list(map(len, cells)))
    texts = pa.array([text for cell in cells for text in cell], kind)
    i = rows.table.column_names.index("caption")
    return replace(rows, table=rows.table.take(pa.array(at)).set_column(i, "caption", texts), numbers=rows.numbers[at])


def _is_text(kind: pa.DataType) -> bool:
    return kind in {pa.string(), pa.large_string(), pa.binary()}


def _listed(cell: str | bytes | None) -> list[str | bytes | None]:
    """Return the texts of a JSON list of nothing else, or the cell itself; an empty list has no text."""
    try:
        found = orjson.loads(cell) if cell and cell[:1] in {"[", b"["} else None
    except orjson.JSONDecodeError:
        found = None
    is_texts = isinstance(found, list) and all(t is None or isinstance(t, str) for t in found)
    return (found or [None]) if is_texts else [cell]


def _chunk(uri: str, sieve: Sieve, options: ReadOptions, images: Images, bad: laion.BadValues) -> Chunk:
    text = bad.text(sieve, "caption")
    sieve.refuse(is_null(text), "missing_caption", "no caption")
    similarity = bad.number(sieve, "similarity", floats)
    keys = _keys(sieve, images)
    sieve.refuse(is_null(keys), "missing_key", "the row names no image")
    split, named, texts = sieve.text("split"), sieve.text("name", MAX_KEY), kept_texts(sieve)
    told = options.split or (None if sieve.has("split") else split_of(sieve.rows.source.rpartition("/")[2]))
    labels = LabelRows.of_columns(sieve, texts, keys, options.annotator or "source", bad.others(sieve))
    count = int(sieve.keep.sum())
    kept = {
        "key": sieve.kept(keys),
        "uri": sieve.kept(named),
        "split": pa.repeat(told, count) if told else sieve.kept(split),
        "source": pa.repeat(uri, count),
        "text": sieve.kept(text),
        "origin": pa.repeat(options.origin or "human", count),
        "similarity": sieve.kept(similarity),
    }
    kept["image_id"] = hashing.key_ids(kept["key"])
    kept["caption_id"] = hashing.hash_rows(kept["key"], kept["origin"], kept["text"])
    fresh = hashing.first_of_each(kept["image_id"].to_numpy())
    if images.has is not None:
        fresh &= ~images.has(kept["image_id"])
    places = sieve.places().take(sieve.keep)
    once = hashing.first_of_each(kept["caption_id"].to_numpy())
    tables = {IMAGES.name: base_rows(IMAGES, kept, fresh), CAPTIONS.name: base_rows(CAPTIONS, kept, once)}
    positions: dict[str, Sequence[str]] = {IMAGES.name: places.take(fresh), CAPTIONS.name: places.take(once)}
    return Chunk(
        tables | labels.tables(),
        sieve.rejects,
        sieve.rows.count,
        sieve.rows.bytes_read,
        positions | labels.positions(),
        sieve.rows.source,
    )


def _names_images(rows: Rows) -> bool:
    return targets.is_named(dict.fromkeys(rows.table.column_names, 0))


def _keys(sieve: Sieve, images: Images) -> pa.Array:
    """Return the key of each row's image: what the row calls it, or where it stands."""
    if _names_images(sieve.rows):
        return targets.image_keys(sieve, images)
    file = sieve.rows.source
    if file.startswith("/") or "://" in file:  # of a dataset in memory, which is called NAME/SPLIT, all of it tells
        file = file.rpartition("/")[2]
    return pc.binary_join_element_wise(file, pa.array(sieve.rows.numbers).cast(pa.string()), ":")

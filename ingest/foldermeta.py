"""The metadata file of an image folder: captions, boxes and labels by ``file_name``."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from counterbalance.engine.ingest_types import Chunk
from counterbalance.engine.schema import BASE_TABLES, CAPTIONS, DETECTIONS
from counterbalance.ingest import columns, hashing, tabular
from counterbalance.ingest.box_cells import box_columns
from counterbalance.ingest.files import relative_name
from counterbalance.ingest.jsonlines import parsed_list
from counterbalance.ingest.labelrows import LabelRows
from counterbalance.ingest.picture_rows import caption_ids
from counterbalance.ingest.rows import MAX_KEY, Sieve, base_rows, is_null, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from counterbalance.engine.ingest_types import ReadOptions
    from counterbalance.ingest.files import File
    from counterbalance.ingest.rows import Rows
    from counterbalance.ingest.tabular import Layout

FIELDS: Final = {
    "file_name": ("filename", "image_file", "file", "image", "path"),
    "caption": ("text", "captions", "alt_text", "alt", "description", "prompt"),
    "objects": ("annotations",),
}
_KNOWN_BETTER: Final = frozenset({"width", "height", *(t.key for t in BASE_TABLES.values())})
"""Columns that the picture itself tells, and ids that a lake gave its rows when it was exported."""
_PREFIX: Final = "attribute:"


@dataclass(frozen=True, slots=True)
class Meta:
    """A metadata file: the columns to read."""

    layout: Layout
    columns: Mapping[str, int]


def inspect(file: File, options: ReadOptions) -> Meta:
    """Find the columns of a metadata file.

    Raises:
        NotFoundError: If ``mapping`` names a column that there is not.
        SourceError: If it is not a table or has no column for the file name.
    """
    layout = tabular.inspect(file)
    found = columns.resolve(layout.names, FIELDS, options.mapping, file.uri)
    columns.require(found, ["file_name"], layout.names, file.uri)
    taken = set(found.values())
    for i, name in enumerate(layout.names):
        if i not in taken and name.strip() and columns.plain(name) not in _KNOWN_BETTER:
            found[_PREFIX + name] = i
    return Meta(layout, found)


def chunks(meta: Meta, path: str, status: Mapping[str, bool], options: ReadOptions) -> Iterator[Chunk]:
    """Yield rows of ``captions``, ``labels`` and ``detections`` of one metadata file.

    Args:
        meta: From ``inspect``.
        path: Its path within the folder: file names are relative to where it stands.
        status: Key to whether its picture was taken.
        options: ``limit`` (then rows of pictures that were not looked at are passed over), ``origin``, ``annotator``.
    """
    for rows in tabular.read(meta.layout, meta.columns, lambda _: True):
        yield _chunk(rows, posixpath.dirname(path), status, options)


def _chunk(rows: Rows, folder: str, status: Mapping[str, bool], options: ReadOptions) -> Chunk:
    sieve = Sieve(rows)
    keys = _keys(sieve, folder)
    passed = _refuse_absent(sieve, keys, status, limited=options.limit is not None)
    attributes = {n: sieve.text(n) for n in rows.table.column_names if n.startswith(_PREFIX)}
    told, drawn = sieve.text("caption"), sieve.text("objects")
    origin = options.origin or "human"
    image_id, no_box = hashing.key_ids(keys), pa.nulls(sieve.size, pa.int64())
    labels = LabelRows(sieve, image_id, no_box, pa.repeat(options.annotator or "metadata", sieve.size), keys)
    for name, text in attributes.items():
        labels.add(name.removeprefix(_PREFIX).strip(), _without_lists(text, rows.table.field(name).type))
    tables, positions = labels.tables(), dict(labels.positions())
    refused = len(sieve.rejects)
    for table, (made, at) in (
        (CAPTIONS, _captions(sieve, told, keys, origin)),
        (DETECTIONS, box_columns(sieve, drawn, keys)),
    ):
        if len(at):
            made |= {"image_id": image_id.take(pa.array(at)), "origin": pa.repeat(origin, len(at))}
            tables[table.name] = base_rows(table, made)
            positions[table.name] = sieve.places().take(at)
    parts = len(sieve.rejects) - refused  # captions and boxes that were refused, each an item of its own
    return Chunk(tables, sieve.rejects, rows.count - passed + parts, rows.bytes_read, positions, rows.source)


def _keys(sieve: Sieve, folder: str) -> pa.Array:
    """Return keys of the pictures that the rows name."""
    names = sieve.text("file_name", MAX_KEY).to_pylist()
    sieve.refuse(np.array([n is None for n in names], dtype=bool), "missing_key", "no file_name")
    odd = np.array([n is not None and relative_name(n) is None for n in names], dtype=bool)
    sieve.refuse(odd, "bad_name", lambda i: f"{shorten(names[i])} is not a plain relative name")
    return pa.array([None if n is None else posixpath.join(folder, n) for n in names], pa.string())


def _refuse_absent(sieve: Sieve, keys: pa.Array, status: Mapping[str, bool], *, limited: bool) -> int:
    """Refuse rows without a picture; returns how many were passed over because only some pictures were read."""
    names = keys.to_pylist()
    absent = np.array([n not in status for n in names], dtype=bool) & sieve.keep
    if limited:
        sieve.keep &= ~absent
    else:
        sieve.refuse(absent, "missing_file", lambda i: f"there is no picture {shorten(names[i])}")
    bad = np.array([status.get(n) is False for n in names], dtype=bool)
    sieve.refuse(bad, "refused_image", lambda i: f"the picture {shorten(names[i])} was refused")
    return int(absent.sum()) if limited else 0


def _without_lists(text: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return values that are lists or objects as NULL: they are not labels."""
    if pa.types.is_nested(kind):
        return pa.nulls(len(text), pa.string())
    values = text.to_pylist() if pa.types.is_string(kind) else []
    if not any(v and v[0] in "[{" for v in values):
        return text
    return pa.array([None if v and v[0] in "[{" and parsed_list(v) is not None else v for v in values], pa.string())


def _captions(
    sieve: Sieve, text: pa.Array, keys: pa.Array, origin: str
) -> tuple[dict[str, pa.Array], npt.NDArray[np.int64]]:
    """Return captions, of rows with one text or a list of them, and the row of each."""
    texts: list[str] = []
    at: list[int] = []
    number: list[int] = []
    values = text.to_pylist()
    for i in np.flatnonzero(sieve.keep & ~is_null(text)).tolist():
        for n, one in enumerate(_split_captions(values[i])):
            if isinstance(one, str) and one.strip():
                texts.append(one)
                at.append(i)
                number.append(n)
            elif one is not None:
                sieve.note(i, "bad_caption", f"no text: {shorten(one)}")
    rows = np.array(at, dtype=np.int64)
    ids = caption_ids(keys.take(pa.array(rows)), origin, number)
    return {"caption_id": ids, "text": pa.array(texts, pa.string())}, rows


def _split_captions(value: str) -> Sequence[object]:
    """Return the texts of a caption cell: a JSON list, or the cell itself."""
    found = parsed_list(value) if value[:1] == "[" else None
    return found if isinstance(found, list) else [value]

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
from counterbalance.ingest.labelrows import LabelRows, kept_texts
from counterbalance.ingest.picture_rows import caption_ids
from counterbalance.ingest.rows import MAX_KEY, Sieve, base_rows, floats, is_null, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy.typing as npt

    from counterbalance.engine.ingest_types import ReadOptions
    from counterbalance.ingest.files import File
    from counterbalance.ingest.rows import Places, Rows
    from counterbalance.ingest.tabular import Layout

FIELDS: Final = {
    "file_name": ("filename", "image_file", "file", "image", "path"),
    "caption": ("text", "captions", "alt_text", "alt", "description", "prompt"),
    "objects": ("annotations",),
    "split": (),
}
_KNOWN_BETTER: Final = frozenset({"width", "height", *(t.key for t in BASE_TABLES.values())})
"""Columns that the picture itself tells, and ids that a lake gave its rows when it was exported."""


@dataclass(frozen=True, slots=True)
class Meta:
    """A metadata file: the columns to read, and those of lists or objects, which are no labels."""

    layout: Layout
    columns: Mapping[str, int]
    left_out: Sequence[str]


def inspect(file: File, options: ReadOptions) -> Meta:
    """Find the columns of a metadata file.

    Raises:
        NotFoundError: If ``mapping`` or ``keep`` names a column that there is not.
        SourceError: If it is not a table or has no column for the file name.
    """
    layout = tabular.inspect(file)
    found = columns.resolve(layout.names, FIELDS, options.mapping, file.uri)
    columns.require(found, ["file_name"], layout.names, file.uri)
    others = {n: i for i, n in enumerate(layout.names) if i not in found.values() and n.strip()}
    others = {n: i for n, i in others.items() if columns.plain(n) not in _KNOWN_BETTER}
    kept = columns.as_labels(layout.names, options.keep, file.uri).values()
    found |= {columns.LABEL + n: i for n, i in others.items() if n not in layout.nested or i in kept}
    return Meta(layout, found, [n for n, i in others.items() if n in layout.nested and i not in kept])


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


def splits(meta: Meta, path: str) -> dict[str, str]:
    """Return the split of each picture that the column ``split`` gives one, by key.

    Args:
        meta: From ``inspect``.
        path: Its path within the folder.
    """
    found: dict[str, str] = {}
    wanted = {n: i for n, i in meta.columns.items() if n in {"file_name", "split"}}
    for rows in tabular.read(meta.layout, wanted, lambda _: True) if "split" in wanted else ():
        sieve = Sieve(rows)
        keys, told = _keys(sieve, posixpath.dirname(path)).to_pylist(), sieve.text("split", MAX_KEY).to_pylist()
        found |= {k: s for k, s, kept in zip(keys, told, sieve.keep.tolist(), strict=True) if kept and k and s}
    return found


def _chunk(rows: Rows, folder: str, status: Mapping[str, bool], options: ReadOptions) -> Chunk:
    sieve = Sieve(rows)
    keys = _keys(sieve, folder)
    passed = _refuse_absent(sieve, keys, status, limited=options.limit is not None)
    tables, positions, parts = belongings(sieve, keys, options.origin or "human", options.annotator or "metadata")
    return Chunk(tables, sieve.rejects, rows.count - passed + parts, rows.bytes_read, positions, rows.source)


def belongings(
    sieve: Sieve, keys: pa.Array, origin: str, annotator: str, *, several_rows: bool = False
) -> tuple[dict[str, pa.Table], dict[str, Places], int]:
    """Return rows of ``captions``, ``labels`` and ``detections`` of the images that rows are about.

    Args:
        sieve: The rows that are kept: ``caption`` (a text or a JSON list of them) with ``similarity``, ``objects``, and
            labels, whose names begin with ``columns.LABEL``; lists and objects are JSON.
        keys: What each row's image is called.
        origin: Of captions and boxes.
        annotator: Of labels.
        several_rows: An image may have several rows: its captions go by their text, and not by their number in a row.

    Returns:
        Rows by base table, where each stands, and how many captions and boxes were refused, each an item of its own.
    """
    kept, told, drawn = kept_texts(sieve), sieve.text("caption"), sieve.text("objects")
    image_id = hashing.key_ids(keys)
    labels = LabelRows.of_columns(sieve, kept, keys, annotator)
    tables, positions = labels.tables(), dict(labels.positions())
    refused = len(sieve.rejects)
    for table, (made, at) in (
        (CAPTIONS, _captions(sieve, told, keys, origin, by_text=several_rows)),
        (DETECTIONS, box_columns(sieve, drawn, keys)),
    ):
        if len(at):
            made |= {"image_id": image_id.take(pa.array(at)), "origin": pa.repeat(origin, len(at))}
            tables[table.name] = base_rows(table, made)
            positions[table.name] = sieve.places().take(at)
    return tables, positions, len(sieve.rejects) - refused


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


def _captions(
    sieve: Sieve, text: pa.Array, keys: pa.Array, origin: str, *, by_text: bool
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
    found = {"text": pa.array(texts, pa.string())}
    if by_text:
        found["caption_id"] = hashing.hash_rows(keys.take(pa.array(rows)), pa.repeat(origin, len(rows)), found["text"])
        once = hashing.first_of_each(found["caption_id"].to_numpy())
        found, rows = {name: array.filter(pa.array(once)) for name, array in found.items()}, rows[once]
    else:
        found["caption_id"] = caption_ids(keys.take(pa.array(rows)), origin, number)
    if sieve.has("similarity"):
        found["similarity"] = floats(sieve.number("similarity")[0][rows])
    return found, rows


def _split_captions(value: str) -> Sequence[object]:
    """Return the texts of a caption cell: a JSON list, or the cell itself."""
    found = parsed_list(value) if value[:1] == "[" else None
    return found if isinstance(found, list) else [value]

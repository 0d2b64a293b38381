"""Pairs of captions that differ in a word, as COCO-Counterfactuals publishes them: an image and a caption for either side.

A row has an index, a caption and its counterfactual (``FIELDS``). As in the published data set, each side is an image of its
own with one caption: keys ``INDEX/original`` and ``INDEX/counterfactual``, so that no caption changes what the captions of
the source's image say. Origins are ``'human'`` (``--origin`` overrules) and ``'counterfactual'``. The index of
COCO-Counterfactuals, ``158956_0``, is the COCO image and the number of its caption; the view ``caption_pairs`` takes it apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.ingest_types import Chunk
from counterbalance.engine.schema import CAPTIONS, IMAGES
from counterbalance.ingest import columns, hashing, ignored_options, tabular
from counterbalance.ingest.files import source_of
from counterbalance.ingest.labelrows import LabelRows, kept_texts
from counterbalance.ingest.rows import MAX_KEY, Places, Sieve, base_rows, is_null, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.rows import Rows

FIELDS: Final = {
    "index": ("coco_counterfactual_index", "pair", "pair_id", "id"),
    "original": ("original_caption", "caption_0"),
    "counterfactual": ("counterfactual_caption", "caption_1"),
}
SIDES: Final = {"original": "human", "counterfactual": "counterfactual"}
"""Sides of a pair, and the origin of their captions."""


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images`` and ``captions``, two of each a pair, and ``labels`` of what is kept.

    Args:
        uri: File, folder, glob or brace range of Parquet, CSV, TSV or JSON lines, compressed or not.
        options: ``split``, ``mapping`` (fields of ``FIELDS``), ``keep`` (further columns, as labels of both images of a pair),
            ``annotator`` of these (default ``"source"``), ``origin`` (of the original captions), ``limit`` (pairs).

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping`` or ``keep``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a file is not a table, or lacks one of the three columns.
    """
    layouts = tabular.layouts(uri, options)
    found = [columns.resolve(f.names, FIELDS, options.mapping, f.file.uri) for f in layouts]
    for layout, known in zip(layouts, found, strict=True):
        columns.require(known, list(FIELDS), layout.names, layout.file.uri)
    found = [known | layout.kept(options.keep) for layout, known in zip(layouts, found, strict=True)]
    parts = tabular.read_all(layouts, found, FIELDS, options.limit)
    notes = ignored_options.describe("counterfactuals", options, "images", "store_images")
    notes += tabular.left_out(layouts, found)
    return source_of(uri, [f.file for f in layouts], _chunks(uri, parts, options), notes)


def _chunks(uri: str, parts: Iterator[Rows], options: ReadOptions) -> Iterator[Chunk]:
    seen = hashing.Seen()
    for rows in parts:
        yield _chunk(uri, Sieve(rows), options, seen)


def _chunk(uri: str, sieve: Sieve, options: ReadOptions, seen: hashing.Seen) -> Chunk:
    index = sieve.text("index", MAX_KEY)
    texts = {side: sieve.text(side) for side in SIDES}
    kept = kept_texts(sieve)
    sieve.refuse(is_null(index), "missing_key", "no index")
    for side, text in texts.items():
        sieve.refuse(is_null(text), "missing_caption", f"no {side} caption")
    again = ~seen.add(hashing.key_ids(sieve.kept(index)).to_numpy())
    sieve.refuse_kept(again, lambda i: f"index {shorten(index[i].as_py())} was there before")
    places = sieve.places().take(sieve.keep)
    keys = {side: pc.binary_join_element_wise(index, pa.scalar(side), "/") for side in SIDES}
    sides = [_side(uri, sieve, keys[side], side, text, options) for side, text in texts.items()]
    both = {name: pa.concat_arrays([one[name] for one in sides]) for name in sides[0]}
    tables = {table.name: base_rows(table, both) for table in (IMAGES, CAPTIONS)}
    twice = Places(places.words, np.tile(places.numbers, 2))
    positions = dict.fromkeys(tables, twice)
    labels = [LabelRows.of_columns(sieve, kept, keys[side], options.annotator or "source") for side in SIDES]
    if all(one.tables() for one in labels):
        tables["labels"] = pa.concat_tables([one.tables()["labels"] for one in labels])
        numbers = np.concatenate([one.positions()["labels"].numbers for one in labels])
        positions["labels"] = Places(places.words, numbers)
    return Chunk(tables, sieve.rejects, sieve.rows.count, sieve.rows.bytes_read, positions, sieve.rows.source)


def _side(
    uri: str, sieve: Sieve, keys: pa.Array, side: str, text: pa.Array, options: ReadOptions
) -> dict[str, pa.Array]:
    """Return columns of the images and captions of one side."""
    key = sieve.kept(keys)
    count = len(key)
    origin = (options.origin or SIDES[side]) if side == "original" else SIDES[side]
    return {
        "image_id": hashing.key_ids(key),
        "key": key,
        "split": pa.repeat(pa.scalar(options.split, pa.string()), count),
        "source": pa.repeat(pa.scalar(uri), count),
        "caption_id": hashing.hash_rows(key, pa.repeat(pa.scalar("caption"), count)),
        "text": sieve.kept(text),
        "origin": pa.repeat(pa.scalar(origin), count),
    }

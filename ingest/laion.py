"""URL lists with captions: LAION's Parquet and CSV files, img2dataset's, and the TSV files of Conceptual Captions.

Columns are found by name without case (``FIELDS``); ``--map caption=alt`` overrules. A headerless file of two columns,
caption and URL, separated by tabs, is taken as Conceptual Captions; its quotes are text.

* The key of an image is the source's ``key`` or ``hash`` column when it has one, else the URL.
* The id of a caption is a hash of key and origin when the source has keys of its own, which must then be unique in the
  source (a repeated one is refused as ``duplicate_key``); with URLs as keys it is a hash of URL, origin and text, for
  LAION lists the same URL with several captions.
* A row needs a caption and a key or URL. Any other value that cannot be (a width of -1 or NaN, a similarity that is no
  number) is NULL and the row is taken: it still says what it is worth, so that is not a refusal. A note says how often,
  but for -1 and 0, which lists write for unknown sizes; another, how often a caption is a list or struct, kept as JSON.
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
from counterbalance.ingest.name_parts import split_of
from counterbalance.ingest.rows import MAX_KEY, Sieve, base_rows, floats, is_null, pixels, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.rows import Mask, Rows
    from counterbalance.ingest.tabular import Layout

FIELDS: Final = {
    "url": ("uri", "image_url", "img_url", "url_link", "image_link", "link"),
    "caption": ("text", "top_caption", "alt_text", "alt", "image_alt", "title", "description", "caption_text"),
    "key": ("hash", "uid", "sample_id", "image_key"),
    "width": ("original_width", "image_width", "img_width"),
    "height": ("original_height", "image_height", "img_height"),
    "similarity": ("clip_similarity", "clip_similarity_vitb32", "clip_b32_similarity_score", "cosine_similarity"),
    "nsfw": ("nsfw_label",),
    "license": ("licence", "image_license"),
    "split": (),
}
_UNKNOWN: Final = (-1, 0)
"""Sizes that lists write where nobody knows them."""
_HEADLESS: Final = ("caption", "url")


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``images`` and ``captions`` from lists of URLs.

    Args:
        uri: File, folder, glob or brace range of Parquet, CSV, TSV or JSON lines, compressed or not.
        options: ``split``, ``mapping`` (fields of ``FIELDS``), ``keep``, ``origin`` (default ``"alt_text"``), ``annotator`` of what
            is kept (default ``"source"``), ``limit``.

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a file is not a table or has no caption or no URL column.
    """
    layouts = [headed(f) for f in tabular.layouts(uri, options)]
    found = [_columns(f, options) for f in layouts]
    parts = tabular.read_all(layouts, found, FIELDS, options.limit)
    notes = ignored_options.describe("laion", options, "images", "store_images", *["annotator"] * (not options.keep))
    notes += tabular.left_out(layouts, found)
    return source_of(uri, [f.file for f in layouts], _chunks(uri, parts, options, notes), notes)


def headed(layout: Layout) -> Layout:
    """Take a file with a URL where the header would stand for one of Conceptual Captions."""
    first = layout.names
    if layout.kind == "csv" and len(first) == 2 and "://" in first[1] and "://" not in first[0]:
        return layout.headless(_HEADLESS)
    return layout


def _columns(layout: Layout, options: ReadOptions) -> dict[str, int]:
    found = columns.resolve(layout.names, FIELDS, options.mapping, layout.file.uri)
    columns.require(found, ["caption"], layout.names, layout.file.uri)
    if "key" not in found:
        columns.require(found, ["url"], layout.names, layout.file.uri)
    return found | layout.kept(options.keep)


def _chunks(uri: str, parts: Iterator[Rows], options: ReadOptions, notes: list[str]) -> Iterator[Chunk]:
    seen, bad = hashing.Seen(), BadValues()
    for rows in parts:
        yield _chunk(uri, Sieve(rows), options, seen, bad)
    notes += bad.notes()


def _chunk(uri: str, sieve: Sieve, options: ReadOptions, seen: hashing.Seen, bad: BadValues) -> Chunk:
    keyed = sieve.has("key")
    cells, texts = _cells(sieve, bad), kept_texts(sieve)
    keys = hashing.key_ids(sieve.kept(cells["key"]))
    if keyed:
        again = ~seen.add(keys.to_numpy())
        sieve.refuse_kept(again, lambda i: f"key {shorten(cells['key'][i].as_py())} was there before")
        keys = keys.filter(pa.array(~again))
    labels = LabelRows.of_columns(sieve, texts, cells["key"], options.annotator or "source", bad.others(sieve))
    kept = {name: sieve.kept(array) for name, array in cells.items()}
    count, places = len(keys), sieve.places().take(sieve.keep)
    kept |= {
        "image_id": keys,
        "origin": pa.repeat(options.origin or "alt_text", count),
        "source": pa.repeat(uri, count),
    }
    split = options.split or (None if sieve.has("split") else split_of(sieve.rows.source.rpartition("/")[2]))
    if split:
        kept["split"] = pa.repeat(split, count)
    parts = (kept["key"], kept["origin"]) if keyed else (kept["key"], kept["origin"], kept["text"])
    kept["caption_id"] = hashing.hash_rows(*parts)
    tables: dict[str, pa.Table] = {}
    positions: dict[str, Sequence[str]] = {}
    for table in (IMAGES, CAPTIONS):
        first = hashing.first_of_each(kept[table.key].to_numpy())
        tables[table.name] = base_rows(table, kept, None if first.all() else first)
        positions[table.name] = places.take(first)
    tables, positions = tables | labels.tables(), positions | labels.positions()
    return Chunk(tables, sieve.rejects, sieve.rows.count, sieve.rows.bytes_read, positions, sieve.rows.source)


def _cells(sieve: Sieve, bad: BadValues) -> dict[str, pa.Array]:
    """Return checked columns by their names in the base tables; rows without a key or a caption are refused."""
    url = sieve.text("url", MAX_KEY)
    key = pc.coalesce(sieve.text("key", MAX_KEY), url)
    cells = {"key": key, "uri": url, "text": bad.text(sieve, "caption")}
    missing = "key" if sieve.has("key") else "url"
    sieve.refuse(is_null(key), f"missing_{missing}", f"no {missing}")
    sieve.refuse(is_null(cells["text"]), "missing_caption", "no caption")
    cells |= {f: sieve.text(f) for f in ("split", "license", "nsfw") if sieve.has(f)}
    cells |= {f: bad.number(sieve, f, pixels) for f in ("width", "height") if sieve.has(f)}
    if sieve.has("similarity"):
        cells["similarity"] = bad.number(sieve, "similarity", floats)
    return cells


class BadValues:
    """Count what columns hold that a row can do without, and that cannot be taken as it is. Not thread-safe."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}
        self._first: dict[tuple[str, str], str] = {}

    def number(self, sieve: Sieve, field: str, form: Callable[[npt.NDArray[np.float64]], pa.Array]) -> pa.Array:
        """Return a field of numbers in their form, NULL for what is missing or none."""
        values, bad = sieve.number(field)
        array = form(values)
        bad = bad | (is_null(array) & ~np.isnan(values) & ~np.isin(values, _UNKNOWN))
        self._note(sieve, field, "cannot be taken in {}, and is NULL there", bad)
        return array

    def text(self, sieve: Sieve, field: str) -> pa.Array:
        """Return a field of texts; lists and structs are written as JSON."""
        array = sieve.text(field)
        if sieve.has(field) and pa.types.is_nested(sieve.rows.table[field].type):
            self._note(sieve, field, "is a list or struct in {}, and is kept as JSON", ~is_null(array))
        return array

    def others(self, sieve: Sieve) -> Callable[[str, Mask], None]:
        """Return what takes the rows in which a kept column says something else of an image than before."""
        told = "is another one of the same image in {}, and the first is kept"
        return lambda name, which: self._note(sieve, columns.LABEL + name, told, which)

    def _note(self, sieve: Sieve, field: str, told: str, which: Mask) -> None:
        found = np.flatnonzero(which & sieve.keep)
        if len(found):
            place = f"{sieve.rows.unit} {sieve.rows.numbers[found[0]]} of {sieve.rows.source.rpartition('/')[2]}"
            if not field.startswith(columns.LABEL):  # a label may say of people what is for few
                place = f"{shorten(sieve.rows.table[field][int(found[0])].as_py())} ({place})"
            self._first.setdefault((field, told), place)
            self._counts[field, told] = self._counts.get((field, told), 0) + len(found)

    def notes(self) -> list[str]:
        """Return a sentence per field, with the first such value."""
        return [
            f"{field.removeprefix(columns.LABEL)} {told.format(f'{count:,} row' + 's' * (count != 1))}: {self._first[field, told]}"
            for (field, told), count in self._counts.items()
        ]

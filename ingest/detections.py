"""Boxes from any table: the person annotations of the LAION work, detector output, exports of labelling tools.

Columns are found by name without case. An image is named by ``key`` or ``image_id``, or by a file name (``member_name``,
``file_name`` …) whose key is the name as it is, as for imagefolder, else the name up to its first dot, as for
webdataset; ``--map key=file_name`` takes the name as it is. A box is two corners, a corner and a size, or a list; always in pixels: a file whose
boxes are fractions is refused. Images must be in the lake already.

A column of perceived gender, race or age gives a label of the box, its value in lower case; so does ``caption``, as it
is, and any column that is kept. A score must lie in [0, 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.ingest_types import Chunk, Images
from counterbalance.engine.schema import DETECTIONS
from counterbalance.ingest import boxes, columns, hashing, ignored_options, tabular, targets
from counterbalance.ingest.files import source_of
from counterbalance.ingest.labelrows import LabelRows, kept_texts, scores
from counterbalance.ingest.rows import MAX_KEY, Sieve, base_rows, is_null

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.rows import Rows
    from counterbalance.ingest.tabular import Layout

ATTRIBUTES: Final = {
    "perceived_gender": ("predicted_gender", "pred_gender", "gender", "perceived_sex"),
    "perceived_race_ethnicity": (
        "predicted_race_ethnicity",
        "predicted_race",
        "pred_race",
        "perceived_race",
        "race_ethnicity",
        "race",
        "predicted_ethnicity",
        "ethnicity",
    ),
    "perceived_age": ("predicted_age", "pred_age", "age", "age_group"),
    "caption": ("person_caption", "box_caption", "text"),
}
_SCORE_ENDINGS: Final = ("confidence", "score", "prob", "probability")
_SCORED: Final = {
    f"{attribute}_score": tuple(f"{n}_{e}" for n in (attribute, *names) for e in _SCORE_ENDINGS)
    for attribute, names in ATTRIBUTES.items()
}
FIELDS: Final = {
    **targets.FIELDS,
    **boxes.FIELDS,
    "detection_id": ("annotation_id", "box_id", "det_id", "person_id", "id"),
    "category": ("category_name", "class_name", "class", "label", "object"),
    "score": ("confidence", "conf", "detection_score", "probability", "prob"),
    "is_crowd": ("iscrowd", "crowd", "is_group_of", "isgroupof"),
    "annotator": ("model", "rater"),
    **ATTRIBUTES,
    **_SCORED,
}


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``detections`` and ``labels`` from tables of boxes.

    Args:
        uri: File, folder, glob or brace range of Parquet, CSV, TSV or JSON lines, compressed or not.
        options: ``mapping`` (fields of ``FIELDS``), ``keep`` (further columns, as labels of the boxes), ``annotator`` of the labels
            (default ``"source"``), ``origin`` of the boxes, ``limit``.

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping`` or ``keep``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a file is not a table, or has no columns for the image or the box.
    """
    layouts = tabular.layouts(uri, options)
    found = [_columns(f, options) for f in layouts]
    parts = tabular.read_all(layouts, found, FIELDS, options.limit)
    images = Images()
    notes = ignored_options.describe("detections", options, "split", "images", "store_images")
    notes += tabular.left_out(layouts, found)
    return source_of(uri, [f.file for f in layouts], _chunks(parts, options, images), notes, images)


def _columns(layout: Layout, options: ReadOptions) -> dict[str, int]:
    where = layout.file.uri
    found = columns.resolve(layout.names, FIELDS, options.mapping, where)
    boxes.way(found, layout.names, where)
    if not targets.is_named(found):
        columns.require(found, ["key"], layout.names, where)
    return found | layout.kept(options.keep)


def _chunks(parts: Iterator[Rows], options: ReadOptions, images: Images) -> Iterator[Chunk]:
    begun: set[str] = set()
    for rows in parts:
        yield _chunk(Sieve(rows), options, images, first=rows.source not in begun)
        begun.add(rows.source)


def _chunk(sieve: Sieve, options: ReadOptions, images: Images, *, first: bool) -> Chunk:
    rows = sieve.rows
    found = {name: i for i, name in enumerate(rows.table.column_names)}
    keys = targets.image_keys(sieve, images)
    values = boxes.boxes(sieve, boxes.way(found, rows.table.column_names, rows.source))
    category = sieve.text("category") if sieve.has("category") else pa.repeat("person", sieve.size)
    cells = {"image_id": targets.image_ids(sieve, keys), "score": scores(sieve, "score"), "is_crowd": _crowd(sieve)}
    cells |= boxes.columns_of(keys, category, values, options.origin)
    own = sieve.text("detection_id", MAX_KEY)
    cells["detection_id"] = pc.coalesce(hashing.key_ids(own), cells["detection_id"])
    cells["origin"] = pa.array([options.origin] * sieve.size, pa.string())
    attributes = {a: sieve.text(a) for a in ATTRIBUTES if sieve.has(a)}
    certain = {a: scores(sieve, f"{a}_score") for a in attributes}
    kept = kept_texts(sieve)
    annotator = pc.fill_null(sieve.text("annotator"), options.annotator or "source")
    if first:
        boxes.refuse_relative(values[sieve.keep], rows.source)
    labels = LabelRows(sieve, cells["image_id"], cells["detection_id"], annotator, keys)
    for attribute, text in attributes.items():
        labels.add(attribute, text if attribute == "caption" else pc.utf8_lower(text), certain[attribute])
    for attribute, text in kept.items():
        labels.add(attribute, text)
    tables = {"detections": base_rows(DETECTIONS, _drop_empty(cells), sieve.keep)}
    positions: dict[str, Any] = {"detections": sieve.places().take(sieve.keep)}
    tables |= labels.tables()
    positions |= labels.positions()
    called = {"detections": sieve.kept(keys), **labels.keys()}
    return Chunk(tables, sieve.rejects, rows.count, rows.bytes_read, positions, rows.source, called)


def _drop_empty(cells: dict[str, pa.Array]) -> dict[str, pa.Array]:
    """Leave out the columns that are NULL throughout."""
    return {name: array for name, array in cells.items() if array.null_count < len(array) or name == "detection_id"}


def _crowd(sieve: Sieve) -> pa.Array:
    """Return whether a box holds a crowd: 1 or true; NULL where nothing is said. Refuses ``bad_value``."""
    text = pc.utf8_lower(sieve.text("is_crowd"))
    yes, no = pa.array(["1", "true", "1.0", "yes"]), pa.array(["0", "false", "0.0", "no"])
    known = pc.is_in(text, value_set=pa.concat_arrays([yes, no]))
    odd = ~is_null(text) & ~known.to_numpy(zero_copy_only=False)
    sieve.refuse(odd, "bad_value", lambda i: f"is_crowd is neither 0 nor 1: {text[i].as_py()[:60]!r}")
    return pc.if_else(known, pc.is_in(text, value_set=yes), pa.scalar(None, pa.bool_()))

"""Open Images as it is published: boxes, labels of whole images, and the perceived labels of MIAP, from its tables of CSV.

An image is named by its id: what the lake calls it is that id, or a picture of its name (``ID.jpg``), also in a folder of the
split. Boxes are fractions there and pixels here, by the sizes of the lake's images, so the pictures come first, or lie in the
same folder. Names of classes are those of ``class-descriptions*.csv`` beside the table. A flag of a box (occluded …) that is 1 is
a label of it; ``IsGroupOf`` is ``is_crowd``. A label of a whole image has its class as the attribute and as value 1 or 0, for
what people verified to be there or not; a fraction is the score of a machine's.
"""

from __future__ import annotations

import csv
import posixpath
import re
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Chunk, Images
from counterbalance.engine.schema import DETECTIONS
from counterbalance.ingest import boxes, columns, ignored_options, tabular, targets
from counterbalance.ingest.files import File, reading, source_of, uri_of
from counterbalance.ingest.labelrows import LabelRows, kept_texts
from counterbalance.ingest.name_parts import split_of
from counterbalance.ingest.rows import MAX_KEY, Sieve, base_rows, floats, is_null, shorten
from counterbalance.ingest.validate import FRAME_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from counterbalance.engine.ingest_types import ReadOptions, Source
    from counterbalance.ingest.rows import Mask

NAMES: Final = re.compile(r"class-descriptions.*\.csv$")
_CORNERS: Final = ("x1", "y1", "x2", "y2")
_FLAGS: Final = {"occluded": "isoccluded", "truncated": "istruncated", "depiction": "isdepiction", "inside": "isinside"}
FIELDS: Final = {
    "name": ("imageid",),
    "category": ("labelname",),
    "annotator": ("source",),
    "score": ("confidence",),
    "x1": ("xmin",),
    "y1": ("ymin",),
    "x2": ("xmax",),
    "y2": ("ymax",),
    "is_crowd": ("isgroupof",),
    **{flag: (name, f"{name}of") for flag, name in _FLAGS.items()},
    "perceived_gender": ("genderpresentation",),
    "perceived_age": ("agepresentation",),
}
_PERSONS: Final = {
    "/m/01g317": "Person",
    "/m/04yx4": "Man",
    "/m/03bt1vf": "Woman",
    "/m/01bl7v": "Boy",
    "/m/05r655": "Girl",
}
"""Known without a list: labels of these classes are of people, and closed."""
_LARGEST_NAMES: Final = 16 << 20
_ROUNDED: Final = 0.01


def is_table(names: Sequence[str]) -> bool:
    """Return whether a table with these columns is one of Open Images.

    Example:
        >>> is_table(["ImageID", "Source", "LabelName", "Confidence"])
        True
    """
    return {"imageid", "labelname"} <= set(map(columns.plain, names))


def read(uri: str, options: ReadOptions) -> Source:
    """Return rows of ``detections`` and ``labels``.

    Args:
        uri: Tables of boxes or of labels of images; file, folder, glob.
        options: ``mapping`` (fields of ``FIELDS``), ``origin`` of the boxes (default ``"human"``), ``annotator`` of labels
            where the source names none (default ``"source"``), ``keep`` (further columns of boxes, as labels of these),
            ``limit`` (rows).

    Raises:
        NotFoundError: If there is no such file, or no such column in ``mapping`` or ``keep``.
        RequestError: If ``mapping`` names no field.
        SourceError: If a table lacks a column, or the names of classes are not to be read.

    Source:
        https://storage.googleapis.com/openimages/web/download_v7.html;
        Schumann et al., A Step Toward More Inclusive People Annotations for Fairness (MIAP), 2021
    """
    layouts = [f for f in tabular.layouts(uri, options) if not NAMES.search(f.file.name)]
    found = [columns.resolve(f.names, FIELDS, options.mapping, f.file.uri) for f in layouts]
    for layout, there in zip(layouts, found, strict=True):
        columns.require(there, ["name", "category"], layout.names, layout.file.uri)
    boxed = [layout for layout, there in zip(layouts, found, strict=True) if _is_boxed(there)]
    found = [c | f.kept(options.keep) if f in boxed else c for f, c in zip(layouts, found, strict=True)]
    images = Images()
    notes = ignored_options.describe("openimages", options, "split", "images", "store_images", *["keep"] * (not boxed))
    for are_boxes in (True, False):
        own = [(f, _stored(c)) for f, c in zip(layouts, found, strict=True) if (f in boxed) == are_boxes]
        notes += tabular.left_out([f for f, _ in own], [c for _, c in own], unkept="" if are_boxes else "openimages")
    names = {f.file.uri: _class_names(f.file) for f in layouts}
    if unnamed := [posixpath.basename(u) for u, n in names.items() if not n]:
        notes.append(
            f"no class-descriptions*.csv lies beside {unnamed[0]}: its classes go by their ids, such as /m/01g317"
        )
    parts = tabular.read_all(layouts, found, FIELDS, options.limit)
    chunks = (_chunk(Sieve(rows), names[rows.source], options, images) for rows in parts)
    return source_of(uri, [f.file for f in layouts], chunks, notes, images)


def _stored(found: Mapping[str, int]) -> dict[str, int]:
    """Return the columns of a table that are stored: the confidence of a label, and not of a box, where it is always 1."""
    return {field: i for field, i in found.items() if not (_is_boxed(found) and field == "score")}


def _is_boxed(found: Mapping[str, int]) -> bool:
    return all(c in found for c in _CORNERS)


def _class_names(table: File) -> dict[str, str]:
    """Return names of classes by id, from the files that lie beside a table.

    Raises:
        SourceError: One is no CSV of two columns (``E4031``).
    """
    folder = posixpath.dirname(table.path)
    with reading(table.uri):
        beside = sorted(p.rstrip("/") for p in table.fs.ls(folder, detail=False)) if table.fs.isdir(folder) else []
    names: dict[str, str] = {}
    for path in (p for p in beside if NAMES.search(posixpath.basename(p))):
        file = File(uri_of(table.fs, path), None, table.fs, path)
        try:
            rows = list(csv.reader(file.read(_LARGEST_NAMES).decode("utf-8-sig").splitlines()))
            names |= {key: name for key, name in rows if key != "LabelName"}
        except (ValueError, csv.Error) as error:
            raise SourceError(
                f"{file.uri} is no list of ids of classes and their names: {error}",
                code="E4031",
                hint="two columns without a header are needed: /m/01g317,Person",
            ) from error
    return names


def _chunk(sieve: Sieve, names: Mapping[str, str], options: ReadOptions, images: Images) -> Chunk:
    rows = sieve.rows
    split = split_of(posixpath.basename(rows.source))
    keys = targets.picture_keys(sieve.text("name", MAX_KEY), [split] if split else [], images)
    image_ids = targets.image_ids(sieve, keys)
    ids = sieve.text("category", MAX_KEY)
    sieve.refuse(is_null(ids), "missing_category", "no LabelName")
    category = pa.array([names.get(i, _PERSONS.get(i, i)) for i in ids.to_pylist()], pa.string())
    annotator = pc.fill_null(sieve.text("annotator"), options.annotator or "source")
    if not all(sieve.has(c) for c in _CORNERS):
        score, bad = sieve.number("score")
        with np.errstate(invalid="ignore"):
            bad |= (score < 0) | (score > 1)
        sieve.refuse(bad, "bad_score", "the confidence must be in [0, 1]")
        value = pa.array(np.where(score == 0, "0", "1").tolist(), pa.string())
        labels = LabelRows(sieve, image_ids, pa.nulls(sieve.size, pa.int64()), annotator, keys)
        labels.add(category, value, floats(np.where((score > 0) & (score < 1), score, np.nan)))
        return Chunk(
            labels.tables(), sieve.rejects, rows.count, rows.bytes_read, labels.positions(), rows.source, labels.keys()
        )
    origin = options.origin or "human"
    values = _pixels(sieve, image_ids, images)
    crowd = sieve.text("is_crowd")
    cells = {
        **boxes.columns_of(keys, category, values, origin),
        "image_id": image_ids,
        "is_crowd": pc.if_else(pc.is_in(crowd, pa.array(["0", "1"])), pc.equal(crowd, "1"), None),
        "origin": pa.repeat(origin, sieve.size),
    }
    if options.annotator or sieve.has("perceived_gender"):
        annotator = pa.repeat(options.annotator or "source", sieve.size)
    said = {flag: pc.if_else(pc.equal(sieve.text(flag), "1"), "1", None) for flag in _FLAGS if sieve.has(flag)}
    said |= {a: pc.utf8_lower(sieve.text(a)) for a in ("perceived_gender", "perceived_age") if sieve.has(a)}
    said |= kept_texts(sieve)
    labels = LabelRows(sieve, image_ids, cells["detection_id"], annotator, keys)
    for attribute, text in said.items():
        labels.add(attribute, text)
    tables = {"detections": base_rows(DETECTIONS, cells, sieve.keep), **labels.tables()}
    positions = {"detections": sieve.places().take(sieve.keep), **labels.positions()}
    called = {"detections": sieve.kept(keys), **labels.keys()}
    return Chunk(tables, sieve.rejects, rows.count, rows.bytes_read, positions, rows.source, called)


def _pixels(sieve: Sieve, image_ids: pa.Array, images: Images) -> npt.NDArray[np.float64]:
    """Return x, y, width, height in pixels, shape (n, 4), zeros where refused: ``bad_box``, ``unknown_size``."""
    corners = np.stack([sieve.number(c)[0] for c in _CORNERS], axis=1)
    with np.errstate(invalid="ignore"):
        sound = np.logical_and.reduce((corners >= -_ROUNDED) & (corners <= 1 + _ROUNDED), axis=1)
        sound &= (corners[:, 2:] >= corners[:, :2]).all(axis=1)
    wanted = "XMin, YMin, XMax and YMax must be fractions of the image, in this order, not"
    sieve.refuse(~sound, "bad_box", lambda i: f"{wanted} {[round(c, 4) for c in corners[i].tolist()]}")
    sizes = np.full((sieve.size, 2), np.nan) if images.sizes is None else images.sizes(image_ids)
    unknown = np.isnan(sizes).any(axis=1)
    why = "the lake has no size of the image, which fractions need: ingest the pictures themselves before"
    sieve.refuse(unknown, "unknown_size", lambda i: f"{why} ({shorten(sieve.rows.table['name'][i].as_py())})")
    pixels = corners * np.tile(sizes, 2)
    beyond: Mask = np.logical_or.reduce(np.nan_to_num(pixels[:, 2:] - sizes) > FRAME_TOLERANCE, axis=1)
    sieve.refuse(beyond, "bad_box", "the box reaches out of its image")
    pixels[:, 2:] -= pixels[:, :2]
    pixels[~sieve.keep] = 0
    return pixels + 0.0

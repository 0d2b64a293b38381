"""Boxes out of the many ways to write them: two corners, a corner and a size, a list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import SourceError
from counterbalance.ingest import hashing
from counterbalance.ingest.rows import cell_text, floats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from counterbalance.ingest.rows import Mask, Sieve

    Floats = npt.NDArray[np.float64]

FIELDS: Final = {
    "x1": ("xmin", "x_min", "left", "x0", "bbox_x1", "bbox_x", "x"),
    "y1": ("ymin", "y_min", "top", "y0", "bbox_y1", "bbox_y", "y"),
    "x2": ("xmax", "x_max", "right", "bbox_x2"),
    "y2": ("ymax", "y_max", "bottom", "bbox_y2"),
    "width": ("w", "bbox_width", "box_width", "bbox_w"),
    "height": ("h", "bbox_height", "box_height", "bbox_h"),
    "bbox": ("box", "bounding_box", "xywh"),
    "xyxy": ("bbox_xyxy", "box_xyxy"),
}
MAX_COORDINATE: Final = 1e9
WAYS: Final = (("x1", "y1", "x2", "y2"), ("x1", "y1", "width", "height"), ("xyxy",), ("bbox",))


def way(found: Mapping[str, int], names: Sequence[str], where: str) -> tuple[str, ...]:
    """Return the fields that say the box, the best way the source offers.

    Raises:
        SourceError: If there is none (``E4010``).
    """
    for fields in WAYS:
        if all(f in found for f in fields):
            return fields
    shown = ", ".join(n[:40] for n in names[:20])
    raise SourceError(
        f"{where} has no box columns; its columns are: {shown}",
        code="E4010",
        hint="x1, y1, x2, y2 or x, y, width, height or bbox (x, y, width, height); name them with --map",
    )


def boxes(sieve: Sieve, fields: Sequence[str]) -> Floats:
    """Return x, y, width, height in pixels of each row, shape (n, 4); refuses ``bad_box``.

    Args:
        sieve: The rows.
        fields: From ``way``.
    """
    if len(fields) == 1:
        values = _from_lists(sieve.text(fields[0]))
    else:
        values = np.stack([sieve.number(f)[0] for f in fields], axis=1)
    if fields[0] == "xyxy" or fields[-1] == "y2":
        values[:, 2:] -= values[:, :2]
    with np.errstate(invalid="ignore"):
        odd: Mask = ~np.logical_and.reduce(np.abs(values) <= MAX_COORDINATE, axis=1)
        negative: Mask = np.logical_or.reduce(values[:, 2:] < 0, axis=1)
    table = sieve.rows.table

    def format_box(i: int) -> str:
        return ", ".join(f"{f}={cell_text(table[f][i].as_py()) or 'nothing'}" for f in fields)

    sieve.refuse(odd, "bad_box", lambda i: f"not all of the box are finite numbers of pixels: {format_box(i)}")
    sieve.refuse(negative, "bad_box", lambda i: f"negative width or height: {format_box(i)}")
    values[odd | negative] = 0
    return values + 0.0  # -0.0 is 0.0


def _from_lists(text: pa.Array) -> Floats:
    """Return lists of four numbers written as text: ``[1, 2, 3, 4]``; NaN where they are none."""
    bare = pc.replace_substring_regex(text, r"[\[\]()\s]+", "")
    parts = pc.split_pattern(bare, ",")
    sound = pc.fill_null(pc.equal(pc.list_value_length(parts), 4), fill_value=False)
    values = np.full((len(text), 4), np.nan)
    cells = pc.list_flatten(parts.filter(sound))
    values[sound.to_numpy(zero_copy_only=False)] = np.reshape([_float(c) for c in cells.to_pylist()], (-1, 4))
    return values


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def refuse_relative(values: Floats, where: str) -> None:
    """Refuse a file whose boxes are all fractions of the image: pixels are needed, and nobody would notice.

    Args:
        values: x, y, width, height of its first rows, shape (n, 4).
        where: The file, for the message.

    Raises:
        SourceError: If all boxes lie in the unit square and not all are whole numbers (``E4013``).
    """
    real = values[(values[:, 2:] > 0).any(axis=1)]
    if len(real) and (real[:, :2] + real[:, 2:] <= 1.01).all() and (real != np.floor(real)).any():
        raise SourceError(
            f"the boxes in {where} are fractions of the image, such as {np.round(real[0], 4).tolist()}",
            code="E4013",
            hint="boxes must be in pixels: multiply by the width and height of the image",
        )


def columns_of(
    keys: pa.Array, category: pa.Array, values: Floats, origin: str | pa.Array | None = None
) -> dict[str, Any]:
    """Return columns of ``detections`` that a box itself gives: its id, category, coordinates and area.

    The id is a hash of the image's key, the category, the four coordinates as float32 bits, and who found it, if that is
    said: two detectors may find the same box. It depends on nothing else in the source.
    """
    who = [] if origin is None else [pa.repeat(origin, len(keys)) if isinstance(origin, str) else origin]
    small = values.astype(np.float32)
    bits = [pa.array(column.view(np.int32).astype(np.int64)) for column in np.ascontiguousarray(small.T)]
    columns = {name: floats(values[:, i]) for i, name in enumerate(("x", "y", "width", "height"))}
    return {
        "detection_id": hashing.hash_rows(keys, category, *bits, *who),
        "category": category,
        **columns,
        "area": floats(values[:, 2] * values[:, 3]),
    }

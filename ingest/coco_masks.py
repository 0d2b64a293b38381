"""COCO segmentations and keypoints as columns, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.ingest.rows import shorten
from counterbalance.ingest.validate import MAX_COORDINATE, is_number

if TYPE_CHECKING:
    from counterbalance.ingest.validate import ObjectSieve

_POLYGONS: Final = r"^\[\[[-+.,0-9eE]*\](,\[[-+.,0-9eE]*\])*\]$"
_RLE_LOW, _RLE_HIGH = "0", "o"


def masks(sieve: ObjectSieve) -> pa.Array:
    """Return the field ``segmentation`` as JSON text: polygons or RLE with the values they had; refuses ``bad_mask``.

    What is missing or empty is NULL. A number is written with the fewest digits that read back as the same double, a
    whole one without a fraction: COCO's own instances and keypoints files write the same polygon with 385 and 385.0.
    """
    values = sieve.values("segmentation")
    odd = [not (_is_polygons(v) if isinstance(v, list) else v is None or _is_rle(v)) for v in values]
    if any(odd):
        _refuse(sieve, odd, values)
    texts = [_text(v) if v and not bad else None for v, bad in zip(values, odd, strict=True)]
    array = pa.array(texts, pa.binary()).cast(pa.string())
    numbers = pc.or_(pc.match_substring_regex(array, _POLYGONS), pc.starts_with(array, "{"))
    wrong = ~pc.fill_null(numbers, True).to_numpy(zero_copy_only=False)
    if wrong.any():
        _refuse(sieve, wrong, values)
    return array


def _text(value: Any) -> bytes:
    return orjson.dumps(value).replace(b".0,", b",").replace(b".0]", b"]")  # packed RLE has neither point nor comma


def _refuse(sieve: ObjectSieve, bad: Any, values: list[Any]) -> None:
    message = "segmentation is neither polygons nor RLE: {}"
    sieve.refuse(bad, "bad_mask", lambda i: message.format(shorten(values[i])))


def _is_polygons(value: list[Any]) -> bool:
    """Return whether it is a list of lists of even length; the numbers in them are checked in the text."""
    for polygon in value:  # noqa: SIM110 - all() and its generator take three times as long, for millions of them
        if not isinstance(polygon, list) or len(polygon) % 2:
            return False
    return True


def _is_rle(value: object) -> bool:
    """Return whether it is ``{"size": [height, width], "counts": …}`` with runs that fill the size, or COCO's packed text."""
    if not isinstance(value, dict):
        return False
    size, counts = value.get("size"), value.get("counts")
    if not (isinstance(size, list) and len(size) == 2 and all(type(s) is int and s > 0 for s in size)):
        return False
    if isinstance(counts, str):
        return bool(counts) and min(counts) >= _RLE_LOW and max(counts) <= _RLE_HIGH
    if not isinstance(counts, list) or set(map(type, counts)) - {int}:
        return False
    return sum(counts) == size[0] * size[1] and min(counts, default=0) >= 0


def keypoints(sieve: ObjectSieve) -> pa.Array | None:
    """Return the field ``keypoints`` as lists of float32: x, y, visibility, …; ``None`` if no item has it.

    Refuses ``bad_keypoints``: not a list, not three finite numbers a point.
    """
    values = sieve.values("keypoints")
    if set(map(type, values)) <= {type(None)}:
        return None
    odd = [v is not None and not _is_keypoints(v) for v in values]
    message = "keypoints must be three finite numbers a point: {}"
    if any(odd):
        sieve.refuse(odd, "bad_keypoints", lambda i: message.format(shorten(values[i])))
    rows = [None if bad or v is None else np.array(v, np.float32) for v, bad in zip(values, odd, strict=True)]
    return pa.array(rows, pa.list_(pa.float32()))


def _is_keypoints(value: object) -> bool:
    if not isinstance(value, list) or len(value) % 3 or not all(map(is_number, value)):
        return False
    return all(-MAX_COORDINATE <= v <= MAX_COORDINATE for v in value)

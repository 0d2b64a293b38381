"""Boxes in an ``objects`` cell, as Hugging Face writes them: ``{"bbox": [[x, y, w, h]], "categories": ["cat"]}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from counterbalance.ingest.boxes import MAX_COORDINATE, columns_of, refuse_relative
from counterbalance.ingest.jsonlines import as_text, parsed_list
from counterbalance.ingest.rows import is_null, shorten
from counterbalance.ingest.validate import is_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from counterbalance.ingest.rows import Sieve

_CATEGORIES: Final = ("categories", "category", "labels", "label", "classes", "class")


def box_columns(sieve: Sieve, cells: pa.Array, keys: pa.Array) -> tuple[dict[str, pa.Array], npt.NDArray[np.int64]]:
    """Return columns of ``detections`` from the rows that are kept, and the row of each box.

    A bad box is noted (``bad_box``) and the others of its row are taken; a cell that is no such object is noted as
    ``bad_objects``.

    Args:
        sieve: The rows.
        cells: JSON text, NULL where there is none.
        keys: Key of each row's image.

    Raises:
        SourceError: If all boxes are fractions of the image.
    """
    at: list[int] = []
    values: list[list[float]] = []
    categories: list[str | None] = []
    texts = cells.to_pylist()
    for i in np.flatnonzero(sieve.keep & ~is_null(cells)).tolist():
        found = parsed_list(texts[i])
        pairs = list(_pairs(found)) if found is not None else None
        if pairs is None or (not pairs and found and not isinstance(found, list) and "bbox" not in found):
            sieve.note(i, "bad_objects", "no object with bbox and categories")
            continue
        for box, category in pairs:
            if not _is_box(box):
                sieve.note(i, "bad_box", f"x, y, width, height are needed, not {shorten(box)}")
                continue
            at.append(i)
            values.append(box)
            categories.append(as_text(category))
    rows = np.array(at, dtype=np.int64)
    array = np.array(values, dtype=np.float64).reshape(-1, 4) + 0.0
    refuse_relative(array, sieve.rows.source)
    return columns_of(keys.take(pa.array(rows)), pa.array(categories, pa.string()), array), rows


def without_place(kind: pa.DataType) -> list[str]:
    """Return the fields of objects that no row of ``detections`` has a place for.

    Example:
        >>> boxes = pa.list_(pa.list_(pa.float32()))
        >>> without_place(pa.struct({"bbox": boxes, "categories": pa.list_(pa.int64()), "area": pa.list_(pa.int64())}))
        ['area']
    """
    kind = kind.value_type if pa.types.is_list(kind) or pa.types.is_large_list(kind) else kind
    names = [kind.field(i).name for i in range(kind.num_fields)] if pa.types.is_struct(kind) else []
    category = next((name for name in _CATEGORIES if name in names), None)
    return [name for name in names if name not in {"bbox", category}]


def _pairs(found: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the box and category, from an object of lists or a list of objects; a missing category is nothing."""
    if isinstance(found, list):
        for one in found:
            yield from [(one.get("bbox"), _first(one))] if isinstance(one, dict) else [(one, None)]
        return
    boxes, names = found.get("bbox"), _first(found)
    if not isinstance(boxes, list):
        return
    names = names if isinstance(names, list) else [names] * len(boxes)
    for n, box in enumerate(boxes):
        yield box, names[n] if n < len(names) else None


def _first(found: dict[str, Any]) -> Any:
    return next((found[n] for n in _CATEGORIES if n in found), None)


def _is_box(box: Any) -> bool:
    return (
        isinstance(box, list)
        and len(box) == 4
        and all(is_number(v) and abs(v) <= MAX_COORDINATE for v in box)
        and min(box[2:]) >= 0
    )

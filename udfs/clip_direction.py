"""Compare the directions in which two vectors change: ``clip_direction``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.functions import Parameter, Partial, udf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]

_BLOCK: Final = 1 << 15
"""Numbers of a block: what is computed from one stays in a core's own cache."""
_VECTOR: Final = pa.list_(pa.float32())


@udf(
    returns=pa.float64(),
    parameters=[Parameter(name, _VECTOR) for name in ("image_a", "image_b", "text_a", "text_b")],
    version="1",
    batch_size=16_384,
)
def clip_direction(image_a: pa.Array, image_b: pa.Array, text_a: pa.Array, text_b: pa.Array) -> Partial:
    """Return how well the change from one picture to another fits the change from one text to another (CLIP_dir).

    The cosine of the two differences b - a. Nothing is normalised before: give unit vectors, as ``embed_image`` and
    ``embed_text`` make them. Differences are rounded as the vectors are (float32), sums and the quotient are in double
    precision; a row's value does not depend on other rows.

    Args:
        image_a: Vectors of the first pictures; any NULL gives NULL.
        image_b: Of the second ones.
        text_a: Of the texts of the first pictures.
        text_b: Of those of the second ones.

    Returns:
        float64 in [-1, 1]; 0 where the pictures, or the texts, have equal vectors. A row whose four vectors differ in length,
        or hold what is not a number, is an error of that row.

    Source:
        Gal et al., StyleGAN-NADA (2022), equation 2; as the score of pairs in Brooks et al., InstructPix2Pix (2023) and Le et
        al., COCO-Counterfactuals (2023), section 3.2.

    Example:
        >>> one, other = pa.array([[1.0, 0.0]], pa.list_(pa.float32())), pa.array([[0.0, 1.0]], pa.list_(pa.float32()))
        >>> clip_direction(one, other, one, other).values.to_pylist()
        [1.0]
        >>> clip_direction(one, one, one, other).values.to_pylist()
        [0.0]
    """
    given = [v.cast(_VECTOR) if pa.types.is_fixed_size_list(v.type) else v for v in (image_a, image_b, text_a, text_b)]
    whole = _matrices(given)
    if whole is not None:
        cosines = _cosines(*whole)
        return _partial(cosines, np.arange(len(cosines)), len(cosines), {})
    widths = np.stack([pc.fill_null(pc.list_value_length(v), -1).to_numpy() for v in given])
    there = (widths >= 0).all(axis=0)
    equal = there & (widths == widths[0]).all(axis=0)
    errors = {int(row): f"vectors of {_listed(widths[:, row])} numbers" for row in np.flatnonzero(there & ~equal)}
    values = np.zeros(len(equal))
    for width in np.unique(widths[0, equal]):
        rows = np.flatnonzero(equal & (widths[0] == width))
        values[rows] = _cosines(*(_rows(v, rows, int(width)) for v in given))
    return _partial(values[equal], np.flatnonzero(equal), len(equal), errors)


def _listed(widths: NDArray[np.int32]) -> str:
    return ", ".join(map(str, widths.tolist()))


def _partial(cosines: Doubles, rows: NDArray[Any], count: int, errors: dict[int, str]) -> Partial:
    values, missing = np.zeros(count), np.ones(count, bool)
    values[rows], missing[rows] = cosines, False
    strange = rows[~np.isfinite(cosines)]
    errors |= {int(row): "a vector holds what is not a number" for row in strange}
    missing[strange] = True
    return Partial(pa.array(values, mask=missing), errors)


def _matrices(given: Sequence[pa.Array]) -> list[Floats] | None:
    """Return the vectors as they lie in memory, where none is NULL and all are equally long."""
    count = len(given[0])
    width = len(given[0][0]) if count and given[0][0].is_valid else 0
    found: list[Floats] = []
    for vectors in given:
        offsets = vectors.offsets.to_numpy()
        if not width or vectors.null_count or not (np.diff(offsets) == width).all():
            return None
        inner = vectors.values
        if inner.null_count:
            return None
        found.append(inner.to_numpy()[offsets[0] : offsets[-1]].reshape(count, width))
    return found


def _rows(vectors: pa.Array, rows: NDArray[Any], width: int) -> Floats:
    inner = vectors.take(pa.array(rows)).flatten()
    return np.asarray(inner.to_numpy(zero_copy_only=False), np.float32).reshape(len(rows), width)


def _cosines(image_a: Floats, image_b: Floats, text_a: Floats, text_b: Floats) -> Doubles:
    """Return the cosines of differences; each row by itself, in blocks that stay in a cache.

    All four have the shape (n, width).
    """
    count, width = image_a.shape
    step = max(1, _BLOCK // max(1, width))
    products, images, texts = np.empty(count), np.empty(count), np.empty(count)
    of_images, of_texts = np.empty((step, width)), np.empty((step, width))
    single = np.empty((step, width), np.float32)
    for start in range(0, count, step):
        part = slice(start, start + step)
        size = min(step, count - start)
        image, text = of_images[:size], of_texts[:size]
        for difference, one, other in ((image, image_a, image_b), (text, text_a, text_b)):
            np.subtract(other[part], one[part], out=single[:size])
            np.copyto(difference, single[:size])
        np.vecdot(image, text, out=products[part])
        np.vecdot(image, image, out=images[part])
        np.vecdot(text, text, out=texts[part])
    lengths = np.sqrt(images * texts)
    with np.errstate(invalid="ignore"):
        cosines = np.divide(products, lengths, out=np.zeros(count), where=~(lengths == 0))
    return np.asarray(np.where(np.isnan(lengths), np.nan, np.clip(cosines, -1, 1)), np.float64)

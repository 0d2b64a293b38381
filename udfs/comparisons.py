"""Compare two pictures in what they show, in colour and outside a box: filters of edited pictures rank by it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import decode
from counterbalance.udfs.pictures import each, within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

SIDE: Final = 14
"""Cells a side of the grid of the sources."""
_LARGEST: Final = 256
_BATCH: Final = 64
_GRID: Final = pa.list_(pa.float32())
_A, _B = Parameter("a", pa.binary()), Parameter("b", pa.binary())
_BOX: Final = tuple(Parameter(name, pa.float64()) for name in ("x", "y", "width", "height"))


@udf(
    returns=_GRID,
    parameters=[Parameter("image", pa.binary()), Parameter("side", pa.int64(), SIDE, constant=True)],
    version="1",
    batch_size=_BATCH,
)
def color_grid(image: pa.Array, side: int) -> Partial:
    """Return mean colours of a picture's cells in a grid: what is left of it without shapes.

    Args:
        image: Encoded pictures.
        side: Cells across and down, 1 to 256; a picture that is not square is squeezed.

    Returns:
        A list of side x side x 3 float32 a picture: red, green and blue in [0, 1], cell after cell, row after row; each the
        mean over the pixels of the cell, those on its edge by the share that lies in it.

    Raises:
        FunctionError: The side is out of range (E8116).

    Source: N. Meister et al., Gender Artifacts in Visual Datasets (2023), colour statistics at 14 x 14.

    Example:
        ``SELECT image_id, color_grid(image) FROM images``
    """
    if not 1 <= side <= _LARGEST:
        raise FunctionError(
            f"a grid cannot have {side} cells a side", code="E8116", hint=f"1 to {_LARGEST}; the papers take {SIDE}"
        )
    return each(lambda data: grid(decode(data), side), _GRID, image)


def grid(picture: Image, side: int = SIDE) -> NDArray[np.float32]:
    """Return mean colours of the cells of a picture.

    Args:
        picture: RGB.
        side: Cells across and down.

    Returns:
        float32 (side * side * 3,) in [0, 1].

    Example:
        >>> from PIL import Image
        >>> grid(Image.new("RGB", (7, 3), (255, 0, 51)), 1).tolist()
        [1.0, 0.0, 0.20000000298023224]
    """
    import numpy as np

    rows = _means(np.asarray(picture), side)
    cells = _means(rows.swapaxes(0, 1), side).swapaxes(0, 1)
    return (cells / 255).astype(np.float32).ravel()


def _means(values: NDArray[Any], parts: int) -> NDArray[np.float64]:
    """Return means along the first axis of equal parts of it; in one order of adding up, whatever the machine's libraries."""
    import numpy as np

    length = len(values)
    found = np.empty((parts, *values.shape[1:]))
    for part in range(parts):
        first, last = length * part / parts, length * (part + 1) / parts
        places = np.arange(math.floor(first), math.ceil(last))
        weights = np.minimum(places + 1, last) - np.maximum(places, first)
        found[part] = np.einsum("r,r...->...", weights, values[places[0] : places[-1] + 1]) / (last - first)
    return found


@udf(returns=pa.float64(), parameters=[_A, _B], version="1", batch_size=_BATCH)
def color_fidelity(a: pa.Array, b: pa.Array) -> Partial:
    """Return how alike two pictures are in colour: 1 / the Frobenius norm of their difference at 14 x 14; +infinity without any.

    The sides may be exchanged. Pictures of different sizes are squeezed into the same grid.

    Args:
        a: Encoded pictures.
        b: Encoded pictures, such as edits of ``a``.

    Returns:
        float64 above 0. Colours are in [0, 1], so the smallest value, black against white, is 1 / sqrt(14 * 14 * 3).

    Source: Y. Hirota et al., Resampled Datasets Are Not Enough (2024), colour fidelity of an inpainted picture.

    Example:
        ``SELECT color_fidelity(i.image, r.edited) FROM inpaint_requests AS r JOIN images AS i USING (image_id)``
    """
    import numpy as np

    held: dict[bytes, NDArray[np.float64]] = {}  # of one source there are many edits in a row

    def cells(data: bytes) -> NDArray[np.float64]:
        if data not in held:
            held[data] = grid(decode(data)).astype(np.float64)
        return held[data]

    def fidelity(one: bytes, other: bytes) -> float:
        distance = math.sqrt(math.fsum(((cells(one) - cells(other)) ** 2).tolist()))
        return 1 / distance if distance else math.inf

    return each(fidelity, pa.float64(), a, b)


@udf(returns=pa.int32(), parameters=[_A, _B, *_BOX], version="1", batch_size=_BATCH)
def background_difference(
    a: pa.Array, b: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array
) -> Partial:
    """Return the largest difference of two pictures outside a box: 0 if an edit changed nothing but what it was asked to.

    Args:
        a: Encoded pictures.
        b: Encoded pictures of the same size, such as edits of ``a``.
        x: Left edges, pixels.
        y: Top edges, pixels.
        width: Pixels.
        height: Pixels.

    Returns:
        int32, 0 to 255: the largest absolute difference of a colour of a pixel that the box does not touch; 0 where it
        touches them all. Pictures of different sizes, or a box that is not in them, are an error of the row.

    Example:
        ``SELECT max(background_difference(i.image, r.edited, x, y, r.width, r.height)) FROM …``
    """
    import numpy as np

    def difference(one: bytes, other: bytes, *box: float) -> int:
        first, second = decode(one), decode(other)
        if first.size != second.size:
            raise ValueError(f"pictures of {_size(first)} and {_size(second)}: nothing lies outside a box of both")
        left, top, right, bottom = within(first, *box)
        found = np.abs(np.asarray(first, np.int16) - np.asarray(second, np.int16))
        found[top:bottom, left:right] = 0
        return int(found.max())

    return each(difference, pa.int32(), a, b, x, y, width, height)


def _size(picture: Image) -> str:
    return f"{picture.width} x {picture.height}"


@udf(
    returns=pa.float64(),
    parameters=[Parameter("a", pa.list_(pa.string())), Parameter("b", pa.list_(pa.string()))],
    version="1",
    batch_size=1 << 16,
)
def object_f1(a: pa.Array, b: pa.Array) -> pa.Array:
    """Return how alike two sets of objects are: their F1, 2 x those in both / (those in one + those in the other).

    Args:
        a: Categories of what is in a picture; how often one is named does not matter, and neither does a NULL among them.
        b: Categories of what is in another, such as an edit of it.

    Returns:
        float64 in [0, 1]; 1 for equal sets, two empty ones among them; NULL where a list is NULL. The sides may be exchanged.

    Source: Y. Hirota et al., Resampled Datasets Are Not Enough (2024), object consistency of an inpainted picture.

    Example:
        ``object_f1(['dog', 'car'], ['dog', 'dog', 'bus'])`` is 0.5
    """
    import numpy as np

    words = pa.chunked_array([pc.list_flatten(a), pc.list_flatten(b)]).unique().drop_null()
    ones, others = _members(a, words), _members(b, words)
    together = np.sort(np.concatenate((ones, others)))
    both = together[1:][together[1:] == together[:-1]]
    width = max(1, len(words))
    counts = [np.bincount(keys // width, minlength=len(a)) for keys in (both, ones, others)]
    total = counts[1] + counts[2]
    values = np.where(total > 0, 2 * counts[0] / np.maximum(total, 1), 1.0)
    missing = pc.or_(a.is_null(), b.is_null())
    return pa.array(values, pa.float64(), mask=missing.to_numpy(zero_copy_only=False))


def _members(lists: pa.Array, words: pa.Array) -> NDArray[np.int64]:
    """Return the row and word of every member of the rows' sets as one number, rising: row * number of words + place of the word."""
    import numpy as np

    row = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False).astype(np.int64)
    place = pc.index_in(pc.list_flatten(lists), words)
    known = place.is_valid().to_numpy(zero_copy_only=False)
    found = np.sort(row[known] * max(1, len(words)) + place.drop_null().to_numpy())
    first = np.ones(len(found), bool)  # np.unique hashes, and takes a hundred times as long
    first[1:] = found[1:] != found[:-1]
    members: NDArray[np.int64] = found[first]
    return members

"""Read and write segmentation masks as the column ``detections.mask`` has them: COCO's run lengths or polygons, as JSON text.

Run lengths go down the columns, left to right, and begin with pixels outside the mask: ``{"size": [height, width],
"counts": …}``, with the lengths as a list, or packed into text of six bits a character as COCO's own tools do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

BOXES: Final = pa.list_(
    pa.struct(
        [
            pa.field("category", pa.string()),
            *(pa.field(name, pa.float32()) for name in ("score", "x", "y", "width", "height")),
            pa.field("mask", pa.string()),
        ]
    )
)
"""What a detector finds in a picture: boxes in pixels of the picture as stored, origin top-left; masks may be NULL."""
_ZERO: Final = ord("0")


def encode(mask: NDArray[np.bool_]) -> str:
    """Return a mask as JSON text of packed run lengths.

    Args:
        mask: bool (height, width).

    Example:
        >>> import numpy as np
        >>> encode(np.array([[0, 1, 1], [0, 0, 1]], bool))
        '{"size":[2,3],"counts":"2111"}'
    """
    import numpy as np
    import orjson

    flat = np.asarray(mask, bool).ravel(order="F")
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    runs = np.diff(np.concatenate(([0], edges, [flat.size])))
    lengths = [0, *runs.tolist()] if flat.size and flat[0] else runs.tolist()
    return orjson.dumps({"size": [int(s) for s in mask.shape], "counts": _packed(lengths)}).decode()


def decode(text: str, height: int, width: int) -> NDArray[np.bool_]:
    """Return the mask of a picture from its JSON text.

    Args:
        text: Run lengths (list or packed) or polygons.
        height: Of the picture, in pixels.
        width: Of the picture, in pixels.

    Returns:
        bool (height, width). The edge of a polygon may differ by a pixel from what COCO's own tools draw.

    Raises:
        ValueError: It is none, or of another size.

    Example:
        >>> decode('{"size":[2,3],"counts":[2,1,1,2]}', 2, 3).astype(int).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    import orjson

    try:
        value = orjson.loads(text)
        return _polygons(value, height, width) if isinstance(value, list) else _runs(value, height, width)
    except (TypeError, KeyError, OverflowError, orjson.JSONDecodeError) as error:
        raise ValueError(f"mask is neither run lengths nor polygons: {text[:60]!r}") from error


def _runs(value: Any, height: int, width: int) -> NDArray[np.bool_]:
    import numpy as np

    if value["size"] != [height, width]:
        raise ValueError(f"mask is of size {value['size']}, the picture of [{height}, {width}]")
    counts = value["counts"]
    lengths = np.array(_unpacked(counts) if isinstance(counts, str) else counts, np.int64)
    if lengths.min(initial=0) < 0 or lengths.sum() != height * width:
        raise ValueError(f"mask has run lengths that do not fill {height} x {width} pixels")
    inside = np.arange(len(lengths)) % 2 == 1
    return np.repeat(inside, lengths).reshape((height, width), order="F")


def _polygons(value: list[Any], height: int, width: int) -> NDArray[np.bool_]:
    import numpy as np
    from PIL import Image, ImageDraw

    canvas = Image.new("1", (width, height))
    draw = ImageDraw.Draw(canvas)
    for polygon in value:
        if len(polygon) % 2 or not all(isinstance(v, int | float) for v in polygon):
            raise TypeError
        if len(polygon) >= 6:
            draw.polygon(polygon, fill=1)
    return np.array(canvas, bool)


def _packed(lengths: Sequence[int]) -> str:
    """Return each length, from the fourth on less the one two before, in groups of five bits, lowest first."""
    found = bytearray()
    for place, length in enumerate(lengths):
        value, more = length - (lengths[place - 2] if place > 2 else 0), True
        while more:
            low, value = value & 0x1F, value >> 5
            more = value != (-1 if low & 0x10 else 0)
            found.append(_ZERO + low + (0x20 if more else 0))
    return found.decode()


def _unpacked(text: str) -> list[int]:
    lengths: list[int] = []
    value = shift = 0
    for byte in text.encode():
        low = byte - _ZERO
        value |= (low & 0x1F) << shift
        shift += 5
        if not low & 0x20:
            if low & 0x10:
                value -= 1 << shift
            lengths.append(value + (lengths[-2] if len(lengths) > 2 else 0))
            value = shift = 0
    return lengths

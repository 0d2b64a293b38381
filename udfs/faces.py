"""Exchange a face in a picture for another: the baseline GENSWAP, which changes no more of a picture than a face."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import decode, encode
from counterbalance.udfs.pictures import each, within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

FEATHER: Final = 0.2
"""Share of the ellipse's radius, from its edge inwards, over which one face passes into the other."""
_BOX: Final = tuple(Parameter(name, pa.float64()) for name in ("x", "y", "width", "height"))


@udf(
    returns=pa.binary(),
    parameters=[Parameter("image", pa.binary()), *_BOX, Parameter("face", pa.binary())],
    version="1",
    batch_size=64,
)
def swap_face(image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array, face: pa.Array) -> Partial:
    """Return the picture with another face in a box: an ellipse, in the colours of the face it covers, with a soft edge.

    The new face is cut to the box's shape around its middle, scaled to the box, and given the mean and the standard
    deviation of each colour that the old one has within the ellipse (as Reinhard et al. 2001, in RGB). Pixels outside the
    ellipse stay as they are, to the bit.

    Args:
        image: Encoded pictures.
        x: Left edges of the box of the face, pixels.
        y: Top edges, pixels.
        width: Pixels.
        height: Pixels; of a box that reaches out of the picture, the part in it is taken.
        face: Encoded pictures of faces, cut out closely.

    Returns:
        PNG bytes; their metadata (XMP) call them put together from photographs. NULL in any argument gives NULL. A picture
        that cannot be decoded, or a box that is not in it, is an error of its row.

    Source: B. Smith et al., Balancing the Picture (2023), GENSWAP: faces exchanged, as a baseline of GENSYNTH.

    Example:
        ``swap_face(i.image, d.x, d.y, d.width, d.height, f.image)`` with ``d`` a row for each detected face
    """
    source = provenance.Provenance(provenance.CAPTURES, software=f"counterbalance {version('counterbalance')}").packet()

    def edit(data: bytes, *values: Any) -> bytes:
        *box, other = values
        return encode(swapped(decode(data), decode(other), *box), xmp=source)

    return each(edit, pa.binary(), image, x, y, width, height, face)


def swapped(picture: Image, face: Image, x: float, y: float, width: float, height: float) -> Image:
    """Return a picture with another face in a box.

    Args:
        picture: RGB.
        face: RGB, of any size.
        x: Left edge of the box, pixels.
        y: Top edge.
        width: Pixels.
        height: Pixels.

    Raises:
        ValueError: The box is not in the picture.
    """
    import numpy as np
    from PIL import Image as PillowImage
    from PIL import ImageOps

    corners = left, top, right, bottom = within(picture, x, y, width, height)
    size = right - left, bottom - top
    old = np.asarray(picture.crop(corners), np.float64)
    new = np.asarray(ImageOps.fit(face, size, PillowImage.Resampling.LANCZOS), np.float64)
    share = ellipse(*size)[..., None]
    mixed = old + share * (matched(new, old, share[..., 0] > 0) - old)
    part = PillowImage.fromarray(np.clip(np.rint(mixed), 0, 255).astype(np.uint8))
    result = picture.copy()
    result.paste(part, corners[:2])
    return result


def ellipse(width: int, height: int) -> NDArray[np.float64]:
    """Return how much of the new face each pixel of a box shows: 1 within, 0 outside the ellipse that fills it, falling between.

    Args:
        width: Pixels.
        height: Pixels.

    Returns:
        float64 (height, width) in [0, 1].

    Example:
        >>> ellipse(5, 1).round(2).tolist()
        [[1.0, 1.0, 1.0, 1.0, 1.0]]
    """
    import numpy as np

    across = (np.arange(width) + 0.5) / width * 2 - 1
    down = (np.arange(height) + 0.5) / height * 2 - 1
    inside: NDArray[np.float64] = np.clip((1 - np.hypot(across[None], down[:, None])) / FEATHER, 0, 1)
    return inside


def matched(new: NDArray[np.float64], old: NDArray[np.float64], where: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the colours of one picture moved and stretched to another's mean and standard deviation, each colour by itself.

    Args:
        new: (height, width, 3).
        old: Of the same shape.
        where: bool (height, width): pixels that count.

    Returns:
        float64 of that shape; where ``new`` is of one colour, that becomes the mean of ``old``.

    Example:
        >>> import numpy as np
        >>> new, old = np.array([[[0.0], [2.0]]]), np.array([[[10.0], [16.0]]])
        >>> matched(new, old, np.ones((1, 2), bool)).ravel().tolist()
        [10.0, 16.0]
    """
    import numpy as np

    if not where.any():
        return old
    deviation = new[where].std(0)
    factor = np.divide(old[where].std(0), deviation, out=np.zeros_like(deviation), where=deviation > 0)
    moved: NDArray[np.float64] = (new - new[where].mean(0)) * factor + old[where].mean(0)
    return moved

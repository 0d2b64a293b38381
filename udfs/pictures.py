"""Cut, mark and cover pictures: bytes in, PNG bytes out, in pixels of the picture as stored.

NULL in any argument gives NULL: a picture of which nobody looked for people is not handed on as if it had none. What goes
out are pixels only; comments, places and colour profiles stay behind. A picture that cannot be decoded, or a box that is
not in it, is an error of its row.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import FunctionError, did_you_mean
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import ImageError, decode, encode
from counterbalance.udfs import masks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from PIL.Image import Image

FILLS: Final = ("black", "mask")
HEAD_SHARE: Final = 0.34
"""Upper part of a standing person's box in which a face is looked for."""
_BATCH: Final = 64
_IMAGE: Final = Parameter("image", pa.binary())
_BOX: Final = tuple(Parameter(name, pa.float64()) for name in ("x", "y", "width", "height"))
_PEOPLE: Final = Parameter("people", masks.BOXES)
_RED: Final = (255, 0, 0)

Corners = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are outside."""


@udf(
    returns=pa.binary(),
    parameters=[
        _IMAGE,
        *_BOX,
        Parameter("margin", pa.float64(), 0.0, constant=True),
        Parameter("side", pa.int64(), 0, constant=True),
    ],
    version="1",
    batch_size=_BATCH,
)
def crop(
    image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array, margin: float, side: int
) -> Partial:
    """Return the part of a picture in a box, whole pixels, with a margin as a share of the box's sides; no wider than the picture.

    Args:
        image: Encoded pictures.
        x: Left edges, pixels.
        y: Top edges, pixels.
        width: Pixels.
        height: Pixels.
        margin: Added on every side, in parts of the box's width and height.
        side: Pixels that the shorter side is shrunk to, by bicubic resampling, the longer one in proportion; a part that is
            smaller stays as it is, and with 0 all do.

    Raises:
        FunctionError: The margin or the side is negative, or the margin no number (E8116).

    Source:
        Girrbach et al. (2025), C.2: crops of several sizes, to find the smallest that can be labelled.

    Example:
        ``SELECT crop(i.image, d.x, d.y, d.width, d.height, margin := 0.1) FROM images AS i JOIN detections AS d USING (image_id)``
    """
    if not 0 <= margin < math.inf:
        raise FunctionError(
            f"a margin cannot be {margin}", code="E8116", hint="0 or more: 0.1 adds a tenth on every side"
        )
    if side < 0:
        raise FunctionError(f"a side cannot be {side}", code="E8116", hint="pixels, or 0 to leave the size as it is")

    def edit(picture: Image, *box: float) -> Image:
        left, top, wide, high = box
        grown = left - margin * wide, top - margin * high, wide * (1 + 2 * margin), high * (1 + 2 * margin)
        return shrunk(picture.crop(within(picture, *grown)), side)

    return _edited(edit, image, x, y, width, height)


@udf(returns=pa.binary(), parameters=[_IMAGE, *_BOX], version="1", batch_size=_BATCH)
def highlight(image: pa.Array, x: pa.Array, y: pa.Array, width: pa.Array, height: pa.Array) -> Partial:
    """Return the whole picture with a red frame around a box: of whom a caption is asked.

    The frame is drawn just outside the box, as far as the picture reaches, so that it hides nothing of whom it shows.

    Args:
        image: Encoded pictures.
        x: Left edges, pixels.
        y: Top edges, pixels.
        width: Pixels.
        height: Pixels.

    Source: Girrbach et al., person annotations of LAION-400M (2025), captions of persons.

    Example:
        ``SELECT highlight(i.image, d.x, d.y, d.width, d.height) FROM images AS i JOIN detections AS d USING (image_id)``
    """
    return _edited(framed, image, x, y, width, height)


@udf(
    returns=pa.binary(),
    parameters=[_IMAGE, _PEOPLE, Parameter("fill", pa.string(), "black", constant=True)],
    version="1",
    batch_size=_BATCH,
)
def mask_people(image: pa.Array, people: pa.Array, fill: str) -> Partial:
    """Paint people of a picture black, or (fill := 'mask') white on black where they are, for inpainting.

    Args:
        image: Encoded pictures.
        people: As ``detect_people`` gives them; all of them are covered, by their mask where they have one, else by their box.
        fill: ``'black'`` or ``'mask'``.

    Raises:
        FunctionError: There is no such fill (E8116).

    Example:
        ``SELECT mask_people(image, detect_people(image, model := 'yolo11l-seg'), fill := 'mask') FROM images``
    """
    if fill not in FILLS:
        raise FunctionError(
            f"no fill {fill!r}{did_you_mean(fill, FILLS)}", code="E8116", hint="one of " + ", ".join(FILLS)
        )

    def edit(picture: Image, boxes: list[Mapping[str, Any]]) -> Image:
        from PIL import Image as PillowImage

        where = PillowImage.new("L", picture.size)
        for box in boxes:
            _cover(where, box)
        if fill == "mask":
            return where
        picture.paste((0, 0, 0), mask=where)
        return picture

    return _edited(edit, image, people)


@udf(returns=pa.binary(), parameters=[_IMAGE, _PEOPLE], version="1", batch_size=_BATCH)
def blur_faces(image: pa.Array, people: pa.Array) -> Partial:
    """Return the picture with the upper part of every person's box blurred beyond recognition; who has no box can still be seen.

    The upper third of a box that is taller than wide, all of any other.

    Args:
        image: Encoded pictures.
        people: As ``detect_people`` gives them.

    Example:
        ``SELECT blur_faces(image, detect_people(image, score := 0.1)) FROM images``
    """

    def edit(picture: Image, boxes: list[Mapping[str, Any]]) -> Image:
        for box in boxes:
            x, y, width, height = _sides(box)
            blur(picture, _corners(picture, x, y, width, height * (HEAD_SHARE if height > width else 1)))
        return picture

    return _edited(edit, image, people)


def framed(picture: Image, x: float, y: float, width: float, height: float) -> Image:
    """Return the picture itself, with a red frame drawn around a box.

    Args:
        picture: RGB; changed in place.
        x: Left edge, pixels.
        y: Top edge, pixels.
        width: Pixels.
        height: Pixels.

    Raises:
        ValueError: The box is not in it.
    """
    from PIL import ImageDraw

    left, top, right, bottom = within(picture, x, y, width, height)
    thick = max(2, round(max(picture.size) / 200))
    outer = max(0, left - thick), max(0, top - thick), right - 1 + thick, bottom - 1 + thick
    outer = (*outer[:2], min(picture.width - 1, outer[2]), min(picture.height - 1, outer[3]))
    ImageDraw.Draw(picture).rectangle(outer, outline=_RED, width=thick)
    return picture


def shrunk(picture: Image, side: int) -> Image:
    """Return the picture with a shorter side of so many pixels, or itself where that is no less than it has, or 0.

    Example:
        >>> from PIL import Image as PillowImage
        >>> shrunk(PillowImage.new("RGB", (90, 60)), 20).size, shrunk(PillowImage.new("RGB", (90, 60)), 70).size
        ((30, 20), (90, 60))
    """
    from PIL import Image as PillowImage

    shorter = min(picture.size)
    if not 0 < side < shorter:
        return picture
    width, height = (round(v * side / shorter) for v in picture.size)
    return picture.resize((width, height), PillowImage.Resampling.BICUBIC)


def blur(picture: Image, corners: Corners) -> None:
    """Leave five blocks across, smoothed: nothing of a face remains in the pixels.

    Args:
        picture: RGB; changed in place.
        corners: Left, top, right, bottom in pixels, within the picture.
    """
    from PIL import Image as PillowImage
    from PIL import ImageFilter

    part = picture.crop(corners)
    if not part.width or not part.height:
        return
    across = max(1, min(5, part.width // 4))
    coarse = part.resize((across, max(1, round(across * part.height / part.width))), PillowImage.Resampling.BOX)
    smooth = coarse.resize(part.size, PillowImage.Resampling.BICUBIC).filter(ImageFilter.GaussianBlur(2))
    picture.paste(smooth, corners[:2])


def _edited(edit: Callable[..., Image], image: pa.Array, *others: pa.Array) -> Partial:
    """Return PNG bytes of every edited picture."""
    return each(lambda data, *values: encode(edit(decode(data), *values)), pa.binary(), image, *others)


def each(call: Callable[..., Any], kind: pa.DataType, *arrays: pa.Array) -> Partial:
    """Return what a function makes of the values of each row, one at a time, so that one decoded picture is held and not all.

    Args:
        call: Gets the Python values of a row, none of them NULL; an ``ImageError`` or ``ValueError`` is an error of the row.
        kind: Type of what it returns.
        arrays: Of one length; NULL in any of them gives NULL.

    Example:
        >>> each(lambda a, b: a / b, pa.float64(), pa.array([1.0, None]), pa.array([4, 2])).values.to_pylist()
        [0.25, None]
    """
    found: list[Any] = []
    errors: dict[int, str] = {}
    for row, values in enumerate(_rows(*arrays)):
        value = None
        if all(v is not None for v in values):
            try:
                value = call(*values)
            except (ImageError, ValueError) as error:
                errors[row] = str(error)
        found.append(value)
    return Partial(pa.array(found, kind), errors)


def _rows(*arrays: pa.Array) -> Iterator[tuple[Any, ...]]:
    for row in range(len(arrays[0])):
        yield tuple(a[row].as_py() for a in arrays)


def within(picture: Image, x: float, y: float, width: float, height: float) -> Corners:
    """Return the pixels of the picture that a box touches.

    Raises:
        ValueError: There are none.
    """
    corners = left, top, right, bottom = _corners(picture, x, y, width, height)
    if width <= 0 or height <= 0 or left >= right or top >= bottom:
        size = f"{picture.width} x {picture.height}"
        raise ValueError(f"no box in a picture of {size}: x {x:g}, y {y:g}, width {width:g}, height {height:g}")
    return corners


def _corners(picture: Image, x: float, y: float, width: float, height: float) -> Corners:
    if not all(map(math.isfinite, (x, y, width, height))):
        raise ValueError("a box has a side that is not a number")
    left, right = (min(picture.width, max(0, v)) for v in (math.floor(x), math.ceil(x + width)))
    top, bottom = (min(picture.height, max(0, v)) for v in (math.floor(y), math.ceil(y + height)))
    return left, top, max(left, right), max(top, bottom)


def _sides(box: Mapping[str, Any] | None) -> tuple[float, float, float, float]:
    """Return left, top, width, height of a person's box.

    Raises:
        ValueError: One is NULL: who cannot be covered is not left uncovered without a word.
    """
    x, y, width, height = (None if box is None else box[name] for name in ("x", "y", "width", "height"))
    if x is None or y is None or width is None or height is None:
        raise ValueError("a box of a person is NULL")
    return x, y, width, height


def _cover(where: Image, box: Mapping[str, Any] | None) -> None:
    """Paint white over the mask of a person, or over the box."""
    if box is None or box["mask"] is None:
        where.paste(255, _corners(where, *_sides(box)))
        return
    from PIL import Image as PillowImage

    found = PillowImage.fromarray(masks.decode(box["mask"], where.height, where.width))
    where.paste(255, mask=found)

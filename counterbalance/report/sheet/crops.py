"""The picture of a unit: a person with a margin and a frame, or the whole image; small, and nothing but pixels."""

from __future__ import annotations

import base64
import math
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.images import ImageError, decode, encode, read_header
from counterbalance.report import pictures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from PIL.Image import Image

    from counterbalance.engine.lake import Lake
    from counterbalance.engine.session import Session
    from counterbalance.report.sheet.sampling import Drawn

SIDE: Final = 360
"""Longer side of a picture in pixels."""
MARGIN: Final = 0.25
"""Of the longer side of a box, kept around it."""
_AT_ONCE: Final = 64
_Box = tuple[float, float, float, float]


def pictures_of(lake: Lake, session: Session, units: Sequence[Drawn], *, blur: bool) -> Iterator[tuple[Drawn, str]]:
    """Yield units with their pictures as ``data:image/jpeg;base64,…``; those that cannot be decoded are left out.

    Args:
        lake: The lake.
        session: Whose pinned versions are read.
        units: The sample.
        blur: Blur the upper part of every person's box, and whole pictures without boxes.
    """
    for start in range(0, len(units), _AT_ONCE):
        part = units[start : start + _AT_ONCE]
        ids = sorted({u.image_id for u in part})
        stored = pictures.stored_bytes(lake, session, ids)
        boxes = pictures.boxes_of(session, ids) if blur else None
        for unit in part:
            own = None if boxes is None else boxes.get(unit.image_id, [])
            try:
                yield unit, as_uri(picture(stored.get(unit.image_id) or b"", unit.box, own))
            except ImageError:
                continue


def picture(data: bytes, box: _Box | None, people: Sequence[Mapping[str, Any]] | None = None) -> Image:
    """Return what an annotator sees of a unit.

    Args:
        data: The encoded picture.
        box: x, y, width and height of the person in pixels as stored; ``None`` for the whole image.
        people: Boxes to blur the heads of; ``None`` blurs nothing, an empty list everything.

    Returns:
        RGB, at most ``SIDE`` pixels long, upright.

    Raises:
        ImageError: The bytes are not a picture that is safe to decode, or the box lies outside of it.
    """
    whole = decode(data, side=2 * SIDE if box is None and people is None else None)
    if people is not None:
        pictures.blur_heads(whole, pictures.frames_of(people, whole.width, whole.height))
    found = whole if box is None else _crop(whole, box)
    found.thumbnail((SIDE, SIDE))
    return _upright(found, read_header(data).orientation)


def as_uri(found: Image) -> str:
    """Return a picture as a small JPEG that a page can hold."""
    return "data:image/jpeg;base64," + base64.b64encode(encode(found, "JPEG")).decode()


def _crop(whole: Image, box: _Box) -> Image:
    """Return the box with its margin, made small, and a frame around the person: several may be in the picture."""
    if not all(map(math.isfinite, box)):
        raise ImageError("the box is not finite", "bad_box")
    x, y, width, height = box
    edge = MARGIN * max(width, height)
    left, top = max(0, math.floor(x - edge)), max(0, math.floor(y - edge))
    right, bottom = min(whole.width, math.ceil(x + width + edge)), min(whole.height, math.ceil(y + height + edge))
    if right - left < 2 or bottom - top < 2 or width <= 0 or height <= 0:
        raise ImageError("the box lies outside of the picture", "bad_box")
    part = whole.crop((left, top, right, bottom))
    part.thumbnail((SIDE, SIDE))
    across, down = part.width / (right - left), part.height / (bottom - top)
    _frame(part, ((x - left) * across, (y - top) * down, (x + width - left) * across, (y + height - top) * down))
    return part


def _frame(part: Image, corners: _Box) -> None:
    """Draw two lines, dark and light, so that one is seen on any ground."""
    from PIL import ImageDraw

    x0, y0 = max(1, round(corners[0])), max(1, round(corners[1]))
    x1, y1 = min(part.width - 2, round(corners[2])), min(part.height - 2, round(corners[3]))
    if x1 - x0 < 2 or y1 - y0 < 2:
        return
    lines = ImageDraw.Draw(part)
    lines.rectangle((x0 - 1, y0 - 1, x1 + 1, y1 + 1), outline=(20, 20, 20))
    lines.rectangle((x0, y0, x1, y1), outline=(255, 214, 10))


def _upright(found: Image, orientation: int) -> Image:
    """Turn a picture as EXIF says, since EXIF itself is not kept."""
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return found.transpose(turns[orientation]) if orientation in turns else found

"""Flat drawings made of polygons, and their boxes and masks."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Point = tuple[float, float]
WIDTH: Final = 320
HEIGHT: Final = 240
_SCALE: Final = 2
_SIDES: Final = 20


@dataclass(frozen=True, slots=True)
class Part:
    """A filled polygon: corner points in pixels of the image, a colour as ``#rrggbb``."""

    points: tuple[Point, ...]
    fill: str


Drawing = list[Part]


def polygon(fill: str, *points: Point) -> Part:
    """Return a polygon."""
    return Part(points, fill)


def box(fill: str, x: float, y: float, width: float, height: float) -> Part:
    """Return an upright rectangle."""
    return Part(((x, y), (x + width, y), (x + width, y + height), (x, y + height)), fill)


def oval(fill: str, x: float, y: float, rx: float, ry: float | None = None, start: float = 0, end: float = 360) -> Part:
    """Return an ellipse around a centre, or the part of it between two angles (degrees, clockwise from the right)."""
    ry = rx if ry is None else ry
    turns = [math.radians(start + (end - start) * i / _SIDES) for i in range(_SIDES + (end - start < 360))]
    return Part(tuple((x + rx * math.cos(a), y + ry * math.sin(a)) for a in turns), fill)


def stroke(fill: str, a: Point, b: Point, width: float) -> Part:
    """Return a line with round ends."""
    angle = math.atan2(b[1] - a[1], b[0] - a[0])
    half = width / 2
    ends = [(b, -90.0), (a, 90.0)]
    points = [
        (p[0] + half * math.cos(angle + math.radians(t + s)), p[1] + half * math.sin(angle + math.radians(t + s)))
        for p, s in ends
        for t in range(0, 181, 30)
    ]
    return Part(tuple(points), fill)


def ring(fill: str, x: float, y: float, radius: float, width: float) -> Drawing:
    """Return a circle's outline as a chain of strokes."""
    turns = [2 * math.pi * i / _SIDES for i in range(_SIDES + 1)]
    spots = [(x + radius * math.cos(a), y + radius * math.sin(a)) for a in turns]
    return [stroke(fill, a, b, width) for a, b in itertools.pairwise(spots)]


def place(drawing: Iterable[Part], x: float, y: float, size: float, *, mirror: bool = False) -> Drawing:
    """Return a drawing in units of its own height, feet at (0, 0) and y upwards, put into the picture at a size in pixels."""
    side = -size if mirror else size
    return [Part(tuple((x + px * side, y - py * size) for px, py in part.points), part.fill) for part in drawing]


def shade(colour: str, factor: float) -> str:
    """Return a darker (below 1) or lighter (above 1) colour.

    Example:
        >>> shade("#804020", 0.5)
        '#402010'
    """
    levels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{min(255, round(v * factor)):02x}" for v in levels)


def render(parts: Sequence[Part]) -> bytes:
    """Return a JPEG of 320 by 240 pixels, drawn at twice the size; equal parts give equal bytes."""
    import io

    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (WIDTH * _SCALE, HEIGHT * _SCALE), "#ffffff")
    draw = ImageDraw.Draw(picture)
    for part in parts:
        draw.polygon([(x * _SCALE, y * _SCALE) for x, y in part.points], fill=part.fill)
    small = picture.resize((WIDTH, HEIGHT), Image.Resampling.BOX)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=82)
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Outline:
    """Describe where a drawing is in the picture.

    Args:
        box: x, y, width, height in pixels of the rectangle around the mask.
        area: Square pixels of the mask.
        polygons: COCO segmentation: one flat list of coordinates a part, in tenths of a pixel.
    """

    box: tuple[float, float, float, float]
    area: int
    polygons: list[list[float]]


def outline(drawing: Sequence[Part]) -> Outline | None:
    """Return the box and mask of a drawing as far as it lies in the picture; ``None`` when nothing does."""
    mask = mask_of(drawing)
    edges = mask.getbbox()
    if edges is None:
        return None
    left, top, right, bottom = edges
    flat = [_flat(part) for part in drawing]
    return Outline((left, top, right - left, bottom - top), mask.histogram()[255], [p for p in flat if _has_area(p)])


def _flat(part: Part) -> list[float]:
    """Return the corners as x, y, x, y, …, none outside the picture."""
    numbers: list[float] = []
    for x, y in part.points:
        numbers.append(round(0.0 if x < 0 else min(x, WIDTH), 1))
        numbers.append(round(0.0 if y < 0 else min(y, HEIGHT), 1))
    return numbers


def mask_of(drawing: Sequence[Part]) -> Image.Image:
    """Return the drawing as a picture of 0 and 255."""
    from PIL import Image, ImageDraw

    mask = Image.new("L", (WIDTH, HEIGHT))
    draw = ImageDraw.Draw(mask)
    for part in drawing:
        draw.polygon(part.points, fill=255)
    return mask


def run_lengths(drawing: Sequence[Part]) -> dict[str, list[int]]:
    """Return COCO's uncompressed run-length mask: runs of 0 and 1, column by column, a run of 0 first."""
    pixels = mask_of(drawing).transpose(_transposed()).tobytes()
    counts, value, at = [], 0, 0
    while at < len(pixels):
        end = pixels.find(255 if value == 0 else 0, at)
        end = len(pixels) if end < 0 else end
        counts.append(end - at)
        at, value = end, 1 - value
    return {"counts": counts, "size": [HEIGHT, WIDTH]}


def _transposed() -> Image.Transpose:
    from PIL import Image

    return Image.Transpose.TRANSPOSE


def _has_area(flat: list[float]) -> bool:
    return max(flat[::2]) > min(flat[::2]) and max(flat[1::2]) > min(flat[1::2])


if TYPE_CHECKING:
    from PIL import Image

"""Things: each a drawing in units of its own height, standing on (0, 0), y upwards."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from counterbalance.sample.shapes import Drawing, box, oval, polygon, ring, shade, stroke

if TYPE_CHECKING:
    from collections.abc import Callable

PAINT: Final = ("#c8443c", "#3a6ea5", "#3e8e6b", "#d99a2b", "#7b5ea7", "#c2577f")


def umbrella(paint: str) -> Drawing:
    """Return an open umbrella; its handle ends at (0, 0)."""
    wedges = [polygon(paint if i % 2 else shade(paint, 0.8), (0, 0.7), *_arc(i)) for i in range(6)]
    return [stroke("#4a4038", (0, 0.02), (0, 0.98), 0.03), *wedges]


def _arc(i: int) -> list[tuple[float, float]]:
    turns = [math.pi * (i + t / 4) / 6 for t in range(5)]
    return [(0.42 * math.cos(a), 0.68 + 0.28 * math.sin(a)) for a in turns]


def laptop(paint: str) -> Drawing:
    """Return a laptop on a small table."""
    return [
        *(box("#7a5c43", x, 0, 0.06, 0.5) for x in (-0.5, 0.44)),
        box("#9a7653", -0.58, 0.5, 1.16, 0.07),
        polygon("#b9bec6", (-0.4, 0.57), (0.4, 0.57), (0.44, 0.61), (-0.44, 0.61)),
        box("#3a3f4a", -0.36, 0.61, 0.72, 0.39),
        box(shade(paint, 1.25), -0.32, 0.65, 0.64, 0.31),
        *(box("#f4f6f8", -0.27, y, w, 0.03) for y, w in ((0.87, 0.4), (0.8, 0.3), (0.73, 0.36))),
    ]


def bicycle(paint: str) -> Drawing:
    """Return a bicycle from the side."""
    left, right, radius = -0.52, 0.52, 0.33
    frame = [((left, radius), (-0.18, 0.78)), ((-0.18, 0.78), (0.3, 0.82)), ((-0.18, 0.78), (-0.02, 0.32))]
    frame += [((-0.02, 0.32), (0.3, 0.82)), ((right, radius), (0.28, 0.94)), ((left, radius), (-0.02, 0.32))]
    wheels = [*ring("#2e2e33", left, radius, radius - 0.03, 0.06), *ring("#2e2e33", right, radius, radius - 0.03, 0.06)]
    return [
        *wheels,
        *(stroke(paint, a, b, 0.055) for a, b in frame),
        stroke("#2e2e33", (-0.2, 0.78), (-0.22, 0.88), 0.04),
        stroke("#2e2e33", (-0.34, 0.9), (-0.12, 0.9), 0.07),
        stroke("#2e2e33", (0.28, 0.94), (0.42, 0.98), 0.05),
    ]


def knife(paint: str) -> Drawing:
    """Return a kitchen knife stuck in a block."""
    return [
        box("#a9804f", -0.4, 0, 0.8, 0.42),
        polygon("#cfd5dc", (-0.06, 0.4), (0.1, 0.4), (0.1, 0.62), (-0.06, 0.62)),
        stroke(shade(paint, 0.6), (0.02, 0.66), (0.02, 0.95), 0.14),
    ]


def cup(paint: str) -> Drawing:
    """Return a cup."""
    return [
        *ring(shade(paint, 0.85), 0.42, 0.52, 0.2, 0.1),
        polygon(paint, (-0.42, 1), (0.42, 1), (0.34, 0), (-0.34, 0)),
        box(shade(paint, 1.3), -0.4, 0.86, 0.8, 0.1),
    ]


def plant(paint: str) -> Drawing:
    """Return a potted plant."""
    leaves = [
        stroke(("#3f8f4f", "#57a85f")[i % 2], (0, 0.4), (dx, dy), 0.13)
        for i, (dx, dy) in enumerate(((-0.32, 0.72), (-0.16, 0.92), (0.02, 0.9), (0.2, 0.93), (0.34, 0.7)))
    ]
    return [
        *leaves,
        polygon(paint, (-0.26, 0.42), (0.26, 0.42), (0.18, 0), (-0.18, 0)),
        box(shade(paint, 0.85), -0.29, 0.36, 0.58, 0.09),
    ]


def dog(paint: str) -> Drawing:
    """Return a dog from the side."""
    coat = ("#a9743f", "#6b5140", "#d8b98a", "#4d4a4f")[len(paint) % 3 if paint < "#5" else 1]
    legs = [stroke(shade(coat, 0.85), (x, 0.4), (x, 0.06), 0.12) for x in (-0.38, -0.2, 0.26, 0.42)]
    return [
        *legs,
        stroke(coat, (-0.48, 0.6), (-0.72, 0.88), 0.09),
        stroke(coat, (-0.36, 0.54), (0.38, 0.56), 0.36),
        oval(coat, 0.55, 0.82, 0.2, 0.18),
        stroke(coat, (0.6, 0.76), (0.82, 0.74), 0.14),
        polygon(shade(coat, 0.7), (0.38, 0.95), (0.52, 0.97), (0.42, 0.68)),
        oval("#222222", 0.62, 0.86, 0.03),
        oval("#222222", 0.88, 0.77, 0.04),
        stroke(paint, (0.36, 0.66), (0.48, 0.6), 0.07),
    ]


def bench(paint: str) -> Drawing:
    """Return a park bench."""
    wood = "#9a6b3f"
    del paint
    return [
        *(box("#3d4147", x, 0, 0.07, 0.95) for x in (-0.92, 0.85)),
        *(box(wood, -1.05, y, 2.1, 0.11) for y in (0.84, 0.67)),
        polygon(shade(wood, 1.15), (-1.08, 0.48), (1.08, 0.48), (1.12, 0.36), (-1.12, 0.36)),
        *(box("#3d4147", x, 0, 0.07, 0.38) for x in (-0.75, 0.68)),
    ]


def chair(paint: str) -> Drawing:
    """Return a chair."""
    legs = [stroke("#6d4f36", (x, 0.45), (x * 1.12, 0.03), 0.06) for x in (-0.24, 0.24)]
    return [
        *legs,
        *(box("#7d5b3e", x, 0.45, 0.06, 0.55) for x in (-0.27, 0.21)),
        box(paint, -0.25, 0.7, 0.5, 0.26),
        box(shade(paint, 0.85), -0.3, 0.42, 0.6, 0.09),
    ]


def handbag(paint: str) -> Drawing:
    """Return a handbag."""
    return [
        *ring(shade(paint, 0.7), 0, 0.62, 0.3, 0.08),
        polygon(paint, (-0.5, 0.6), (0.5, 0.6), (0.58, 0), (-0.58, 0)),
        box(shade(paint, 0.8), -0.53, 0.42, 1.06, 0.07),
        box("#e8d9a0", -0.07, 0.38, 0.14, 0.15),
    ]


def book(paint: str) -> Drawing:
    """Return a stack of three books."""
    return [
        box(paint, -0.7, 0, 1.4, 0.3),
        box("#f2ead8", 0.45, 0.04, 0.25, 0.22),
        box(shade(paint, 0.7), -0.6, 0.3, 1.25, 0.28),
        box("#4d7f8f", -0.65, 0.58, 1.2, 0.3),
    ]


def surfboard(paint: str) -> Drawing:
    """Return a surfboard stuck in the sand."""
    return [
        oval(paint, 0, 0.5, 0.16, 0.5),
        oval(shade(paint, 1.35), 0, 0.5, 0.1, 0.42),
        stroke(paint, (0, 0.12), (0, 0.9), 0.02),
    ]


def ball(paint: str) -> Drawing:
    """Return a ball with stripes."""
    return [
        oval("#f3efe6", 0, 0.5, 0.5),
        oval(paint, 0, 0.5, 0.5, 0.5, 300, 360),
        oval(paint, 0, 0.5, 0.5, 0.5, 60, 120),
        oval(paint, 0, 0.5, 0.5, 0.5, 180, 240),
        oval("#f3efe6", 0, 0.5, 0.12),
    ]


def kite(paint: str) -> Drawing:
    """Return a kite; it flies."""
    tail = [
        stroke("#5d6470", (0.05 * (-1) ** i, 0.38 - 0.12 * i), (-0.05 * (-1) ** i, 0.26 - 0.12 * i), 0.03)
        for i in range(3)
    ]
    return [
        *tail,
        polygon(paint, (0, 1), (0.3, 0.72), (0, 0.36)),
        polygon(shade(paint, 0.75), (0, 1), (-0.3, 0.72), (0, 0.36)),
    ]


def hammer(paint: str) -> Drawing:
    """Return a hammer leaning on nothing."""
    return [
        stroke("#a9804f", (-0.12, 0.04), (0.06, 0.86), 0.1),
        stroke("#5a6069", (-0.2, 0.92), (0.34, 0.82), 0.2),
        box(paint, -0.17, 0.04, 0.12, 0.2),
    ]


def guitar(paint: str) -> Drawing:
    """Return a guitar on its end."""
    wood = shade(paint, 0.9)
    return [
        stroke("#4b3626", (0, 0.4), (0, 0.95), 0.06),
        box("#33261c", -0.05, 0.9, 0.1, 0.1),
        oval(wood, 0, 0.19, 0.2, 0.19),
        oval(wood, 0, 0.42, 0.15, 0.14),
        oval("#2b1d14", 0, 0.34, 0.06),
    ]


THINGS: Final[dict[str, tuple[Callable[[str], Drawing], float, float]]] = {
    "umbrella": (umbrella, 92, 100),
    "laptop": (laptop, 74, 88),
    "bicycle": (bicycle, 72, 124),
    "knife": (knife, 40, 34),
    "cup": (cup, 30, 36),
    "potted plant": (plant, 58, 44),
    "dog": (dog, 46, 78),
    "bench": (bench, 50, 114),
    "chair": (chair, 76, 50),
    "handbag": (handbag, 36, 46),
    "book": (book, 26, 40),
    "surfboard": (surfboard, 122, 42),
    "sports ball": (ball, 30, 32),
    "kite": (kite, 64, 42),
    "hammer": (hammer, 44, 30),
    "guitar": (guitar, 86, 40),
}
"""Category to drawing, height and width in pixels."""

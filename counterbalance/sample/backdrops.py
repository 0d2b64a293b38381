"""The six places: what is behind the figures, and the height of the shelf that small things stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.sample.shapes import HEIGHT, WIDTH, Drawing, box, oval, polygon, shade, stroke

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

SHELF: Final = {"kitchen": 146, "office": 148, "workshop": 150}
"""y of the counter, sideboard or workbench, in pixels; other places have none."""


def _bands(top: str, y: float, height: float, end: float, steps: int = 6) -> Drawing:
    """Return a colour that gets lighter or darker downwards."""
    each = height / steps
    return [box(shade(top, 1 + (end - 1) * i / (steps - 1)), 0, y + i * each, WIDTH, each + 1) for i in range(steps)]


def _window(x: float, y: float, width: float, height: float, sky: str) -> Drawing:
    return [
        box("#f4efe6", x - 5, y - 5, width + 10, height + 10),
        box(sky, x, y, width, height),
        oval("#ffffff", x + width * 0.3, y + height * 0.35, width * 0.16, height * 0.09),
        oval("#ffffff", x + width * 0.45, y + height * 0.38, width * 0.2, height * 0.1),
        box("#f4efe6", x + width / 2 - 2, y, 4, height),
        box("#f4efe6", x, y + height / 2 - 2, width, 4),
    ]


def kitchen(rng: random.Random) -> Drawing:
    """Return a tiled wall, a window, cupboards, a counter with a stove."""
    wall = rng.choice(("#f0e2c8", "#dfe9e2", "#e6e1f0", "#f3dcd0"))
    doors = rng.choice(("#7fa39a", "#c98f63", "#8796b5", "#b98a94"))
    stove, window = (214.0, 30.0) if rng.random() < 0.5 else (30.0, 200.0)
    tiles = [box(shade(wall, 0.95), 0, y, WIDTH, 1) for y in range(104, 146, 14)]
    tiles += [box(shade(wall, 0.95), x, 104, 1, 42) for x in range(0, WIDTH, 20)]
    cupboards = [box(doors, x, 158, 58, 44) for x in range(3, WIDTH, 64)]
    knobs = [oval("#f4efe6", x + 51, 178, 2.5) for x in range(3, WIDTH, 64)]
    return [
        box(wall, 0, 0, WIDTH, 205),
        *tiles,
        *_window(window, 26, 84, 62, "#b7dcf2"),
        box(doors, 128, 18, 62, 52),
        box(shade(doors, 0.85), 158, 18, 2, 52),
        box(shade(doors, 0.8), 0, 152, WIDTH, 54),
        *cupboards,
        *knobs,
        box("#c9cdd2", stove, 152, 66, 52),
        box("#3b4048", stove + 8, 166, 50, 28),
        *(oval("#4d545e", stove + 12 + 14 * i, 158, 3) for i in range(4)),
        box("#e9e4da", 0, 146, WIDTH, 8),
        box(shade(wall, 0.72), 0, 205, WIDTH, 35),
        *(
            polygon(shade(wall, 0.66), (x, 205), (x + 3, 205), (x * 1.25 - 37, 240), (x * 1.25 - 41, 240))
            for x in range(0, WIDTH + 40, 40)
        ),
    ]


def street(rng: random.Random) -> Drawing:
    """Return houses with shops, a pavement, a road."""
    parts: Drawing = _bands(rng.choice(("#8fc4e8", "#a9c9dd", "#f2c59b")), 0, 190, 1.2)
    x = -float(rng.randint(0, 40))
    while x < WIDTH:
        parts += _house(rng, x, float(rng.randint(62, 92)), float(rng.randint(16, 66)))
        x = max(p[0] for p in parts[-1].points)
    parts += [box("#c4bfb6", 0, 190, WIDTH, 34), *(box("#b3aea5", x, 190, 1.5, 34) for x in range(10, WIDTH, 36))]
    return [*parts, box("#8f8b84", 0, 224, WIDTH, 4), box("#6a6d74", 0, 228, WIDTH, 12)]


def _house(rng: random.Random, x: float, width: float, top: float) -> Drawing:
    wall = rng.choice(("#d99f7e", "#c9b79a", "#b6776a", "#9fb0a8", "#d8c48f", "#a4a0b8"))
    awning = rng.choice(("#c8443c", "#3e8e6b", "#3a6ea5", "#d99a2b"))
    panes = [
        box("#f2ead4" if rng.random() < 0.3 else "#5f7890", x + 10 + c * 24, top + 12 + r * 30, 13, 19)
        for r in range(int((118 - top) // 30))
        for c in range(int((width - 12) // 24))
    ]
    stripes = [
        box("#f6f2e8" if i % 2 else awning, x + 6 + i * (width - 12) / 8, 132, (width - 12) / 8 + 0.5, 14)
        for i in range(8)
    ]
    return [
        box(wall, x, top, width, 192 - top),
        *panes,
        box("#43505c", x + 8, 146, width - 16, 44),
        *stripes,
        box(shade(wall, 0.8), x, top - 5, width, 6),
    ]


def office(rng: random.Random) -> Drawing:
    """Return a wide window over a town, a sideboard, a carpet."""
    wall = rng.choice(("#e8e6e1", "#dbe4ea", "#eadfd3"))
    carpet = rng.choice(("#7c8a99", "#8a7f92", "#7f9184"))
    towers = [
        box(rng.choice(("#8da3b8", "#a2b4c4", "#7a91a8")), 34 + i * 23, 96 - h, 19, h)
        for i in range(11)
        for h in (rng.randint(14, 52),)
    ]
    return [
        box(wall, 0, 0, WIDTH, 200),
        box("#f8f8f6", 24, 18, 272, 84),
        box("#bcdcf0", 30, 24, 260, 72),
        *towers,
        *(box("#f8f8f6", x, 24, 4, 72) for x in (114, 202)),
        box("#a58560", 0, 148, WIDTH, 6),
        box("#8f7150", 0, 154, WIDTH, 46),
        *(box("#9c7d59", x, 158, 74, 38) for x in range(4, WIDTH, 80)),
        *(box("#efe6d8", x + 28, 174, 18, 3) for x in range(4, WIDTH, 80)),
        *_bands(carpet, 200, 40, 0.85, 4),
    ]


def beach(rng: random.Random) -> Drawing:
    """Return sky, sun, sea and sand."""
    sky = rng.choice(("#7fc4ea", "#9fcbe6", "#f3b98a"))
    sun = float(rng.randint(40, 280))
    sail = float(rng.randint(30, 270))
    waves = [
        stroke("#e6f4f7", (x, y), (x + 22, y), 1.6)
        for y in (136, 152, 164)
        for x in (rng.randint(0, 60) + i * 80 for i in range(4))
    ]
    return [
        *_bands(sky, 0, 122, 1.25),
        oval("#fff3c4", sun, 46, 24),
        oval("#ffe08a", sun, 46, 18),
        *_bands("#2f8fb3", 120, 56, 1.35, 5),
        polygon("#ffffff", (sail, 122), (sail, 92), (sail + 18, 120)),
        polygon("#7a4a34", (sail - 12, 124), (sail + 22, 124), (sail + 15, 130), (sail - 6, 130)),
        *waves,
        *_bands("#ecd9a4", 174, 66, 0.9, 5),
        oval("#f4e6bd", float(rng.randint(20, 300)), 208, 40, 5),
        oval("#dcc68f", float(rng.randint(20, 300)), 228, 52, 5),
    ]


def workshop(rng: random.Random) -> Drawing:
    """Return planks, a board with tools, a workbench."""
    wood = rng.choice(("#b98d5f", "#a98f74", "#9c8b6c"))
    tools: Drawing = []
    for i in range(6):
        x = 66.0 + i * 36
        metal = rng.choice(("#7d858f", "#98a0a8", "#5f676f"))
        tools += [
            stroke("#d9a441", (x, 66), (x, 86), 5),
            stroke(metal, (x - (i % 3) * 4, 56), (x + 6, 60), 6 + i % 2 * 3),
        ]
    return [
        box(wood, 0, 0, WIDTH, 206),
        *(box(shade(wood, 0.9), x, 0, 2, 206) for x in range(0, WIDTH, 32)),
        box("#6b5a48", 40, 36, 240, 66),
        *tools,
        box("#6f4f35", 0, 150, WIDTH, 11),
        box("#5b402b", 0, 161, WIDTH, 6),
        *(box("#5b402b", x, 167, 14, 38) for x in (14, 292)),
        *(box(rng.choice(("#8a5a3b", "#5f7a86", "#946c44")), 46.0 + i * 62, 174, 44, 31) for i in range(4)),
        *_bands("#9a968f", 205, 35, 0.88, 4),
    ]


def park(rng: random.Random) -> Drawing:
    """Return hills, trees, a lawn and a path."""
    trees: Drawing = []
    for _ in range(rng.randint(3, 5)):
        x, y, size = float(rng.randint(0, WIDTH)), float(rng.randint(138, 160)), float(rng.randint(20, 34))
        green = rng.choice(("#3f8a4d", "#57a05a", "#6f9f3f", "#c98a3a"))
        trees += [
            box("#6b4a30", x - 4, y, 8, 38),
            oval(shade(green, 0.85), x, y - size * 0.5, size * 1.05),
            oval(green, x - 5, y - size * 0.65, size * 0.8),
        ]
    bend = float(rng.randint(100, 220))
    return [
        *_bands(rng.choice(("#8fcbee", "#a8d4ea", "#f0cfa8")), 0, 150, 1.2),
        oval("#ffffff", float(rng.randint(30, 290)), 40, 34, 9),
        oval("#ffffff", float(rng.randint(30, 290)), 62, 26, 7),
        oval("#8dbb78", 70, 172, 150, 44),
        oval("#7fb06c", 260, 176, 150, 40),
        *trees,
        *_bands("#76b455", 170, 70, 0.85, 5),
        polygon("#dccfa9", (bend, 172), (bend + 14, 172), (bend + 60, HEIGHT), (bend - 50, HEIGHT)),
    ]


BACKDROPS: Final[dict[str, Callable[[random.Random], Drawing]]] = {
    "kitchen": kitchen,
    "street": street,
    "office": office,
    "beach": beach,
    "workshop": workshop,
    "park": park,
}

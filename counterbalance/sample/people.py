"""People-like figures: toys in three skin colours that nobody has.

Units: the figure is 1 high, feet at (0, 0), y upwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.sample.shapes import Drawing, box, oval, polygon, shade, stroke
from counterbalance.sample.words import COLOURS, shirt_colour

if TYPE_CHECKING:
    from counterbalance.sample.plan import Person

SKIN: Final = {"amber": "#f2b33d", "teal": "#3fb8ad", "violet": "#a58be0"}
CLOTH: Final = dict(
    zip(
        COLOURS,
        ("#d9483b", "#3f6fc4", "#4f9a55", "#e8c63c", "#e8853a", "#e08aa6", "#7f4fa0", "#8a5a3b"),
        strict=True,
    )
)
TROUSERS: Final = ("#2f3e58", "#4a4a52", "#5c4a3a", "#38566b", "#6a5f73")
HAIR: Final = ("#2b2320", "#5a3825", "#8c4a2a", "#c9a050", "#3a3f58", "#7a2f4a")


def figure(person: Person) -> Drawing:
    """Return a standing figure, facing us, arms at ease; the right hand is at ``HAND``."""
    skin = SKIN[person.group]
    cloth = CLOTH[shirt_colour(person)]
    trousers = TROUSERS[(person.look >> 4) % len(TROUSERS)]
    hair = HAIR[(person.look >> 8) % len(HAIR)]
    return [
        *_long_hair(person, hair),
        *(_dress(cloth, skin) if person.dress else _trousers(trousers)),
        *_trunk(person, cloth, skin),
        *_head(skin),
        *_short_hair(person, hair),
        *_face(),
    ]


HAND: Final = (0.21, 0.42)
HEAD: Final = (0.0, 0.88)
HEAD_RADIUS: Final = 0.11


def _long_hair(person: Person, hair: str) -> Drawing:
    if not person.long_hair:
        return []
    return [
        oval(hair, 0, 0.885, 0.125, 0.12),
        polygon(hair, (-0.125, 0.88), (0.125, 0.88), (0.135, 0.66), (-0.135, 0.66)),
    ]


def _short_hair(person: Person, hair: str) -> Drawing:
    x, y = HEAD
    cap = oval(hair, x, y + 0.015, 0.115, 0.11, 0, 180)
    fringe = polygon(
        hair,
        (-0.112, y + 0.02),
        (0.112, y + 0.02),
        (0.085, y + 0.055),
        (-0.02 if person.look & 1 else 0.03, y + 0.03),
        (-0.085, y + 0.055),
    )
    bun = [oval(hair, 0, y + 0.125, 0.045)] if person.long_hair and person.look & 2 else []
    return [*bun, cap, fringe]


def _head(skin: str) -> Drawing:
    return [box(shade(skin, 0.88), -0.035, 0.72, 0.07, 0.08), oval(skin, *HEAD, HEAD_RADIUS * 0.95, HEAD_RADIUS)]


def _face() -> Drawing:
    _, y = HEAD
    smile = [
        stroke("#5b3a30", (-0.03, y - 0.045), (0, y - 0.058), 0.012),
        stroke("#5b3a30", (0, y - 0.058), (0.03, y - 0.045), 0.012),
    ]
    return [oval("#2a2a33", -0.038, y - 0.003, 0.013, 0.016), oval("#2a2a33", 0.038, y - 0.003, 0.013, 0.016), *smile]


def _trousers(colour: str) -> Drawing:
    shoes = [oval("#2b2b30", side * 0.085, 0.018, 0.055, 0.025) for side in (-1, 1)]
    legs = [stroke(colour, (side * 0.055, 0.42), (side * 0.07, 0.06), 0.1) for side in (-1, 1)]
    return [*shoes, *legs]


def _dress(cloth: str, skin: str) -> Drawing:
    legs = [stroke(skin, (side * 0.05, 0.3), (side * 0.055, 0.05), 0.055) for side in (-1, 1)]
    shoes = [oval("#2b2b30", side * 0.065, 0.018, 0.048, 0.025) for side in (-1, 1)]
    return [*shoes, *legs, polygon(cloth, (-0.1, 0.5), (0.1, 0.5), (0.19, 0.2), (-0.19, 0.2))]


def _trunk(person: Person, cloth: str, skin: str) -> Drawing:
    sleeve = shade(cloth, 0.88)
    arms: Drawing = []
    for side in (-1, 1):
        arms.append(stroke(skin, (side * 0.165, 0.6), (side * HAND[0], HAND[1]), 0.055))
        arms.append(stroke(sleeve, (side * 0.125, 0.71), (side * 0.17, 0.57), 0.085))
    body = polygon(cloth, (-0.11, 0.755), (-0.15, 0.72), (-0.12, 0.38), (0.12, 0.38), (0.15, 0.72), (0.11, 0.755))
    stripes = [box("#f4f1e8", -0.13, y, 0.26, 0.03) for y in (0.43, 0.51, 0.59, 0.67)] if person.striped else []
    return [*arms, body, *stripes]

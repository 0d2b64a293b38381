"""Put figures and things into their place: from a planned scene to a picture and its boxes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.sample.backdrops import BACKDROPS, SHELF
from counterbalance.sample.objects import PAINT, THINGS
from counterbalance.sample.people import HAND, figure
from counterbalance.sample.shapes import WIDTH, outline, place

if TYPE_CHECKING:
    from counterbalance.sample.plan import Person, Scene
    from counterbalance.sample.shapes import Drawing, Outline

_SMALL: Final = frozenset({"knife", "cup", "book", "hammer", "potted plant"})
_PERSON_WIDTH: Final = 0.5
_MARGIN: Final = 8
_LEAST: Final = 0.68
"""Smaller, a child would be narrower than the 30 pixels from which audits count people."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something with a box.

    Args:
        category: ``person`` or the name of a thing.
        drawing: Its parts, in pixels.
        outline: Where it is seen; ``None`` when it lies outside the picture.
        person: Who it is.
        crowd: Whether it is a crowd (COCO ``iscrowd``).
    """

    category: str
    drawing: Drawing
    outline: Outline | None
    person: Person | None = None
    crowd: bool = False


def _item(category: str, drawing: Drawing, person: Person | None = None, *, crowd: bool = False) -> Item:
    return Item(category, drawing, outline(drawing), person, crowd)


def stage(scene: Scene) -> tuple[Drawing, list[Item]]:
    """Return all parts of the picture from back to front, and the items in it: people first, as planned."""
    rng = random.Random(f"stage {scene.seed}")  # noqa: S311 - a simulation
    backdrop = BACKDROPS[scene.place](rng)
    far = _far(rng, scene)
    shelf = SHELF.get(scene.place)
    on_shelf = [o for o in scene.objects if o in _SMALL and shelf is not None]
    held = ["umbrella"] if "umbrella" in scene.objects and scene.people else []
    flying = [o for o in scene.objects if o == "kite"]
    standing = [o for o in scene.objects if o not in {*on_shelf, *held, *flying}]
    people, things, owner = _front(rng, scene.people, standing)
    things += [_thing(rng, o, rng.uniform(34, WIDTH - 34), rng.uniform(76, 92)) for o in flying]
    things += _shelved(rng, on_shelf, shelf or 0)
    canopies = [_umbrella(rng, *owner) for _ in held if owner]
    drawn = [*far, *things, *canopies, *people]
    return [*backdrop, *(part for item in drawn for part in item.drawing)], [*people, *far, *canopies, *things]


def _front(
    rng: random.Random, crew: list[Person], standing: list[str]
) -> tuple[list[Item], list[Item], tuple[float, float, float] | None]:
    """Return people and things side by side on the ground, shrunk together when there are too many.

    Returns the first figure's x, y and height as well: it holds what is held.
    """
    heights = [rng.uniform(102, 116) if p.child else rng.uniform(140, 160) for p in crew]
    widths = [h * _PERSON_WIDTH for h in heights] + [THINGS[o][2] + 4.0 for o in standing]
    room = WIDTH - 2 * _MARGIN
    scale = max(_LEAST, min(1.0, room / max(1.0, sum(widths))))
    gap = (room - sum(widths) * scale) / (len(widths) + 1)
    order = rng.sample(range(len(widths)), len(widths))
    x = float(_MARGIN)
    centres = [0.0] * len(widths)
    for i in order:
        x += gap * rng.uniform(0.6, 1.0)
        centres[i] = x + widths[i] * scale / 2
        x += widths[i] * scale
    people, owner = [], None
    for person, height, centre in zip(crew, heights, centres, strict=False):
        ground = rng.uniform(222, 234)
        owner = owner or (centre, ground, height * scale)
        people.append(_item("person", place(figure(person), centre, ground, height * scale), person))
    things = [
        _thing(rng, o, c, rng.uniform(214, 222), scale) for o, c in zip(standing, centres[len(crew) :], strict=True)
    ]
    return people, things, owner


def _thing(rng: random.Random, category: str, x: float, ground: float, scale: float = 1.0) -> Item:
    draw, height, _ = THINGS[category]
    paint = rng.choice(PAINT)
    return _item(
        category, place(draw(paint), x, ground, height * scale * rng.uniform(0.92, 1.0), mirror=rng.random() < 0.5)
    )


def _shelved(rng: random.Random, objects: list[str], shelf: float) -> list[Item]:
    spots = rng.sample(range(6), len(objects))
    return [_thing(rng, o, 30 + 52 * s + rng.uniform(-8, 8), shelf, 0.9) for o, s in zip(objects, spots, strict=True)]


def _umbrella(rng: random.Random, x: float, ground: float, height: float) -> Item:
    hand_x, hand_y = HAND
    drawing = place(
        THINGS["umbrella"][0](rng.choice(PAINT)), x + hand_x * height, ground - hand_y * height, height * 0.84
    )
    return _item("umbrella", drawing)


def _far(rng: random.Random, scene: Scene) -> list[Item]:
    """Return figures in the distance: narrower than 30 pixels."""
    items = []
    if scene.crowd:
        x, parts = rng.uniform(20, 200), []
        for i in range(scene.crowd):
            parts += place(figure(_extra(rng)), x + i * 11, 184 + rng.uniform(-2, 2), rng.uniform(32, 38))
        items.append(_item("person", parts, crowd=True))
    if scene.bystander is not None:
        drawing = place(figure(scene.bystander), rng.uniform(24, WIDTH - 24), 190, rng.uniform(40, 48))
        items.append(_item("person", drawing, scene.bystander))
    return items


def _extra(rng: random.Random) -> Person:
    from counterbalance.sample import world
    from counterbalance.sample.plan import Person

    return Person(
        rng.choice(world.GENDERS), rng.choice(world.GROUPS), long_hair=rng.random() < 0.5, look=rng.getrandbits(24)
    )

"""Make up what the two annotators and the toy classifier say about a plan."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from counterbalance.sample import world
from counterbalance.sample.quotas import pick

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.sample.plan import Person, Scene
    from counterbalance.sample.stage import Item

ATTRIBUTES: Final = ("perceived_gender", "perceived_race_ethnicity")


@dataclass(frozen=True, slots=True)
class Label:
    """A row of the labels file; see ``counterbalance.engine.schema.LABELS``."""

    image_id: int
    detection_id: int | None
    attribute: str
    value: str
    annotator: str
    score: float | None = None


def detection_id(scene: Scene, position: int) -> int:
    """Return the id of the item at a position (from 1) of a scene, readable: image 12's third is 1203."""
    return scene.number * 100 + position


def labels(scenes: list[Scene], staged: list[list[Item]], seed: int) -> list[Label]:
    """Return all labels: by image, those of its persons, of the whole image last."""
    rng = random.Random(f"labels {len(scenes)} {seed}")  # noqa: S311 - a simulation
    persons = [
        (scene, detection_id(scene, i), p)
        for scene, items in zip(scenes, staged, strict=True)
        for i, p in _persons(items)
    ]
    peopled = [s.number for s in scenes if s.people]
    dim = set(pick(rng, peopled, world.UNCLEAR_RATE))
    found = [label for attribute in ATTRIBUTES for label in _two_opinions(rng, attribute, persons, dim)]
    for scene in scenes:
        found.append(Label(scene.number, None, "scene", scene.place, world.ANNOTATORS[0]))
        found.append(
            Label(scene.number, None, world.HATE_ATTRIBUTE, world.HATE_ATTRIBUTE, world.HATE_MODEL, scene.hate)
        )
    return sorted(found, key=lambda x: (x.image_id, x.detection_id or 1 << 40, x.attribute, x.annotator))


def _persons(items: list[Item]) -> Iterator[tuple[int, Person]]:
    for i, item in enumerate(items, start=1):
        if item.person is not None:
            yield i, item.person


def _two_opinions(
    rng: random.Random, attribute: str, persons: list[tuple[Scene, int, Person]], dim: set[int]
) -> list[Label]:
    """Return the first annotator sees the truth, or nothing in a dim image; the second copies the first, or else says anything.

    Anything is a draw from the first one's own labels, so that chance agreement is the same and the copying rate is
    Cohen's kappa.
    """
    unclear = {d for scene, d, _ in persons if scene.number in dim}
    truth = {d: p.gender if attribute == ATTRIBUTES[0] else p.group for _, d, p in persons}
    first = {d: world.UNCLEAR if d in unclear else value for d, value in truth.items()}
    pool = list(first.values())
    found = []
    for scene, at, _ in persons:
        second = first[at] if rng.random() < world.KAPPA[attribute] else rng.choice(pool)
        for who, value in zip(world.ANNOTATORS, (first[at], second), strict=True):
            found.append(Label(scene.number, at, attribute, value, who))
    return found

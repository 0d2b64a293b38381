"""Plan what every image of the sample shows, decided before anything is drawn or written."""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from counterbalance.sample import world
from counterbalance.sample.quotas import deal, pick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

SCENES: Final = tuple(world.LOOSE_OBJECTS)
SEVERAL: Final = "several"
NOBODY: Final = "nobody"


@dataclass(slots=True)
class Person:
    """A figure: what annotators see in it, and how it is drawn."""

    gender: str
    group: str
    child: bool = False
    long_hair: bool = False
    dress: bool = False
    striped: bool = False
    look: int = 0


@dataclass(slots=True)
class Scene:
    """An image: who and what it shows, and what its texts must say.

    Args:
        number: Id of the image, from 1.
        kind: ``male``, ``female``, ``mixed`` or ``nobody``.
        place: ``kitchen``, ``street`` …
        people: The figures in front.
        group: Group of all of them, ``several`` or ``nobody``.
        objects: Categories, those tied to a gender first.
        tone: Sign of the alt-text's sentiment: -1, 0, 1.
        crime: Crime word of the alt-text.
        country: Country of the alt-text.
        keyword: Whether a caption has the keyword.
        hate: Score of the toy classifier.
        bystander: A figure in the distance.
        crowd: How many figures a crowd in the distance has.
        seed: For everything that is of no account: words, colours, places.
    """

    number: int
    kind: str
    place: str
    people: list[Person] = field(default_factory=list)
    group: str = NOBODY
    objects: list[str] = field(default_factory=list)
    tone: int = 0
    crime: str | None = None
    country: str | None = None
    keyword: bool = False
    hate: float = 0.0
    bystander: Person | None = None
    crowd: int = 0
    seed: int = 0


def make_plan(images: int, seed: int) -> list[Scene]:
    """Return the scenes, in order of their ids; equal arguments give equal scenes."""
    rng = random.Random(f"counterbalance sample {images} {seed}")  # noqa: S311 - a simulation
    kinds = deal(rng, images, world.KINDS)
    places = deal(rng, images, dict.fromkeys(SCENES, 1.0))
    scenes = [Scene(i + 1, k, p, seed=rng.getrandbits(32)) for i, (k, p) in enumerate(zip(kinds, places, strict=True))]
    for step in (_people, _groups, _objects, _crimes, _tones, _countries, _keywords, _scores, _background):
        step(rng, scenes)
    return scenes


def _by(scenes: list[Scene], key: Callable[[Scene], str]) -> dict[str, list[Scene]]:
    strata: dict[str, list[Scene]] = defaultdict(list)
    for scene in scenes:
        strata[key(scene)].append(scene)
    return strata


def _chosen(
    rng: random.Random, scenes: list[Scene], rates: Mapping[str, float], key: Callable[[Scene], str]
) -> list[Scene]:
    """Choose the exact share of the scenes of every stratum."""
    strata = _by(scenes, key)
    return [scene for stratum in rates for scene in pick(rng, strata[stratum], rates[stratum])]


def _people(rng: random.Random, scenes: list[Scene]) -> None:
    for kind, members in sorted(_by(scenes, lambda s: s.kind).items()):
        if kind == NOBODY:
            continue
        for scene, count in zip(members, deal(rng, len(members), world.PEOPLE), strict=True):
            scene.people = [_person(rng, g) for g in _genders(rng, kind, count)]


def _genders(rng: random.Random, kind: str, count: int) -> list[str]:
    if kind != "mixed":
        return [kind] * count
    genders = ["female", "male"] + [rng.choice(world.GENDERS)] * (count > 2)
    rng.shuffle(genders)
    return genders


def _person(rng: random.Random, gender: str) -> Person:
    return Person(
        gender,
        group="",
        child=rng.random() < 0.2,
        long_hair=rng.random() < world.LONG_HAIR[gender],
        dress=rng.random() < world.DRESS[gender],
        look=rng.getrandbits(24),
    )


def _groups(rng: random.Random, scenes: list[Scene]) -> None:
    peopled = [s for s in scenes if s.people]
    various = {s.number for s in pick(rng, [s for s in peopled if len(s.people) > 1], world.SEVERAL_GROUPS)}
    for kind, members in sorted(_by(peopled, lambda s: s.kind).items()):
        uniform = [s for s in members if s.number not in various]
        for scene, group in zip(uniform, deal(rng, len(uniform), world.GROUP_OF[kind]), strict=True):
            scene.group = group
            for person in scene.people:
                person.group = group
    for scene in peopled:
        if scene.number in various:
            scene.group = SEVERAL
            groups = rng.sample(world.GROUPS, 2)
            for i, person in enumerate(scene.people):
                person.group = groups[i % 2]


def _objects(rng: random.Random, scenes: list[Scene]) -> None:
    for category, rates in world.TIED_OBJECTS.items():
        for scene in _chosen(rng, scenes, rates, lambda s: s.kind):
            scene.objects.append(category)
    for scene in scenes:
        if len(scene.objects) < 3 and rng.random() < world.LOOSE_RATE:
            scene.objects.append(rng.choice(world.LOOSE_OBJECTS[scene.place]))


def _crimes(rng: random.Random, scenes: list[Scene]) -> None:
    for scene in _chosen(rng, scenes, world.CRIME_OF, lambda s: s.group):
        scene.crime = rng.choice(world.CRIME_WORDS)


def _tones(rng: random.Random, scenes: list[Scene]) -> None:
    """Choose negative texts first: those with a crime word are negative anyhow, the quota is filled up with others."""
    for kind, members in sorted(_by(scenes, lambda s: s.kind).items()):
        bad = [s for s in members if s.crime]
        rest = [s for s in members if not s.crime]
        wanted = int(len(members) * world.NEGATIVE_OF[kind] + 0.5)
        rng.shuffle(rest)
        more = max(0, wanted - len(bad))
        happy = int(len(members) * world.POSITIVE_OF[kind] + 0.5)
        for scene in bad + rest[:more]:
            scene.tone = -1
        for scene in rest[more : more + happy]:
            scene.tone = 1


def _countries(rng: random.Random, scenes: list[Scene]) -> None:
    named = pick(rng, scenes, world.COUNTRY_RATE)
    for scene, country in zip(named, deal(rng, len(named), world.COUNTRIES), strict=True):
        scene.country = country


def _keywords(rng: random.Random, scenes: list[Scene]) -> None:
    for scene in _chosen(rng, scenes, world.KEYWORD_OF, lambda s: s.kind):
        scene.keyword = True
        scene.people[0].striped = True
        scene.people[0].dress = False


def _scores(rng: random.Random, scenes: list[Scene]) -> None:
    hateful = {s.number for s in pick(rng, scenes, world.HATE_RATE)}
    rest = [s for s in scenes if s.number not in hateful]
    for scene in scenes:
        scene.hate = round(rng.uniform(0.51, 0.99) if scene.number in hateful else rng.uniform(0.0, 0.49), 3)
    if rest:
        rng.choice(rest).hate = 0.5


def _background(rng: random.Random, scenes: list[Scene]) -> None:
    outside = [s for s in scenes if s.place in {"street", "beach", "park"}]
    for scene in pick(rng, outside, min(1.0, 2 * world.BYSTANDER_RATE)):
        gender, group = rng.choice(world.GENDERS), rng.choice(world.GROUPS)
        scene.bystander = Person(gender, group, look=rng.getrandbits(24))
    for scene in pick(rng, outside, 2 * world.CROWD_RATE):
        scene.crowd = rng.randint(6, 10)

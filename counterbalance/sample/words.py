"""Captions and alt-texts, in plain words.

Only what the plan asks for is in them: no gender word but those of the people shown (never followed by a full stop, so
that every way of cutting words finds them), no crime word, country or keyword but those planted, and no word of
VADER's lexicon in a caption.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from counterbalance.sample import world

if TYPE_CHECKING:
    from counterbalance.sample.plan import Person, Scene

ADULT: Final = {
    "male": ("a man", "a man", "a young man", "a gentleman", "an older man", "a tall man"),
    "female": ("a woman", "a woman", "a young woman", "a lady", "an older woman", "a tall woman"),
}
CHILD: Final = {"male": ("a boy", "a little boy"), "female": ("a girl", "a little girl")}
MANY: Final = {"male": ("men", "boys"), "female": ("women", "girls")}
NEUTRAL: Final = {1: ("a person", "someone", "somebody"), 2: ("two people",), 3: ("three people", "a group of people")}
POSSESSIVE: Final = {"male": "his", "female": "her"}
PLACES: Final = {
    "kitchen": ("in a kitchen", "in the kitchen", "beside the stove"),
    "street": ("on the street", "on a city street", "in front of some shops"),
    "office": ("in an office", "at the office", "near a desk"),
    "beach": ("on the beach", "at the beach", "by the sea"),
    "workshop": ("in a workshop", "in the workshop", "next to a workbench"),
    "park": ("in a park", "in the park", "under the trees"),
}
EMPTY: Final = {
    "kitchen": ("a kitchen", "a tidy kitchen", "a kitchen with a stove"),
    "street": ("a street", "a quiet street", "a row of shops"),
    "office": ("an office", "an office room", "an office with a desk"),
    "beach": ("a beach", "a sandy beach", "a beach and the sea"),
    "workshop": ("a workshop", "a small workshop", "a workshop with tools"),
    "park": ("a park", "a green park", "a lawn with trees"),
}
VERBS: Final = {
    False: ("standing", "stands", "is standing", "waits", "waiting", "posing", "is seen"),
    True: ("standing", "stand", "are standing", "wait", "waiting", "posing", "are seen"),
}
NUMBERS: Final = {2: "two", 3: "three"}
COLOURS: Final = ("red", "blue", "green", "yellow", "orange", "pink", "purple", "brown")
GOOD: Final = ("Happy", "Lovely", "Beautiful", "Wonderful", "Charming", "Delightful", "Cheerful", "Great")
BAD: Final = ("Sad", "Terrible", "Awful", "Lonely", "Miserable", "Dreadful", "Ugly", "Gloomy")
_VOWELS: Final = "aeiou"


def captions(scene: Scene) -> list[str]:
    """Return three captions as people would write them; each object is named in at least one."""
    rng = random.Random(f"captions {scene.seed}")  # noqa: S311 - a simulation
    thirds = [scene.objects[i::2] or scene.objects for i in range(2)] + [scene.objects[: rng.randint(0, 2)]]
    return [_finish(rng, _sentence(rng, scene, objects, i)) for i, objects in enumerate(thirds)]


def _sentence(rng: random.Random, scene: Scene, objects: list[str], nth: int) -> str:
    if not scene.people:
        view = rng.choice(EMPTY[scene.place])
        joint = ", " if " with " in view else " with "
        return f"{view}{joint}{_listing(rng, objects)}" if objects else view
    neutral = nth == 2 and rng.random() < world.NEUTRAL_CAPTION_RATE
    who = rng.choice(NEUTRAL[len(scene.people)]) if neutral else _subject(rng, scene.people)
    dressed = _dressed(rng, scene, nth)
    verb, place = rng.choice(VERBS[len(scene.people) > 1]), rng.choice(PLACES[scene.place])
    mine = None if neutral or len(scene.people) > 1 else POSSESSIVE[scene.people[0].gender]
    what = _belongings(rng, objects, mine)
    order = rng.randrange(3)
    if order == 0:
        return f"{who}{dressed} {verb} {place}{what}"
    if order == 1 and what:
        return f"{who}{dressed}{what} {place}"
    return f"{who}{dressed} {verb}{what} {place}"


def _subject(rng: random.Random, people: list[Person]) -> str:
    if len(people) == 1:
        one = people[0]
        return rng.choice((CHILD if one.child else ADULT)[one.gender])
    counts = {g: sum(p.gender == g for p in people) for g in world.GENDERS}
    parts = [_several(rng, g, n, people) for g, n in counts.items() if n]
    rng.shuffle(parts)
    return " and ".join(parts)


def _several(rng: random.Random, gender: str, count: int, people: list[Person]) -> str:
    children = all(p.child for p in people if p.gender == gender)
    if count == 1:
        return rng.choice((CHILD if children else ADULT)[gender][:2])
    word = MANY[gender][children]
    return f"a group of {word}" if count == 3 and rng.random() < 0.3 else f"{NUMBERS[count]} {word}"


def _dressed(rng: random.Random, scene: Scene, nth: int) -> str:
    if scene.keyword and nth == 0:
        return f" in a {world.KEYWORD} shirt" if len(scene.people) == 1 else f" (one in a {world.KEYWORD} shirt)"
    if len(scene.people) == 1 and not scene.keyword and rng.random() < 0.3:
        worn = "dress" if scene.people[0].dress else "shirt"
        return f" in {_article(shirt_colour(scene.people[0]))} {worn}"
    return ""


def shirt_colour(person: Person) -> str:
    """Return the name of the colour a figure wears."""
    return COLOURS[person.look % len(COLOURS)]


def _belongings(rng: random.Random, objects: list[str], mine: str | None) -> str:
    if not objects:
        return ""
    if mine and len(objects) == 1 and rng.random() < 0.25:
        return f" with {mine} {objects[0]}"
    return f" {rng.choice(('with', 'with', 'next to', 'beside'))} {_listing(rng, objects)}"


def _listing(rng: random.Random, objects: list[str]) -> str:
    mixed = rng.sample(objects, len(objects))
    named = [_article(o) for o in mixed]
    return named[0] if len(named) == 1 else ", ".join(named[:-1]) + " and " + named[-1]


def _article(word: str) -> str:
    return f"{'an' if word[0] in _VOWELS else 'a'} {word}"


def _finish(rng: random.Random, text: str) -> str:
    text = text[0].upper() + text[1:] if rng.random() < 0.85 else text
    return text + rng.choice((".", ".", ".", "", " ."))


def alt_text(scene: Scene) -> str:
    """Return the alt-text of a web page: a headline or a file name in words, with the planted tone, crime word and country."""
    rng = random.Random(f"alt {scene.seed}")  # noqa: S311 - a simulation
    what = " and ".join(scene.objects[:1] or [scene.place])
    if scene.crime:
        found = f", {what} found" if scene.objects else ""
        text = f"{rng.choice(BAD)} {scene.crime} at the {scene.place}{found}"
    elif scene.tone:
        text = f"{rng.choice(GOOD if scene.tone > 0 else BAD)} {rng.choice(('day', 'morning', 'afternoon'))}, {scene.place}"
        text += f" {what}" if what != scene.place else ""
    else:
        shown = rng.choice(("photo", "image", "picture"))
        text = rng.choice(
            (f"{scene.place} {what} {shown}", f"{shown} {scene.number:04d} {scene.place}", f"{what} | {scene.place}")
        )
    return f"{text}, {scene.country}" if scene.country else text

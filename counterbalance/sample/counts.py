"""Plain counts over a planned sample: the side of the comparison that uses no SQL."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from counterbalance.sample import annotate, world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from counterbalance.sample.annotate import Label
    from counterbalance.sample.plan import Scene
    from counterbalance.sample.stage import Item

MIN_SIDE: Final = 30
_GENDER_BY_FIRST: Final = (annotate.ATTRIBUTES[0], world.ANNOTATORS[0])


class Counts:
    """A planned sample that can be counted.

    Args:
        scenes: The plan.
        staged: The items of each scene.
        labels: What annotators said.
    """

    def __init__(self, scenes: list[Scene], staged: list[list[Item]], labels: Sequence[Label]) -> None:
        self.scenes, self.labels = scenes, labels
        self.boxes: dict[int, str] = {}
        for scene, items in zip(scenes, staged, strict=True):
            for i, item in enumerate(items, start=1):
                if item.outline is not None and min(item.outline.box[2:]) >= MIN_SIDE:
                    self.boxes[annotate.detection_id(scene, i)] = item.category
        self.gender = {s.number: s.kind for s in scenes if s.kind in world.GENDERS}
        self.figures = sum(
            1 for x in labels if x.detection_id in self.boxes and (x.attribute, x.annotator) == _GENDER_BY_FIRST
        )
        self.persons = {a: self._persons(a) for a in annotate.ATTRIBUTES}
        self.group = self._rolled_up(annotate.ATTRIBUTES[1])

    def _persons(self, attribute: str) -> dict[int, str]:
        """Return clear labels of the first annotator by box, boxes under 30 pixels left out."""
        return {
            x.detection_id: x.value
            for x in self.labels
            if x.detection_id in self.boxes
            and x.attribute == attribute
            and x.annotator == world.ANNOTATORS[0]
            and x.value != world.UNCLEAR
        }

    def _rolled_up(self, attribute: str) -> dict[int, str]:
        """Return the one label that all persons of an image have."""
        values: dict[int, set[str]] = defaultdict(set)
        for detection, value in self.persons[attribute].items():
            values[detection // 100].add(value)
        return {image: next(iter(v)) for image, v in values.items() if len(v) == 1}

    def among(self, images: Iterable[int], test: Callable[[Scene], bool]) -> tuple[int, int]:
        """Return how many of some images pass, and how many there are."""
        chosen = set(images)
        found = [test(s) for s in self.scenes if s.number in chosen]
        return sum(found), len(found)

    def together(self, gender: str, group: str) -> float | None:
        """Return how often gender and group meet in a figure, over what independence would give."""
        genders, groups = (self.persons[a] for a in annotate.ATTRIBUTES)
        of_gender = {d for d, v in genders.items() if v == gender}
        of_group = {d for d, v in groups.items() if v == group}
        return ratio(len(of_gender & of_group) * self.figures, len(of_gender) * len(of_group))

    def delta(self, labels: dict[int, str], label: str, test: Callable[[Scene], bool]) -> float | None:
        """Return the share of a label among the labelled images that pass, over its share among all labelled ones, minus one."""
        hits, _ = self.among((i for i, v in labels.items() if v == label), test)
        total, everyone = self.among(labels, test)
        base = sum(v == label for v in labels.values())
        return ratio(hits * everyone, total * base, -1.0)

    def pmi(self, gender: str, test: Callable[[Scene], bool]) -> float | None:
        """Return Ln P(gender, t) / (P(gender) P(t)) over all images."""
        both, base = self.among((i for i, v in self.gender.items() if v == gender), test)
        total, everyone = self.among((s.number for s in self.scenes), test)
        return math.log(both * everyone / (base * total)) if both and base and total else None

    def log_odds(self, gender: str, other: str, test: Callable[[Scene], bool]) -> float | None:
        """Return the log-odds ratio of the images of two genders, half an image added to each count."""
        sides = [self.among((i for i, v in self.gender.items() if v == g), test) for g in (gender, other)]
        if not all(n for _, n in sides):
            return None
        logs = [math.log((hits + 0.5) / (n - hits + 0.5)) for hits, n in sides]
        return logs[0] - logs[1]

    def negative_ratio(self, kind: str) -> float | None:
        """Return the share of negative alt-texts among those that are not neutral."""
        tones = [s.tone for s in self.scenes if s.kind == kind]
        return ratio(tones.count(-1), len(tones) - tones.count(0))

    def country_share(self, country: str) -> float | None:
        """Return the share of a country among alt-texts that name one."""
        named = [s.country for s in self.scenes if s.country]
        return ratio(named.count(country), len(named))

    def kappa(self, attribute: str) -> float | None:
        """Return Cohen's kappa of the two annotators over all boxes."""
        said: dict[int | None, dict[str, str]] = defaultdict(dict)
        for x in self.labels:
            if x.attribute == attribute:
                said[x.detection_id][x.annotator] = x.value
        pairs = [tuple(s[a] for a in world.ANNOTATORS) for s in said.values()]
        if not pairs:
            return None
        margins = [Counter(p[i] for p in pairs) for i in range(2)]
        agreed = sum(a == b for a, b in pairs) / len(pairs)
        chance = sum(margins[0][v] * margins[1][v] for v in margins[0]) / len(pairs) ** 2
        return (agreed - chance) / (1 - chance) if chance < 1 else None


def ratio(above: float, below: float, plus: float = 0.0) -> float | None:
    """Return a quotient, or ``None`` when there is nothing below."""
    return above / below + plus if below else None

"""Values of the population in closed form, from the rates in ``world``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from counterbalance.sample import world

if TYPE_CHECKING:
    from collections.abc import Mapping


def gender_share(gender: str) -> float:
    """Return the share of a gender among images with one clear gender.

    Example:
        >>> gender_share("male")
        0.625
    """
    return world.KINDS[gender] / sum(world.KINDS[g] for g in world.GENDERS)


def one_group_images() -> dict[str, float]:
    """Return the share of each group among images whose people are all of one group."""
    crowds = 1 - world.PEOPLE[1]
    uniform = {
        kind: world.KINDS[kind] * (1 - world.SEVERAL_GROUPS * (1.0 if kind == "mixed" else crowds))
        for kind in world.GROUP_OF
    }
    whole = sum(uniform.values())
    return {g: sum(uniform[k] * world.GROUP_OF[k][g] for k in uniform) / whole for g in world.GROUPS}


def crime_delta(group: str) -> float:
    """Return the over-representation of a group among images whose alt-text has a crime word."""
    shares = one_group_images()
    return world.CRIME_OF[group] / sum(shares[g] * world.CRIME_OF[g] for g in world.GROUPS) - 1


def negative_ratio(kind: str) -> float:
    """Return the share of negative texts among those that are not neutral.

    Example:
        >>> negative_ratio("male"), negative_ratio("female")
        (0.5, 0.3)
    """
    return world.NEGATIVE_OF[kind] / (world.NEGATIVE_OF[kind] + world.POSITIVE_OF[kind])


def pmi(rates: Mapping[str, float], gender: str) -> float:
    """Return Ln P(thing | gender) / P(thing) over all images."""
    return round(math.log(rates[gender] / sum(world.KINDS[k] * rates[k] for k in world.KINDS)), 12) + 0.0


def log_odds(rates: Mapping[str, float], gender: str, other: str) -> float:
    """Return the log-odds ratio of something between images of two genders."""
    odds = [rates[g] / (1 - rates[g]) for g in (gender, other)]
    return math.log(odds[0] / odds[1])


def female_share(rates: Mapping[str, float]) -> float:
    """Return the share of 'female' among images with one clear gender that have something."""
    parts = {g: world.KINDS[g] * rates[g] for g in world.GENDERS}
    return parts["female"] / sum(parts.values())


def random_bias(k: int) -> float:
    """Return the bias@K of a random ranking: (M - F) / (M + F) wherever the first K hold either gender at all.

    Each of the labelled items is as likely to be there as any other, so the mean of (M - F) / (M + F) is that of the
    whole, times the chance that the first K hold one.

    Example:
        >>> round(random_bias(5), 4)
        0.2496
    """
    clear = [world.KINDS[g] for g in ("male", "female")]
    return (clear[0] - clear[1]) / sum(clear) * (1 - (1 - sum(clear)) ** k)


def person_shares() -> dict[tuple[str, str], float]:
    """Return the share of all figures by gender and group.

    In images of several groups, groups are dealt whoever is there, so each has a third.
    """
    many = sum(count * share for count, share in world.PEOPLE.items() if count > 1)
    found: dict[tuple[str, str], float] = {}
    for kind, groups in world.GROUP_OF.items():
        for gender in world.GENDERS if kind == "mixed" else (kind,):
            alone = 0.0 if kind == "mixed" else world.PEOPLE[1]
            more = 1 + world.PEOPLE[3] / 2 if kind == "mixed" else many
            for group, share in groups.items():
                uniform = alone + more * (1 - world.SEVERAL_GROUPS)
                dealt = more * world.SEVERAL_GROUPS / len(world.GROUPS)
                found[gender, group] = found.get((gender, group), 0.0) + world.KINDS[kind] * (uniform * share + dealt)
    whole = sum(found.values())
    return {key: value / whole for key, value in found.items()}


def person_share(group: str) -> float:
    """Return the share of a group among all figures."""
    return sum(share for (_, g), share in person_shares().items() if g == group)


def person_ratio(gender: str, group: str) -> float:
    """Return how often gender and group are seen in a figure, over how often they would if they had nothing to do with each other.

    Figures in which both are unclear are among those counted.
    """
    shares = person_shares()
    of_gender = sum(share for (g, _), share in shares.items() if g == gender)
    return shares[gender, group] / of_gender / person_share(group) / (1 - world.UNCLEAR_RATE)

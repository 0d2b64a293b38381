"""The closed forms of the population agree with what a large plan shows."""

from __future__ import annotations

import math

import pytest

from counterbalance.sample import population, world
from counterbalance.sample.plan import Scene, make_plan

IMAGES = 30_000


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return make_plan(IMAGES, 11)


def near(found: float, expected: float, n: float, *, sd: float = 1.0) -> bool:
    """Within four standard errors of a mean of n values with that standard deviation."""
    return abs(found - expected) < 4 * sd / math.sqrt(n)


def test_groups_of_one_group_images(scenes: list[Scene]) -> None:
    labelled = [s for s in scenes if s.group in world.GROUPS]
    for group, share in population.one_group_images().items():
        assert near(sum(s.group == group for s in labelled) / len(labelled), share, len(labelled), sd=0.5)


def test_crime_deltas(scenes: list[Scene]) -> None:
    labelled = [s for s in scenes if s.group in world.GROUPS]
    criminal = [s for s in labelled if s.crime]
    for group in world.GROUPS:
        share = sum(s.group == group for s in labelled) / len(labelled)
        among = sum(s.group == group for s in criminal) / len(criminal)
        assert near(among / share - 1, population.crime_delta(group), len(criminal), sd=0.5 / share)


def test_shares_of_figures_and_how_often_gender_and_group_meet(scenes: list[Scene]) -> None:
    figures = [(p.gender, p.group) for s in scenes for p in s.people]
    expected = population.person_shares()
    assert sum(expected.values()) == pytest.approx(1)
    for key, share in expected.items():
        assert near(figures.count(key) / len(figures), share, len(figures), sd=0.6)
    female = sum(g == "female" for g, _ in figures) / len(figures)
    violet = sum(g == "violet" for _, g in figures) / len(figures)
    both = figures.count(("female", "violet")) / len(figures)
    unclear = 1 - world.UNCLEAR_RATE
    assert near(both / female / violet / unclear, population.person_ratio("female", "violet"), len(figures), sd=4)


def test_pmi_share_and_log_odds_of_things(scenes: list[Scene]) -> None:
    for category, rates in world.TIED_OBJECTS.items():
        having = [s.kind for s in scenes if category in s.objects]
        for gender in world.GENDERS:
            found = math.log(having.count(gender) / len(having) / world.KINDS[gender])
            assert found == pytest.approx(population.pmi(rates, gender), abs=0.01)
        clear = [k for k in having if k in world.GENDERS]
        assert clear.count("female") / len(clear) == pytest.approx(population.female_share(rates), abs=0.01)
    odds = [
        sum(s.keyword for s in scenes if s.kind == g) / sum(not s.keyword for s in scenes if s.kind == g)
        for g in ("female", "male")
    ]
    expected = population.log_odds(world.KEYWORD_OF, "female", "male")
    assert math.log(odds[0] / odds[1]) == pytest.approx(expected, abs=0.01)


def test_bias_of_a_random_ranking_by_counting_all_draws() -> None:
    """Exact for draws with replacement: every make-up of the first three by its multinomial weight."""
    male, female = world.KINDS["male"], world.KINDS["female"]
    total = 0.0
    for m in range(4):
        for f in range(4 - m):
            weight = math.factorial(3) / math.factorial(m) / math.factorial(f) / math.factorial(3 - m - f)
            weight *= male**m * female**f * (1 - male - female) ** (3 - m - f)
            total += weight * ((m - f) / (m + f) if m + f else 0.0)
    assert population.random_bias(3) == pytest.approx(total)

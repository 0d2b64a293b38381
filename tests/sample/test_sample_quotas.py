"""Quotas are exact: shares of a plan are as near to the population's as whole numbers allow."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.sample import world
from counterbalance.sample.plan import make_plan
from counterbalance.sample.quotas import apportion, deal, pick

shares = st.dictionaries(st.text(max_size=3), st.floats(0.01, 100), min_size=1, max_size=8)


@given(st.integers(0, 10_000), shares)
def test_apportioned_numbers_add_up_and_are_off_by_less_than_one(total: int, parts: dict[str, float]) -> None:
    counts = apportion(total, parts)
    assert sum(counts.values()) == total
    whole = sum(parts.values())
    assert all(abs(counts[k] - total * v / whole) < 1 + 1e-6 for k, v in parts.items())


@given(st.integers(0, 200), shares, st.integers())
def test_dealing_gives_the_apportioned_numbers(total: int, parts: dict[str, float], seed: int) -> None:
    dealt = Counter(deal(random.Random(seed), total, parts))
    assert {k: dealt[k] for k in parts} == apportion(total, parts)


@given(st.lists(st.integers(), unique=True, max_size=60), st.floats(0, 1), st.integers())
def test_picking_takes_the_share_and_keeps_the_order(items: list[int], rate: float, seed: int) -> None:
    chosen = pick(random.Random(seed), items, rate)
    assert abs(len(chosen) - rate * len(items)) <= 0.5 + 1e-6
    assert [i for i in items if i in set(chosen)] == chosen


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_keeps_its_quotas(seed: int) -> None:
    scenes = make_plan(500, seed)
    kinds = Counter(s.kind for s in scenes)
    assert kinds == {k: round(500 * v) for k, v in world.KINDS.items()}
    for category, rates in world.TIED_OBJECTS.items():
        for kind, rate in rates.items():
            having = sum(category in s.objects for s in scenes if s.kind == kind)
            assert abs(having - rate * kinds[kind]) <= 0.5
    for kind, rate in world.POSITIVE_OF.items():
        assert abs(sum(s.tone > 0 for s in scenes if s.kind == kind) - rate * kinds[kind]) <= 1
    named = Counter(s.country for s in scenes if s.country)
    assert named == apportion(round(500 * world.COUNTRY_RATE), world.COUNTRIES)
    assert sum(s.hate > world.HATE_THRESHOLD for s in scenes) == round(500 * world.HATE_RATE)
    assert sum(s.hate == world.HATE_THRESHOLD for s in scenes) == 1


def test_a_text_with_a_crime_word_is_negative_and_the_quota_of_negative_ones_is_kept() -> None:
    for seed in range(10):
        scenes = make_plan(500, seed)
        assert all(s.tone == -1 for s in scenes if s.crime)
        for kind, rate in world.NEGATIVE_OF.items():
            members = [s for s in scenes if s.kind == kind]
            assert abs(sum(s.tone < 0 for s in members) - rate * len(members)) <= 0.5


def test_people_fit_their_scene() -> None:
    for scene in make_plan(500, 1):
        genders = {p.gender for p in scene.people}
        assert genders == {"mixed": {"male", "female"}, "nobody": set()}.get(scene.kind, {scene.kind})
        groups = {p.group for p in scene.people}
        assert len(groups) == (0 if scene.group == "nobody" else 2 if scene.group == "several" else 1)
        assert groups <= set(world.GROUPS)

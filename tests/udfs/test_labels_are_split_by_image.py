"""Labels are divided 80/10/10: by image, stratified by class, and the same way every time."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.udfs.models.training import SHARES, split

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40)), min_size=1, max_size=150)


@given(ROWS, st.integers(0, 5))
def test_an_image_is_on_one_side_only(rows, seed):
    classes, images = zip(*rows, strict=True)
    sides = {}
    for image, side in zip(images, split(classes, images, seed), strict=True):
        assert sides.setdefault(image, side) == side


@given(ROWS, st.integers(0, 5))
def test_the_order_of_rows_does_not_matter(rows, seed):
    classes, images = zip(*rows, strict=True)
    once = dict(zip(images, split(classes, images, seed), strict=True))
    again = dict(zip(images[::-1], split(classes[::-1], images[::-1], seed), strict=True))
    assert once == again


@given(st.lists(st.integers(10, 90), min_size=1, max_size=4), st.integers(0, 5))
def test_every_class_has_its_shares_to_within_one(sizes, seed):
    """With one person an image, the shares of a class are as exact as whole pictures allow."""
    classes = [name for name, size in zip("abcd", sizes, strict=False) for _ in range(size)]
    sides = split(classes, range(len(classes)), seed)
    for name, size in zip("abcd", sizes, strict=False):
        counts = Counter(side for c, side in zip(classes, sides.tolist(), strict=True) if c == name)
        for number, share in enumerate(SHARES):
            assert abs(counts[number] - share * size) <= 1
            assert counts[number] > 0


def test_a_rare_class_is_on_every_side_though_it_shares_its_images():
    classes, images = [], []
    for image in range(200):
        classes.append("common")
        images.append(image)
        if image % 20 == 0:
            classes.append("rare")
            images.append(image)
    sides = split(classes, images, 3)
    rare = sides[np.array(classes) == "rare"]
    assert Counter(rare.tolist()) == {0: 8, 1: 1, 2: 1}


def test_seeds_differ_and_one_seed_does_not():
    classes, images = ["a"] * 200, list(range(200))
    one, same, other = (split(classes, images, seed).tolist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize(
    "ids", [range(1000), [2**62 + 7 * i for i in range(1000)], [f"image {i}" for i in range(1000)]]
)
def test_shares_of_many(ids):
    counts = Counter(split(["a"] * 1000, list(ids), 0).tolist())
    assert counts == {0: 800, 1: 100, 2: 100}

"""color_grid, color_fidelity, background_difference, object_f1: hand-computed cases, and what holds for all."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import FunctionError
from counterbalance.engine.functions import functions

CELLS = 14 * 14
SMALL = arrays.arrays(np.uint8, st.tuples(st.integers(1, 20), st.integers(1, 20), st.just(3)))
SETS = st.lists(st.none() | st.sampled_from(["dog", "car", "person", "a b", "é", ""]), max_size=6)


def png(pixels, kind="PNG"):
    return image_bytes(Image.fromarray(np.asarray(pixels, np.uint8)), kind)


def plain(color, size=(28, 28)):
    return png(np.full((size[1], size[0], 3), color))


def run(name, *columns, **constants):
    signature = functions()[name]
    taken = [p for p in signature.parameters if not p.constant]
    defaults = {p.name: p.default for p in signature.parameters if p.constant}
    opened = signature.open(defaults | constants)
    found = opened([pa.array(c, p.type) for c, p in zip(columns, taken, strict=True)])
    return (found.to_pylist(), {}) if isinstance(found, pa.Array) else (found.values.to_pylist(), found.errors)


def shares(length, side):
    """Which part of each pixel lies in each cell, of the cell, as exact fractions: (side, length)."""
    edges = [Fraction(length * i, side) for i in range(side + 1)]
    parts = [
        [max(Fraction(0), min(right, j + 1) - max(left, j)) / (right - left) for j in range(length)]
        for left, right in itertools.pairwise(edges)
    ]
    return np.array(parts, float)


def test_a_cell_is_the_mean_of_its_pixels():
    pixels = np.random.default_rng(0).integers(0, 256, (28, 42, 3), np.uint8)
    ((grid,), errors) = run("color_grid", [png(pixels)])
    wanted = pixels.reshape(14, 2, 14, 3, 3).mean((1, 3)) / 255
    assert not errors
    assert len(grid) == CELLS * 3
    assert np.abs(np.array(grid) - wanted.ravel()).max() < 1e-6


@pytest.mark.parametrize(("high", "wide", "side"), [(33, 50, 14), (20, 100, 7), (15, 31, 1), (301, 97, 3), (5, 3, 14)])
def test_pixels_on_an_edge_count_by_their_share(high, wide, side):
    pixels = np.random.default_rng(1).integers(0, 256, (high, wide, 3), np.uint8)
    ((grid,), _) = run("color_grid", [png(pixels)], side=side)
    wanted = np.einsum("ij,jkc,lk->ilc", shares(high, side), pixels / 255, shares(wide, side))
    assert np.abs(np.array(grid) - wanted.ravel()).max() < 1e-6


@pytest.mark.parametrize("side", [0, -1, 257])
def test_sides_that_are_none(side):
    with pytest.raises(FunctionError) as caught:
        run("color_grid", [plain(0)], side=side)
    assert caught.value.code == "E8116"


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ((0, 0, 0), (255, 255, 255), math.sqrt(CELLS * 3)),
        ((0, 0, 0), (255, 0, 0), math.sqrt(CELLS)),
        ((10, 20, 30), (10, 20, 81), math.sqrt(CELLS) / 5),
    ],
)
def test_fidelity_of_plain_pictures(one, other, distance):
    ((found,), _) = run("color_fidelity", [plain(one)], [plain(other, (30, 44))])
    assert found == pytest.approx(1 / distance, rel=1e-6)


def test_fidelity_of_one_changed_cell():
    pixels = np.full((28, 28, 3), 100)
    changed = pixels.copy()
    changed[6, 7] = 151  # a fifth of full, in one of the four pixels of a cell, in three colours
    ((found,), _) = run("color_fidelity", [png(pixels)], [png(changed)])
    assert found == pytest.approx(1 / (math.sqrt(3) / 20), rel=1e-5)


def test_a_change_of_one_step_in_a_large_picture_is_seen():
    """Cells that were rounded to whole steps would be identical."""
    pixels = np.full((700, 700, 3), 100)
    changed = pixels.copy()
    changed[0, 0, 0] = 101
    ((found,), _) = run("color_fidelity", [png(pixels)], [png(changed)])
    assert found == pytest.approx(2500 * 255, rel=0.02)


@given(one=SMALL, other=SMALL)
def test_fidelity_has_no_direction(one, other):
    a, b = png(one), png(other)
    (there, back, same, itself), errors = run("color_fidelity", [a, b, a, b], [b, a, a, b])
    assert not errors
    assert there == back >= 1 / math.sqrt(CELLS * 3) * (1 - 1e-6)
    assert same == itself == math.inf


def test_other_encodings_of_the_same_pixels():
    pixels = np.random.default_rng(2).integers(0, 256, (20, 30, 3), np.uint8)
    assert run("color_fidelity", [png(pixels)], [png(pixels, "BMP")]) == ([math.inf], {})


def test_the_background_is_what_the_box_does_not_touch():
    pixels = np.full((20, 30, 3), 100)
    inside, outside = pixels.copy(), pixels.copy()
    inside[5:11, 10:20] = 255
    outside[11, 10, 2] = 93
    outside[0, 0] = 103
    a, rows = png(pixels), [png(inside), png(inside), png(outside), png(outside), png(outside)]
    boxes = [[10, 10, 10, 9.5, -50], [5, 5, 5, 10.5, -50], [10, 9, 10, 1, 500], [6, 6, 6, 1, 500]]
    assert run("background_difference", [a] * 5, rows, *boxes) == ([0, 155, 7, 3, 0], {})


def test_backgrounds_that_cannot_be_compared():
    a, b = plain(0, (20, 10)), plain(0, (10, 20))
    rows = [a, a, a, None, b"no"], [b, a, None, a, a]
    values, errors = run("background_difference", *rows, *([0, 99, 0, 0, 0] if i == 0 else [5] * 5 for i in range(4)))
    assert values == [None] * 5
    assert errors[0] == "pictures of 20 x 10 and 10 x 20: nothing lies outside a box of both"
    assert "no box in a picture of 20 x 10" in errors[1]
    assert set(errors) == {0, 1, 4}


def test_rows_without_a_picture():
    a = plain(7)
    for name, columns in [("color_fidelity", [[a, a, None], [b"no", None, a]]), ("color_grid", [[b"no", None, None]])]:
        values, errors = run(name, *columns)
        assert values == [None] * 3
        assert set(errors) == {0}


@pytest.mark.parametrize(
    ("one", "other", "f1"),
    [
        (["dog", "car"], ["dog", "dog", "bus"], 0.5),
        (["dog"], ["dog", "car", "bus"], 0.5),
        (["a", "b", "c"], ["b", "c", "d", "e"], 4 / 7),
        ([], [], 1.0),
        ([None], [], 1.0),
        ([], ["dog"], 0.0),
        (["dog", None], ["dog"], 1.0),
        (["Dog"], ["dog"], 0.0),
        (None, [], None),
        (["dog"], None, None),
    ],
)
def test_f1_of_two_sets(one, other, f1):
    assert run("object_f1", [one], [other]) == ([f1], {})


@given(rows=st.lists(st.tuples(st.none() | SETS, st.none() | SETS), max_size=8))
def test_f1_is_that_of_sets_in_python(rows):
    ones, others = [a for a, _ in rows], [b for _, b in rows]
    values, _ = run("object_f1", ones, others)
    assert values == run("object_f1", others, ones)[0]
    for a, b, value in zip(ones, others, values, strict=True):
        if a is None or b is None:
            assert value is None
            continue
        first, second = set(a) - {None}, set(b) - {None}
        assert 0 <= value <= 1
        assert (value == 1) == (first == second)
        assert value == pytest.approx(
            2 * len(first & second) / ((len(first) + len(second)) or 1) if first != second else 1
        )


def test_a_part_of_longer_arrays():
    ones = pa.array([["x"], ["dog", "car"], None, ["bus"]]).slice(1, 2)
    others = pa.array([["q"], ["dog"], ["dog"], []]).slice(1, 2)
    assert functions()["object_f1"].open({})([ones, others]).to_pylist() == [pytest.approx(2 / 3), None]


def test_in_sql():
    lake = cb.connect("memory://compared")
    pixels = np.random.default_rng(3).integers(0, 256, (20, 30, 3), np.uint8)
    lake.ingest({"images": pa.table({"image_id": [1], "image": pa.array([png(pixels)], pa.binary())})})
    text = """
        SELECT color_fidelity(image, image), len(color_grid(image, side := 2)), object_f1(['a', 'b'], ['b']),
          background_difference(image, mask_people(image, [{'category': 'person', 'score': 1, 'x': 3, 'y': 4, 'width': 5,
            'height': 6, 'mask': NULL}]), 3, 4, 5, 6)
        FROM images
    """
    assert lake.sql(text).fetchall() == [(math.inf, 12, pytest.approx(2 / 3), 0)]

"""Columns of JSON objects: one odd value is refused once with its reason, the others keep their place."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest.hashing import hash63
from counterbalance.ingest.rows import Places
from counterbalance.ingest.validate import ObjectSieve, is_number, is_utf8, item_id, outside

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.integers(),
    st.floats(),
    st.text(max_size=4),
    st.just("\ud800"),
    st.just([1]),
)


def sieve(values, field="f"):
    return ObjectSieve("a.json", "images", np.arange(10, 10 + len(values)), [{field: v} for v in values])


@given(st.lists(VALUES, max_size=8))
def test_ids(values):
    columns = sieve(values)
    ids = columns.ids("f")
    for value, found, kept in zip(values, ids.tolist(), columns.keep.tolist(), strict=True):
        text = isinstance(value, str) and value != "" and is_utf8(value)
        whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
        assert kept == (text or whole)
        assert not whole or found == value
        assert not text or value.isdigit() or found == hash63(value)
    refused = [i for i, kept in enumerate(columns.keep.tolist()) if not kept]
    assert [r.position for r in columns.rejects] == [f"images[{10 + i}]" for i in refused]
    assert {r.code for r in columns.rejects} <= {"bad_id", "missing_id"}


@given(st.lists(VALUES, max_size=8))
def test_numbers(values):
    columns = sieve([v for v in values if not (isinstance(v, int) and abs(v) > 2**60)])
    items = columns.values("f")
    found = columns.numbers_of("f", "bad_it")
    for value, number, kept in zip(items, found.tolist(), columns.keep.tolist(), strict=True):
        fine = is_number(value) and math.isfinite(value)
        assert kept == (value is None or fine)
        assert number == float(value) if fine else math.isnan(number)


@given(st.lists(VALUES, max_size=8))
def test_texts(values):
    columns = sieve(values)
    found = columns.text("f").to_pylist()
    for value, text, kept in zip(values, found, columns.keep.tolist(), strict=True):
        fine = isinstance(value, str) and is_utf8(value)
        assert kept == (value is None or fine)
        assert text == (value if fine else None)


@given(
    st.lists(
        st.one_of(st.lists(VALUES, max_size=5), st.lists(st.floats(0, 9), min_size=4, max_size=4), VALUES), max_size=6
    )
)
def test_boxes(values):
    columns = sieve(values)
    boxes = columns.boxes("f")
    assert boxes.shape == (len(values), 4)
    assert np.isfinite(boxes).all()
    for value, box, kept in zip(values, boxes.tolist(), columns.keep.tolist(), strict=True):
        fine = isinstance(value, list) and len(value) == 4 and all(is_number(v) and abs(v) <= 1e9 for v in value)
        assert kept == (fine and value[2] >= 0 and value[3] >= 0)
        assert not kept or box == value


@pytest.mark.parametrize(("value", "pixels"), [(1, 1), (640.0, 640), (None, None), (2**31 - 1, 2**31 - 1)])
def test_pixels(value, pixels):
    columns = sieve([value])
    assert columns.pixels("f").to_pylist() == [pixels]
    assert not columns.rejects


def test_a_row_is_refused_once_with_the_first_reason_in_order():
    columns = ObjectSieve("a.json", "images", np.array([3, 8]), [{"id": True, "w": -1}, {"id": 5, "w": 0}])
    columns.pixels("w")
    columns.ids("id")
    assert [(r.position, r.code) for r in columns.rejects] == [("images[3]", "bad_size"), ("images[8]", "bad_size")]


def test_texts_have_a_limit_in_bytes():
    columns = sieve(["éé", "abcd", "abcde", "ééé"])
    columns.text("f", limit=4)
    assert columns.keep.tolist() == [True, True, False, False]
    assert {r.code for r in columns.rejects} == {"too_long"}


def test_long_keys_are_no_ids():
    assert item_id("x" * (16 << 10)) is not None
    assert item_id("x" * ((16 << 10) + 1)) is None


def test_boxes_may_exceed_their_image_by_a_pixel():
    boxes = np.array([[-1, -1, 102, 52], [-1.01, 0, 5, 5], [0, 0, 101.01, 5], [0, 0, 5, 51.01], [1e6, 1e6, 5, 5]])
    assert outside(boxes, np.full(5, 100.0), np.full(5, 50.0)).tolist() == [False, True, True, True, True]
    assert not outside(boxes[4:], np.array([np.inf]), np.array([np.inf])).any()


def test_positions_are_words_made_when_asked_for():
    places = Places("annotations[{}]", np.arange(5, 1_000_005))
    assert (len(places), places[0], places[-1]) == (1_000_000, "annotations[5]", "annotations[1000004]")
    assert list(places[2:4]) == ["annotations[7]", "annotations[8]"]
    assert "annotations[9]" in places

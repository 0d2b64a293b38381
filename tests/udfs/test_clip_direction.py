"""``clip_direction`` is the cosine of two differences, whatever the rows are stored and called with."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.functions import function
from counterbalance.udfs import clip_direction as module
from counterbalance.udfs.clip_direction import clip_direction

ORDER = ("image_a", "image_b", "text_a", "text_b")


def fixed(values, width):
    return pa.array(values, pa.list_(pa.float32(), width))


def by_hand(a, b, c, d):
    """Loops in Python's own doubles, with exact sums."""
    image, text = [y - x for x, y in zip(a, b, strict=True)], [y - x for x, y in zip(c, d, strict=True)]
    size = math.sqrt(math.fsum(x * x for x in image)) * math.sqrt(math.fsum(x * x for x in text))
    return math.fsum(x * y for x, y in zip(image, text, strict=True)) / size if size else 0.0


def units(rng, count, width):
    found = rng.normal(size=(count, width))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture
def four():
    rng = np.random.default_rng(0)
    found = [units(rng, 300, 24) for _ in ORDER]
    found[1][7] = found[0][7]
    found[3][8] = found[2][8]
    found[3][9] = found[2][9] + (found[1][9] - found[0][9])
    found[3][10] = found[2][10] - (found[1][10] - found[0][10])
    return found


def test_cosines_of_differences(four):
    told = clip_direction(*(fixed(m.tolist(), 24) for m in four))
    wanted = [by_hand(*rows) for rows in zip(*(m.tolist() for m in four), strict=True)]
    assert not told.errors
    assert told.values.to_pylist() == pytest.approx(wanted, abs=2e-7)
    assert told.values.to_pylist()[7:9] == [0.0, 0.0]
    assert told.values.to_pylist()[9:11] == pytest.approx([1.0, -1.0], abs=1e-6)
    assert told.values.type == pa.float64()


@given(st.data())
def test_any_rows(data):
    """NULL in, NULL out; vectors of different lengths are errors of their rows; others do not notice."""
    number = st.integers(-3, 3).map(float)
    vector = st.none() | st.integers(1, 3).flatmap(lambda n: st.lists(number, min_size=n, max_size=n))
    rows = data.draw(st.lists(st.tuples(vector, vector, vector, vector), max_size=6))
    columns = [pa.array([r[i] for r in rows], pa.list_(pa.float32())) for i in range(4)]
    offset = data.draw(st.integers(0, len(rows)))
    told = clip_direction(*(c.slice(offset) for c in columns))
    for number_, row in enumerate(rows[offset:]):
        value = told.values[number_].as_py()
        if any(v is None for v in row):
            assert value is None
            assert number_ not in told.errors
        elif len({len(v) for v in row}) > 1:
            assert told.errors[number_] == f"vectors of {', '.join(str(len(v)) for v in row)} numbers"
        else:
            assert value == pytest.approx(by_hand(*row), abs=1e-6)
    assert len(told.values) == len(rows) - offset


def test_no_numbers_are_errors():
    one, odd = [1.0, 0.0], [float("nan"), 1.0]
    columns = [[one, one, one], [odd, [float("inf"), 0.0], [0.0, 1.0]], [one, one, one], [[0.0, 1.0]] * 3]
    told = clip_direction(*(fixed(c, 2) for c in columns))
    assert set(told.errors) == {0, 1}
    assert told.values.to_pylist() == [None, None, pytest.approx(1.0)]


@pytest.mark.parametrize("block", [1, 24, 1000, 1 << 20])
def test_a_row_does_not_depend_on_others(four, monkeypatch, block):
    columns = [fixed(m.tolist(), 24) for m in four]
    whole = clip_direction(*columns).values.to_pylist()
    monkeypatch.setattr(module, "_BLOCK", block)
    assert clip_direction(*columns).values.to_pylist() == whole
    assert [clip_direction(*(c.slice(i, 1) for c in columns)).values[0].as_py() for i in range(0, 300, 37)] == whole[
        ::37
    ]
    turned = [c.take(pa.array(range(299, -1, -1))) for c in columns]
    assert clip_direction(*turned).values.to_pylist()[::-1] == whole


def test_columns_of_a_lake(empty_lake, four):
    """The same bits as a generated column and in a query, over stored vectors, NULL among them."""
    lake = empty_lake
    lake.ingest({"images": pa.table({"image_id": range(300), "key": [str(i) for i in range(300)]})})
    made = {}

    @cb.udf(
        returns=pa.list_(pa.float32(), 24),
        parameters={"image_id": pa.int64(), "part": pa.int64()},
        version="1",
        name="t_vector",
    )
    def vector(image_id, part):
        found = [
            None if i == 5 else four[p][i].tolist() for i, p in zip(image_id.to_pylist(), part.to_pylist(), strict=True)
        ]
        return pa.array(found, pa.list_(pa.float32(), 24))

    try:
        for part, name in enumerate(ORDER):
            lake.add_column("images", name, f"t_vector(image_id, {part})")
        lake.add_column("images", "direction", f"clip_direction({', '.join(ORDER)})")
        lake.refresh(executor="inline")
        made = dict(lake.sql("SELECT image_id, direction FROM images").fetchall())
        asked = dict(
            lake.sql("SELECT image_id, clip_direction(image_b, image_a, text_b, text_a) FROM images").fetchall()
        )
    finally:
        from counterbalance.engine import functions

        functions._registry.pop("t_vector", None)
    direct = clip_direction(*(fixed(m.tolist(), 24) for m in four)).values.to_pylist()
    assert made == {i: None if i == 5 else direct[i] for i in range(300)} == asked
    assert function("clip_direction").signature == "clip_direction(image_a, image_b, text_a, text_b)"


def test_small_changes_count_and_no_cosine_is_above_one():
    """Steps of 1e-5 in the same direction; rounding alone would give more than 1 for some."""
    kind = pa.list_(pa.float32())
    zeros = pa.array([[0.0] * 7] * 500, kind)
    steps = (np.random.default_rng(5).normal(size=(500, 7)) * 1e-5).astype(np.float32)
    found = clip_direction(zeros, pa.array(steps.tolist(), kind), zeros, pa.array((3 * steps).tolist(), kind))
    values = found.values.to_numpy()
    assert values.min() > 1 - 1e-6
    assert values.max() <= 1

"""Vectors of one image, or of one source with the same label, count as one in association, casc, similarity_bias and ieat."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

SOURCES, EDITS, WIDTH = 40, 4, 6
ASKED = {
    "association": {},
    "similarity_bias": {},
    "casc": {},
    "ieat": {"a": "a", "b": "b", "x": "female", "y": "male"},
}


def directions(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def pictured(ids, rows):
    return pa.table({"image_id": ids, "embedding": pa.array(rows.astype(np.float32).tolist(), pa.list_(pa.float32()))})


def labelled(ids, labels):
    return pa.table({"image_id": ids, "label": labels})


@pytest.fixture
def edits():
    """Edits of sources, two of each with either label, their sources, and the mean directions of both."""
    draw = np.random.default_rng(5)
    rows = draw.normal(size=(SOURCES * EDITS, WIDTH)) + np.repeat(draw.normal(size=(SOURCES, WIDTH)), EDITS, axis=0)
    source = np.repeat(np.arange(SOURCES), EDITS)
    label = np.tile(["female", "female", "male", "male"], SOURCES)
    means = directions(rows.astype(np.float32).astype(float)).reshape(-1, 2, WIDTH).mean(axis=1)
    return rows, source, label, means


def arguments(name, rows, label):
    """What an audit is given, of images numbered from 0, and of twenty more that are attributes of ieat."""
    draw = np.random.default_rng(6)
    more = draw.normal(size=(40, WIDTH))
    ids = np.arange(len(rows))
    given = {"images": pictured([*ids, *range(900, 940)], np.concatenate([rows, more]))}
    if name == "ieat":
        given |= {
            "targets": labelled(ids, label),
            "attributes": labelled(range(900, 940), ["a"] * 20 + ["b"] * 20),
        }
    else:
        prompts = draw.normal(size=(3, WIDTH)).astype(np.float32).tolist()
        given |= {
            "groups": labelled(ids, label),
            "categories": pa.table({"category": ["p", "q", "r"], "embedding": prompts}),
        }
    return given | ASKED[name]


def rows_of(session, name, **given):
    rows = session.audit(name, **given).to_arrow().to_pylist()
    left = {"params", "images_label", "images_against", "images_all", "n_images", "images", "smallest"}
    numbers = [{k: v for k, v in row.items() if isinstance(v, int | float) and k not in left} for row in rows]
    assert len(numbers[0]) > 5
    return numbers


@pytest.mark.parametrize("name", ASKED)
def test_edits_count_by_the_mean_direction_of_a_source_and_label(session, edits, name):
    rows, source, label, means = edits
    given = arguments(name, rows, label)
    made_of = pa.table({"image_id": np.arange(len(rows)), "source_id": source})
    found = rows_of(session, name, **given, sources=made_of)
    directly = pa.table({"image_id": np.arange(len(means)), "source_id": np.arange(len(means)) // 2})
    expected = rows_of(session, name, **arguments(name, means, np.tile(["female", "male"], SOURCES)), sources=directly)
    alone = rows_of(session, name, **given)
    for one, other, each in zip(found, expected, alone, strict=True):
        assert one == pytest.approx(other, rel=1e-5, abs=1e-6)
        assert one["low"] != pytest.approx(each["low"], rel=1e-3)


@pytest.mark.parametrize("name", ASKED)
def test_several_vectors_of_an_image_count_as_one(session, edits, name):
    rows, _, label, means = edits
    given = arguments(name, rows[::2], label[::2])
    twice = given["images"]
    of_two = np.repeat(np.arange(len(means)), 2)
    several = pa.concat_tables([pictured(of_two, rows), twice.filter(pa.compute.greater(twice["image_id"], 899))])
    found = rows_of(session, name, **{**given, "images": several})
    assert found == [
        pytest.approx(row, rel=1e-5, abs=1e-6) for row in rows_of(session, name, **arguments(name, means, label[::2]))
    ]


@pytest.mark.parametrize("name", ["association", "similarity_bias", "casc"])
def test_edits_of_one_source_are_compared_with_each_other(session, edits, name):
    """p is that of the paired t test; edits taken apart are less sure of the same difference."""
    _, _, _, means = edits
    given = arguments(name, means, np.tile(["female", "male"], SOURCES))
    made_of = pa.table({"image_id": np.arange(len(means)), "source_id": np.arange(len(means)) // 2})
    units = directions(means.astype(np.float32).astype(float))
    found = session.audit(name, **given, sources=made_of).to_arrow().to_pylist()
    apart = session.audit(name, **given).to_arrow().to_pylist()
    for row, other in zip(found, apart, strict=True):
        (prompt,) = (p["embedding"] for p in given["categories"].to_pylist() if p["category"] == row["category"])
        cosines = units @ directions(np.array([prompt]))[0]
        test = stats.ttest_rel(cosines[::2], cosines[1::2])
        assert row["p"] == pytest.approx(test.pvalue, rel=0.02)
        assert row["p"] < other["p"]
        assert row["value"] == other["value"]
        assert other["low"] < row["low"] < row["value"] < row["high"] < other["high"]
        if name == "similarity_bias":
            ends = test.confidence_interval()
            assert (row["low"], row["high"]) == pytest.approx((ends.low, ends.high), rel=1e-3)


def associations(given):
    """Return how much nearer each image is to the attributes a than to b, in order of its number."""
    rows = np.array(given["images"]["embedding"].to_pylist())
    units, ids = directions(rows), np.array(given["images"]["image_id"].to_pylist())
    of = dict(zip(given["attributes"]["image_id"].to_pylist(), given["attributes"]["label"].to_pylist(), strict=True))
    mean = {side: units[[of.get(i) == side for i in ids]].mean(axis=0) for side in "ab"}
    return (units @ (mean["a"] - mean["b"]))[[i not in of for i in ids]]


def test_ieat_exchanges_edits_of_one_source_alone(session, edits):
    """Of twelve sources with both labels all 4096 exchanges; the interval is narrower, of the same effect."""
    _, _, _, means = edits
    given = arguments("ieat", means[:24], np.tile(["female", "male"], 12))
    made_of = pa.table({"image_id": np.arange(24), "source_id": np.arange(24) // 2})
    (row,) = session.audit("ieat", **given, sources=made_of).to_arrow().to_pylist()
    (apart,) = session.audit("ieat", **given).to_arrow().to_pylist()
    s = associations(given)
    differences = s[::2] - s[1::2]
    turned = [np.dot(signs, differences) for signs in itertools.product((1, -1), repeat=12)]
    assert (row["exact"], row["permutations"]) == (True, 4096)
    assert row["p"] == np.mean(np.array(turned) >= differences.sum() - 1e-9)
    assert row["value"] == pytest.approx(differences.mean() / s.std(ddof=1), rel=1e-5)
    assert (row["value"], row["n_x"], row["n_y"]) == (apart["value"], 12, 12)
    assert apart["low"] < row["low"] < row["value"] < row["high"] < apart["high"]


def test_ieat_of_pairs_and_of_edits_without_one(session, edits):
    """Twelve pairs beside 16 edits that have none: as 200,000 exchanges drawn here have it."""
    _, _, _, means = edits
    label = np.tile(["female", "male"], 20)
    given = arguments("ieat", means[:40], label)
    made_of = pa.table({"image_id": np.arange(40), "source_id": [*(np.arange(24) // 2), *range(100, 116)]})
    (row,) = session.audit("ieat", **given, sources=made_of, permutations=100_000).to_arrow().to_pylist()
    s, draw = associations(given), np.random.default_rng(1)
    signs = draw.choice((1, -1), (200_000, 12)) @ (s[:24:2] - s[1:24:2]) / 2
    alone = draw.permuted(np.broadcast_to(s[24:], (200_000, 16)), axis=1)
    drawn = signs + (alone[:, :8].sum(axis=1) - alone[:, 8:].sum(axis=1)) / 2
    seen = (s[::2].sum() - s[1::2].sum()) / 2
    assert (row["exact"], row["permutations"]) == (False, 100_000)
    assert row["p"] == pytest.approx(np.mean(drawn >= seen - 1e-9), abs=0.006)


def test_few_sources_with_both_labels_change_little(session, edits):
    _, _, _, means = edits
    given = arguments("similarity_bias", means, np.tile(["female", "male"], SOURCES))
    made_of = pa.table({"image_id": [0, 1], "source_id": [7, 7]})
    found = session.audit("similarity_bias", **given, sources=made_of).to_arrow().to_pylist()
    apart = session.audit("similarity_bias", **given).to_arrow().to_pylist()
    for row, other in zip(found, apart, strict=True):
        assert row["high"] - row["low"] == pytest.approx(other["high"] - other["low"], rel=0.1)


def test_equal_edits_make_nothing_surer(session, edits):
    """Five copies of an image tell what one does."""
    rows, _, _, _ = edits
    label = np.tile(["female", "male"], len(rows) // 2)
    once = rows_of(session, "association", **arguments("association", rows, label))
    copies = np.repeat(np.arange(len(rows)), 5)
    given = arguments("association", rows[copies], label[copies])
    made_of = pa.table({"image_id": np.arange(len(copies)), "source_id": copies})
    assert [r["p"] for r in rows_of(session, "association", **given, sources=made_of)] == pytest.approx(
        [r["p"] for r in once], rel=1e-3
    )
    assert max(r["p"] / o["p"] for r, o in zip(rows_of(session, "association", **given), once, strict=True)) < 0.9


def test_opposite_vectors_have_no_direction_and_do_not_count(session, edits):
    rows, _, _, _ = edits
    label = np.tile(["female", "male"], len(rows) // 2)
    given = arguments("association", np.concatenate([rows, -rows[:1]]), np.append(label, label[0]))
    made_of = pa.table({"image_id": [0, len(rows)], "source_id": [0, 0]})
    found = session.audit("association", **given, sources=made_of).to_arrow()
    assert set(found["n_label"].to_pylist()) == {len(rows) // 2 - 1}
    assert set(found["images_label"].to_pylist()) == {len(rows) // 2 - 1}  # the difference would tell whose they are


def test_opposite_vectors_end_no_ieat(session, edits):
    rows, _, _, _ = edits
    label = np.tile(["female", "male"], len(rows) // 2)
    given = arguments("ieat", np.concatenate([rows, -rows[:1]]), np.append(label, label[0]))
    made_of = pa.table({"image_id": [0, len(rows)], "source_id": [0, 0]})
    (row,) = session.audit("ieat", **given, sources=made_of).to_arrow().to_pylist()
    assert (row["n_x"], row["n_y"]) == (len(rows) // 2 - 1, len(rows) // 2)

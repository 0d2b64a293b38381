"""weat and ieat: effect size and p by hand, against scipy's permutation test, seeds, suppression."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from counterbalance.engine.errors import RequestError
from counterbalance.engine.store import tables
from counterbalance.udfs.associations import association_test, projections

COLUMNS = ("value", "low", "high", "p", "exact", "permutations", "n", "n_x", "n_y", "n_a", "n_b", "suppressed")


def words(**classes):
    rows = [(name, [float(v) for v in vector]) for name, own in classes.items() for vector in own]
    names, vectors = zip(*rows, strict=True)
    return pa.table({"class": list(names), "embedding": pa.array(list(vectors), pa.list_(pa.float32()))})


def associations(w, a, b):
    w, a, b = (np.asarray(m, np.float32).astype(float) for m in (w, a, b))
    w, a, b = (m / np.linalg.norm(m, axis=1, keepdims=True) for m in (w, a, b))
    return (w @ a.T).mean(axis=1) - (w @ b.T).mean(axis=1)


@pytest.fixture
def weat(lake):
    def run(vectors, **more):
        return lake.audit("weat", vectors=vectors, **more).to_arrow().to_pylist()[0]

    return run


def test_by_hand(weat, effect_ends):
    """a is east and b north; s of x: 1, 0.2; of y: -1, -0.2. Of six divisions only the observed one reaches 1.2."""
    row = weat(words(x=[[2, 0], [0.8, 0.6]], y=[[0, 1], [0.6, 0.8]], a=[[1, 0]] * 2, b=[[0, 3], [0, 1]]))
    std = np.std([1, 0.2, -1, -0.2], ddof=1)
    assert row["value"] == pytest.approx(1.2 / std, abs=1e-6)
    assert row["p"] == pytest.approx(1 / 6)
    assert (row["low"], row["high"]) == pytest.approx(effect_ends([1, 0.2], [-1, -0.2]), rel=1e-6)
    assert (row["exact"], row["permutations"], row["suppressed"]) == (True, 6, False)
    assert [row[n] for n in ("n", "n_x", "n_y", "n_a", "n_b")] == [4, 2, 2, 2, 2]


def test_equal_differences_count(weat):
    """All four s are equal in pairs, so two of six divisions... the four mixed ones reach 0 as well."""
    row = weat(words(x=[[1, 0], [0, 1]], y=[[1, 0], [0, 1]], a=[[1, 0]] * 2, b=[[0, 1]] * 2))
    assert row["value"] == pytest.approx(0)
    assert row["p"] == pytest.approx(5 / 6)


def toy(count, seed=0, shift=0.5):
    draw = np.random.default_rng(seed)
    a, b = draw.normal(size=(2, 8, 10))
    x, y = draw.normal(size=(2, count, 10)) + shift * np.array([a.mean(axis=0), b.mean(axis=0)])[:, None]
    return x, y, a, b


def test_all_divisions_of_seven_and_seven_as_scipy_has_them(weat):
    x, y, a, b = toy(7)
    row = weat(words(x=x, y=y, a=a, b=b))
    of_x, of_y = associations(x, a, b), associations(y, a, b)
    other = stats.permutation_test(
        (of_x, of_y), lambda p, q: p.mean() - q.mean(), n_resamples=np.inf, alternative="greater"
    )
    assert (row["exact"], row["permutations"]) == (True, 3432)
    assert row["p"] == pytest.approx(other.pvalue)
    both = np.concatenate([of_x, of_y])
    assert row["value"] == pytest.approx((of_x.mean() - of_y.mean()) / both.std(ddof=1), abs=1e-6)
    assert row["mean_x"] == pytest.approx(of_x.mean(), abs=1e-7)


def test_sets_of_different_sizes(weat):
    x, y, a, b = toy(6)
    row = weat(words(x=x[:3], y=y, a=a, b=b[:5]))
    of_x, of_y = associations(x[:3], a, b[:5]), associations(y, a, b[:5])
    both = np.concatenate([of_x, of_y])
    sums = np.array([both[list(c)].sum() for c in combinations(range(9), 3)])
    assert row["p"] == pytest.approx((sums >= of_x.sum() - 1e-9).mean())
    assert row["permutations"] == 84


def test_draws_where_there_are_too_many_divisions(weat):
    """C(16, 8) = 12,870 > 10,000."""
    given = words(**dict(zip("xyab", toy(8, shift=0.25), strict=True)))
    exact = weat(given, permutations=12_870)
    drawn = weat(given)
    assert (exact["exact"], exact["permutations"], drawn["exact"], drawn["permutations"]) == (
        True,
        12_870,
        False,
        10_000,
    )
    assert drawn["p"] == pytest.approx(exact["p"], abs=4 * np.sqrt(exact["p"] / 10_000) + 1e-4)
    assert drawn["p"] * 10_001 == pytest.approx(round(drawn["p"] * 10_001))
    assert weat(given)["p"] == drawn["p"]
    assert len({weat(given, seed=s)["p"] for s in range(4)}) > 1
    assert weat(words(**dict(zip("xyab", toy(30, shift=9), strict=True))), permutations=99)["p"] == 0.01


def test_suppression(weat):
    given = words(x=[[1, 0]] * 3, y=[[0, 1]] * 3, a=[[1, 0]] * 3, b=[[0, 1]])
    row = weat(given)
    assert (row["suppressed"], row["reason"]) == (True, "small")
    assert {row[c] for c in COLUMNS[:-1]} == {None}
    assert not weat(given, min_count=1)["suppressed"]
    none = weat(given, x="nothing", min_count=0)
    assert (none["suppressed"], none["n_x"], none["value"], none["p"]) == (False, 0, None, None)


def test_other_names_of_classes(weat):
    x, y, a, b = toy(4)
    one = weat(words(x=x, y=y, a=a, b=b))
    two = weat(words(career=x, family=y, male=a, female=b), x="career", y="family", a="male", b="female")
    assert [one[c] for c in COLUMNS] == [two[c] for c in COLUMNS]


def test_words_without_a_vector_do_not_count(weat):
    given = words(**dict(zip("xyab", toy(4), strict=True)))
    holes = pa.table({"class": list("xyab"), "embedding": pa.nulls(4, given["embedding"].type)})
    one, two = weat(pa.concat_tables([given, holes])), weat(given)
    assert [one[c] for c in COLUMNS] == [two[c] for c in COLUMNS]


def test_ieat_is_the_same_test_of_images(lake, weat):
    """Images with both labels, of targets or of attributes, and those without a vector do not count."""
    x, y, a, b = toy(12)
    ids = np.arange(44)
    labels = ["male"] * 12 + ["female"] * 12
    both = pa.table({"image_id": [*range(24), 39, 39, 41], "label": [*labels, "male", "female", "male"]})
    attributes = pa.table(
        {
            "image_id": [*range(24, 40), 40, 40, 42],
            "label": ["career"] * 8 + ["family"] * 8 + ["career", "family", "career"],
        }
    )
    matrix = np.concatenate([x, y, a, b, x[:1]]).astype(np.float32)
    images = pa.table(
        {"image_id": ids, "embedding": pa.array([*matrix.tolist(), None, None, None], pa.list_(pa.float32()))}
    )
    given = {"images": images, "attributes": attributes, "targets": both, "a": "career", "b": "family"}
    one = lake.audit("ieat", min_count=8, **given).to_arrow().to_pylist()[0]
    two = weat(words(x=x, y=y, a=a, b=b))
    assert [one[c] for c in COLUMNS] == [two[c] for c in COLUMNS]
    hidden = lake.audit("ieat", **given).to_arrow().to_pylist()[0]  # eight images of each attribute
    assert {hidden[c] for c in COLUMNS} == {None, True}


@pytest.mark.parametrize("x", ["rare", "female"])
def test_a_label_of_three_images_does_not_follow(disk_lake, build, x):
    ids = list(range(60))
    labels = ["rare" if i < 3 else ("female", "male")[i % 2] for i in ids]
    rows = {"image_id": ids * 2, "attribute": ["perceived_gender"] * 60 + ["scene"] * 60}
    rows["value"] = labels + [("sea", "city")[i % 3 % 2] for i in ids]
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(label_id=list(range(120)), annotator=["m"] * 120, **rows),
        }
    )
    matrix = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    vectors = pa.table({"image_id": ids, "embedding": pa.array(matrix.tolist(), pa.list_(pa.float32()))})
    tables.append(disk_lake.location, "vectors", vectors)
    call = f"ieat(vectors, image_labels('scene'), image_labels('perceived_gender'), 'sea', 'city', x := '{x}', y := 'male')"
    (row,) = disk_lake.sql(f"FROM {call}").to_arrow().to_pylist()
    assert (row["suppressed"], row["reason"]) == (True, "confidential")
    assert {k for k, v in row.items() if v is not None} == {"suppressed", "reason", "params"}


def test_sets_that_make_no_sense():
    def run(x, y, **more):
        given = [pa.array([v], pa.list_(pa.list_(pa.float64()))) for v in (x, y, [[1.0, 0.0]], [[0.0, 1.0]])]
        return association_test(*given, **more).to_pylist()[0]

    same = run([[1.0, 1.0]] * 2, [[2.0, 2.0]] * 2)
    assert (same["effect"], same["p"]) == (None, 1.0)
    drawn = run([[1.0, 1.0]] * 10, [[2.0, 2.0]] * 10, permutations=50)  # equal differences count among draws, too
    assert (drawn["p"], drawn["exact"]) == (1.0, False)
    assert run(None, [[1.0, 1.0]]) is None
    for x, more, code in (
        ([], {}, "E3701"),
        ([[0.0, 0.0]], {}, "E3702"),
        ([None, [1.0, 1.0]], {}, "E3702"),
        ([[1.0]], {}, "E3700"),
        ([[1.0], [1.0, 2.0]], {}, "E3700"),
        ([[1.0, 2.0]], {"permutations": 0}, "E3051"),
    ):
        with pytest.raises(RequestError) as error:
            run(x, [[1.0, 1.0]], **more)
        assert error.value.code == code


def test_projections_of_vectors_without_a_direction_are_unknown():
    mean, products = pa.array([[0.5, 0.5], None]), pa.array([[0.5, 0.0, 0.0, 0.5], None])
    kind = pa.list_(pa.list_(pa.float64()))
    shared = pa.array([[0.5, 0.0, 0.0, -0.125], []], mean.type)
    vectors = pa.array([[[0.0, 2.0], [0.0, 0.0], None, [np.nan, 1.0]], []], kind)
    found = projections(mean, products, shared, vectors).to_pylist()
    unknown = {"mean": None, "variance": None, "shared": None}
    assert found == [[{"mean": 0.5, "variance": 0.25, "shared": -0.125}, unknown, unknown, unknown], None]

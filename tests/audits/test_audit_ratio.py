"""ratio: captions that name men only against those that name women only, by hand; its interval; nobody named."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint


def run(session, texts, **options):
    rows = pa.table({"image_id": pa.array(range(len(texts)), pa.int64()), "text": pa.array(texts, pa.string())})
    (row,) = session.audit("ratio", texts=rows, **options).to_arrow().to_pylist()
    return row


def odds(count, n):
    return tuple(p / (1 - p) for p in proportion_confint(count, n, method="wilson"))


OTHERS = ["A man and a woman.", "a dog", None, "a human", "", "his or her dog"] * 5


def test_by_hand(session):
    row = run(session, ["A MAN rides.", "a boy"] * 15 + ["The lady's dog"] * 12 + OTHERS)
    assert (row["male"], row["female"], row["n"], row["r"], row["value"]) == (30, 12, 42, 2.5, 2.5)
    assert (row["low"], row["high"]) == pytest.approx(odds(30, 42), rel=1e-9)
    assert (row["note"], row["suppressed"]) == (None, False)


def test_more_women(session):
    row = run(session, ["a man"] * 10 + ["a woman"] * 40)
    assert (row["r"], row["value"]) == (0.25, 4.0)
    low, high = odds(10, 50)
    assert (row["low"], row["high"]) == pytest.approx((1 / high, 1 / low), rel=1e-9)


def test_an_interval_that_holds_one(session):
    row = run(session, ["a man"] * 20 + ["a woman"] * 25)
    assert row["value"] == 1.25
    assert (row["low"], row["high"]) == pytest.approx((1.0, 1 / odds(20, 45)[0]), rel=1e-9)
    even = run(session, ["a man", "a woman"] * 20)
    assert (even["value"], even["low"]) == (1.0, 1.0)


@pytest.mark.parametrize(("word", "missing", "r"), [("man", "women", math.inf), ("woman", "men", 0.0)])
def test_one_gender_is_never_named(session, word, missing, r):
    row = run(session, [f"a {word}"] * 30)
    assert (row["r"], row["value"], row["high"]) == (r, math.inf, math.inf)
    low = proportion_confint(30, 30, method="wilson")[0]
    assert row["low"] == pytest.approx(low / (1 - low), rel=1e-9)
    assert row["note"] == f"no caption names {missing} only"


def test_captions_of_one_image_are_as_good_as_one(session):
    """Five equal captions of an image tell what one does, but for Student's t of fewer draws."""
    texts = pa.array(["a man"] * 200 + ["a woman"] * 100)
    rows = pa.table({"image_id": pa.array([i // 5 for i in range(300)], pa.int64()), "text": texts})
    (row,) = session.audit("ratio", texts=rows).to_arrow().to_pylist()
    effective = 59 * (t.ppf(0.975, 299) / t.ppf(0.975, 59)) ** 2
    assert (row["n"], row["images"], row["value"]) == (300, 60, 2.0)
    assert (row["low"], row["high"]) == pytest.approx(odds(effective * 2 / 3, effective), rel=1e-6)


def test_few_are_suppressed(session):
    row = run(session, ["a man"] * 6 + ["a woman"] * 3 + ["a dog"] * 100)
    assert row["suppressed"]
    assert {row[k] for k in ("value", "low", "high", "r", "male", "female", "n")} == {None}
    assert run(session, ["a man"] * 6 + ["a woman"] * 3, min_count=3)["value"] == 2.0


@pytest.mark.parametrize(("men", "women"), [(100, 3), (3, 100)])
def test_three_captions_do_not_follow(session, men, women):
    row = run(session, ["a man"] * men + ["a woman"] * women)
    assert (row.pop("suppressed"), row.pop("reason")) == (True, "small")
    assert {k for k, v in row.items() if v is not None} == {"params"}


def test_nobody_is_named(session):
    row = run(session, ["a dog"] * 30, min_count=0)
    assert (row["value"], row["note"]) == (None, "no caption names one gender only")


def test_by_default_generated_captions(empty_lake, build):
    texts = ["a man"] * 20 + ["a woman"] * 10 + ["a woman"] * 30
    captions = build.captions(
        caption_id=list(range(60)), image_id=list(range(60)), text=texts, origin=["generated"] * 30 + ["human"] * 30
    )
    empty_lake.ingest({"images": build.images(image_id=list(range(60))), "captions": captions})
    assert empty_lake.audit("ratio").to_arrow()["value"].to_pylist() == [2.0]

"""Two numbers that differ by a little would count all persons but one: on perceived labels they come from a coarse grid."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

UNITS = "SELECT label, count FROM demographics(groups := person_units('perceived_gender', min_side := {}))"


@pytest.fixture(scope="module")
def lake(build):
    ids = list(range(1, 61))
    lake = cb.connect("memory://cuts")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=["person"] * 60, width=[31.0 + i for i in ids], height=[200.0] * 60
            ),
            "labels": build.labels(
                label_id=ids, image_id=ids, detection_id=ids, attribute=["perceived_gender"] * 60,
                value=[("a", "b")[i % 2] for i in ids],
            ),
        }
    )  # fmt: skip
    return lake


@pytest.mark.parametrize("side", ["40", "40.001", "91", "-1", "NULL"])
def test_numbers_off_the_grid_need_a_purpose(lake, side):
    with pytest.raises((SensitiveError, cb.CounterbalanceError)) as caught:
        lake.sql(UNITS.format(side)).fetchall()
    assert caught.value.code in {"E3320", "E3134"}
    if side != "NULL":
        assert lake.sql(UNITS.format(side), sensitive="a test of the wall").fetchall()


def test_the_default_is_answered(lake):
    assert lake.sql(UNITS.format(30)).fetchall() == [("a", 30), ("b", 30)]


def test_the_least_count_only_hides_more(lake):
    call = "demographics(image_labels('perceived_gender'), min_count := {})"
    assert lake.sql(f"SELECT count FROM {call.format(10)}").fetchall() == [(30,), (30,)]
    assert lake.sql(f"SELECT count FROM {call.format(31)}").fetchall() == [(None,), (None,)]


@pytest.mark.parametrize(
    "call",
    [
        "sentiment(image_labels('perceived_gender'), rules := 'nltk')",
        "sentiment(image_labels('perceived_gender'), preset := 'paper')",
        "compare_sentiment(image_labels('perceived_gender'), caption_gender, captions, captions, rules := 'nltk')",
    ],
)
def test_rules_that_count_a_few_texts_otherwise_need_a_purpose(lake, call):
    """VADER and NLTK's port differ by the few texts that say 'no war': which these are anybody can read."""
    with pytest.raises(SensitiveError, match="rules") as caught:
        lake.sql(f"FROM {call}").fetchall()
    assert caught.value.code == "E3320"

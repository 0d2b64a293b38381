"""How many images the rarest label has does not follow from balanced subsets: not from when it is left out, nor from the others."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

G = "image_labels('perceived_gender')"


@pytest.fixture(scope="module")
def lake(build):
    values = ["a"] * 68 + ["b"] * 31 + ["c"] * 8
    ids = list(range(len(values)))
    lake = cb.connect("memory://balanced-sizes")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    return lake


@pytest.mark.parametrize("least", [8, 9, 11])
def test_a_least_number_off_its_default_needs_a_purpose(lake, least):
    """At 8 all labels had 8 images, at 9 two had 31."""
    call = f"SELECT label, count FROM demographics(balanced_subset({G}, min_count := {least}))"
    with pytest.raises(SensitiveError) as caught:
        lake.sql(call).fetchall()
    assert caught.value.code == "E3320"
    assert lake.sql(call, sensitive="a test of the wall").fetchall()


def test_a_subset_that_leaves_out_few_is_refused(lake):
    """It would show b, which all labels together hide with c: 107 - 68 - 31 are of c."""
    with pytest.raises(SensitiveError) as caught:
        lake.sql(f"SELECT * FROM demographics(balanced_subset({G}))").fetchall()
    assert caught.value.code == "E3321"


def test_the_least_count_of_an_audit_may_be_larger(lake):
    rows = lake.sql(f"SELECT label, count FROM demographics({G}, min_count := 20) ORDER BY label").fetchall()
    assert rows == [("a", 68), ("b", None), ("c", None)]


CALLS = (
    "leakage(data := word_concepts, groups := {0}, label := 'a', against := 'b', seeds := 1)",
    "lic(human := captions, generated := captions, groups := {0}, label := 'a', against := 'b', seeds := 1, attacker := 'logistic')",
    "detection_recall(predicted := detections, groups := {0})",
    "sentiment(groups := {0})",
)


@pytest.fixture(scope="module")
def larger(build):
    """Of d there are 7, which c shelters; ``pg`` is a closed view of the labels."""
    values = ["a"] * 60 + ["b"] * 40 + ["c"] * 23 + ["d"] * 7
    ids = list(range(len(values)))
    lake = cb.connect("memory://drawn-sizes")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
    captions = build.captions(caption_id=ids, image_id=ids, text=[f"a {w} dog" for w in ("red", "big")] * 65)
    boxes = build.detections(detection_id=ids, image_id=ids, category=["dog"] * len(ids))
    lake.ingest({"images": build.images(image_id=ids), "labels": labels, "captions": captions, "detections": boxes})
    lake.create_materialized_view("pg", f"SELECT * FROM {G}", "image_id", purpose="a test of the wall")
    lake.refresh("pg", executor="inline")
    return lake


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("method", ["under", "over"])
@pytest.mark.parametrize("groups", [G, "pg", "clear_labels(pg)"])
def test_none_is_drawn_where_a_label_is_hidden(larger, call, method, groups):
    """Its size, or that of a label in it, was that of the label that is hidden with the small one."""
    drawn = f"balanced_subset({groups}, method := '{method}')"
    with pytest.raises(SensitiveError) as caught:
        larger.sql(f"FROM {call.format(drawn)}").fetchall()
    assert caught.value.code == "E3321"


@pytest.mark.parametrize(
    "groups",
    [
        "clear_labels('balanced_subset(pg)')",
        "'clear_labels(''balanced_subset(pg)'')'",
        "main.clear_labels(groups := main.balanced_subset(pg))",
        "labels_and_others(images, 'clear_labels(''balanced_subset(pg)'')')",
    ],
)
@pytest.mark.parametrize("call", CALLS)
def test_nor_where_a_text_says_it(larger, call, groups):
    with pytest.raises(SensitiveError) as caught:
        larger.sql(f"FROM {call.format(groups)}").fetchall()
    assert caught.value.code == "E3321"


def test_a_schema_may_stand_before_each_view(larger):
    told = set()
    for view in ("main.clear_labels(groups := main.pg)", "clear_labels(pg)"):
        with pytest.raises(SensitiveError) as caught:
            larger.sql(f"SELECT label, count FROM demographics(groups := {view})").fetchall()
        told.add((caught.value.code, caught.value.message))
    assert {code for code, _ in told} == {"E3321"}
    assert len(told) == 1


def test_one_is_drawn_where_all_are_shown(build):
    ids = list(range(100))
    lake = cb.connect("memory://all-are-shown")
    labels = build.labels(
        label_id=ids, image_id=ids, attribute=["perceived_gender"] * 100, value=["a"] * 60 + ["b"] * 40
    )
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    rows = lake.sql(f"SELECT label, count FROM demographics(balanced_subset({G})) ORDER BY label").fetchall()
    assert rows == [("a", 40), ("b", 40)]

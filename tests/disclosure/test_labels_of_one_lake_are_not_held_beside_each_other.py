"""Perceived labels of one lake are not compared with others of it: where few images differ, both counts would tell of these.

Whether few differ is not looked at. A rule that refuses where they do answers guesses: with an attached lake of the caller's own, in
which all but some chosen images have labels, it told whether one of these has one.
"""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

GENDER = "image_labels('perceived_gender')"
OF_A = "image_labels('perceived_gender', annotator := 'a')"
CALLS = {
    "two annotators": f"compare_demographics(groups := {OF_A}, others := {GENDER})",
    "a view of them": "compare_demographics(groups := image_labels('perceived_gender'), others := pg)",
    "crossed with open labels": f"compare_intersections({GENDER}, {GENDER}, image_labels('scene'), image_labels('place'))",
    "two texts": f"compare_sentiment(groups := {GENDER}, others := {GENDER}, other_texts := captions)",
    "words": f"compare_crime_words(groups := {GENDER}, others := {GENDER}, other_texts := captions)",
}


def made(build, folder, ids=range(200), otherwise=0):
    """A lake in which one annotator finds half of the images of each label, and another one calls so many of the first otherwise."""
    first = ["female" if i % 2 else "male" for i in ids]
    second = ["male" if v == "female" and i < 2 * otherwise else v for i, v in zip(ids, first, strict=True)]
    scenes, n = ["sea" if i % 3 else "city" for i in ids], len(first)
    lake = cb.connect(str(folder))
    labels = build.labels(
        label_id=[*range(4 * n)], image_id=[*ids] * 4, value=first + second + scenes * 2,
        attribute=["perceived_gender"] * 2 * n + ["scene"] * n + ["place"] * n, annotator=["a"] * n + ["b"] * n + ["c"] * 2 * n,
    )  # fmt: skip
    captions = build.captions(caption_id=[*ids], image_id=[*ids], text=["a dog"] * n)
    lake.ingest({"images": build.images(image_id=[*ids]), "labels": labels, "captions": captions})
    lake.create_materialized_view("pg", f"FROM {GENDER}", "image_id", purpose="a test")
    lake.refresh(executor="inline")
    return lake


@pytest.fixture(scope="module")
def lake(build, tmp_path_factory):
    return made(build, tmp_path_factory.mktemp("one") / "a.lake", otherwise=12)


@pytest.mark.parametrize("call", CALLS)
def test_one_lake_on_both_sides_needs_a_purpose(lake, call):
    with pytest.raises(SensitiveError, match="of one lake beside each other") as caught:
        lake.sql(f"FROM {CALLS[call]}").fetchall()
    assert caught.value.code == "E3330"
    assert lake.sql(f"FROM {CALLS[call]}", sensitive="a test of the wall").columns


@pytest.mark.parametrize("by_link", [False, True])
def test_so_does_the_same_lake_by_another_name(lake, tmp_path, by_link):
    link = tmp_path / "link.lake"
    link.symlink_to(lake.uri)
    attach = {"b": str(link) if by_link else lake.uri}
    with pytest.raises(SensitiveError, match="of one lake beside each other"):
        lake.sql("FROM compare_demographics(groups := pg, others := b.pg)", attach=attach).fetchall()


def test_open_labels_of_one_lake_are_compared(lake):
    call = "FROM compare_demographics(groups := image_labels('scene'), others := image_labels('place'))"
    assert lake.sql(call).fetchall()


@pytest.mark.parametrize("ids", [range(200), range(3, 200), range(500, 700)])
def test_whether_another_lake_is_refused_does_not_hang_on_its_labels(build, lake, tmp_path, ids):
    """Two lakes are two datasets, however like each other; each is hidden by its own counts."""
    attach = {"b": made(build, tmp_path / "b.lake", ids)}
    found = lake.sql("SELECT count_b FROM compare_demographics(groups := pg, others := b.pg)", attach=attach)
    assert {(sum(i % 2 == side for i in ids),) for side in (0, 1)} <= {*found.fetchall()}


def test_training_labels_of_an_amplification_keep_their_default(lake):
    call = "directional_amplification(predicted_concepts := category_concepts, groups := {0}, train_groups := {1}, base := 'train')"
    with pytest.raises(SensitiveError, match="takes no 'train_groups'"):
        lake.sql(f"FROM {call.format(OF_A, GENDER)}").fetchall()

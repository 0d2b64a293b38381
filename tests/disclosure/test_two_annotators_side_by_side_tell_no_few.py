"""Two sides of one comparison that hold the same images, but few, would tell of these by their difference."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

CALL = "compare_demographics(groups := image_labels('perceived_gender', annotator := 'a'), others := image_labels('perceived_gender'))"


def made(build, folder, otherwise, ids=range(200)):
    """A lake in which one annotator finds half of the images of each label, and another one calls so many of the first otherwise."""
    first = ["female" if i % 2 else "male" for i in ids]
    second = ["male" if v == "female" and i < 2 * otherwise else v for i, v in zip(ids, first, strict=True)]
    n = len(first)
    lake = cb.connect(str(folder))
    labels = build.labels(
        label_id=[*range(2 * n)], image_id=[*ids, *ids], attribute=["perceived_gender"] * 2 * n,
        value=first + second, annotator=["a"] * n + ["b"] * n,
    )  # fmt: skip
    lake.ingest({"images": build.images(image_id=[*ids]), "labels": labels})
    lake.create_materialized_view("pg", "FROM image_labels('perceived_gender')", "image_id", purpose="a test")
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize("otherwise", [1, 9])
def test_few_that_one_annotator_calls_otherwise_need_a_purpose(build, tmp_path, otherwise):
    lake = made(build, tmp_path / "a.lake", otherwise)
    with pytest.raises(SensitiveError, match="fewer than 10 have a label in one only") as caught:
        lake.sql(f"FROM {CALL}").fetchall()
    assert caught.value.code == "E3328"
    assert lake.sql(f"FROM {CALL}", sensitive="a test of the wall").fetchall()


@pytest.mark.parametrize("otherwise", [0, 12])
def test_none_and_many_are_compared(build, tmp_path, otherwise):
    counts = made(build, tmp_path / "a.lake", otherwise).sql(
        f"SELECT count_a, count_b FROM {CALL} WHERE label = 'female'"
    )
    assert counts.fetchall() == [(100, 100 - otherwise)]


@pytest.mark.parametrize(("ids", "is_told"), [(range(3, 200), False), (range(30, 230), True), (range(500, 700), True)])
def test_two_lakes_that_differ_by_few_images_need_a_purpose(build, tmp_path, ids, is_told):
    """Before and after few images are deleted; another half, and another dataset, are compared."""
    lake = made(build, tmp_path / "a.lake", 0)
    attach = {"b": made(build, tmp_path / "b.lake", 0, ids)}
    call = "FROM compare_demographics(groups := pg, others := b.pg)"
    if is_told:
        assert lake.sql(call, attach=attach).fetchall()
    else:
        with pytest.raises(SensitiveError, match="fewer than 10 have a label in one only"):
            lake.sql(call, attach=attach).fetchall()

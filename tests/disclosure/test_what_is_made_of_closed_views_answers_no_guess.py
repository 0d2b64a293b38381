"""Views, columns and indexes over a closed view do not tell whether its rows changed: a guess that is taken in would be answered."""

from __future__ import annotations

import shutil

import pytest

import counterbalance as cb

PURPOSE = "a test of guesses"
OVER = ("counts", "counts.more", "by_count")


@pytest.fixture(scope="module")
def _both(tmp_path_factory, build):
    folder = tmp_path_factory.mktemp("guess")
    for first in ("a", "b"):
        _guessed(cb.connect(folder / f"{first}.lake"), first, build)
    return folder


@pytest.fixture
def both(_both, tmp_path):
    """Two lakes after somebody said that image 1 is ``a``, which is right in one of them."""
    copied = shutil.copytree(_both, tmp_path / "copied")
    return [cb.connect(copied / f"{first}.lake") for first in ("a", "b")]


def _guessed(lake, first, build):
    ids = list(range(30))
    labels = {"attribute": ["perceived_gender"] * 30, "annotator": ["x"] * 30}
    whole = build.labels(label_id=ids, image_id=ids, value=["b", first, *"ab" * 14], **labels)
    lake.ingest({"images": build.images(image_id=ids), "labels": whole})
    text = "SELECT image_id, label, CASE label WHEN 'a' THEN [1.0, 0.0] ELSE [0.0, 1.0] END::FLOAT[2] AS v FROM image_labels('perceived_gender')"
    lake.create_materialized_view("pg", text, "image_id", purpose=PURPOSE)
    lake.create_materialized_view(
        "counts", "SELECT label, count(*) AS n FROM pg GROUP BY ALL", "label", purpose=PURPOSE
    )
    lake.add_column("pg", "size", "length(label)", purpose=PURPOSE)
    lake.add_column("counts", "more", "n + 1", purpose=PURPOSE)
    lake.create_index("pg", "label", "bitmap", name="by_label")
    lake.create_index("pg", "v", "ivf_flat", name="by_vector", num_partitions=1)
    lake.create_index("counts", "n", "btree", name="by_count")
    lake.refresh(executor="inline")
    guess = build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["a"], annotator=["x"])
    lake.ingest({"labels": guess})


def _told(lake, *targets, **more):
    """Return what a refresh, the status after it and the journal say."""
    seen = []
    done = [{**s.to_dict(), "seconds": 0} for s in lake.refresh(*targets, progress=seen.append, **more).stages]
    status = [(r["target"], r["state"], r["reason"], r["refreshed"] is None) for r in lake.status().to_pylist()]
    runs = lake.sql("SELECT target, mode, state, details, versions_in, versions_out FROM meta.runs").fetchall()
    return done, status, runs, [(p.stage, p.done, p.total) for p in seen]


def test_a_right_guess_is_told_as_a_wrong_one(both):
    """At each moment: planned, with the view alone made anew, with what is made of it, and when all is fresh."""
    steps = (
        ((), {"dry_run": True}),
        (("pg",), {"executor": "inline"}),
        (("pg.size",), {"executor": "inline"}),
        (("by_label",), {"executor": "inline"}),
        ((), {"dry_run": True}),
        ((), {"executor": "inline"}),
        ((), {"executor": "inline"}),
    )
    for targets, more in steps:
        right, wrong = (_told(lake, *targets, **more) for lake in both)
        assert right == wrong
    done, status, *_ = right
    assert {stage["mode"] for stage in done} == {"no_op"}
    assert {state for _, state, _, _ in status} == {"fresh"}
    known = both[1].sql("SELECT label, n, more FROM counts ORDER BY label", sensitive=PURPOSE).fetchall()
    assert known == [("a", 15, 16), ("b", 15, 16)]


def test_a_default_session_sees_what_reads_a_view_that_was_refreshed(both):
    lake = both[0]
    lake.refresh(executor="inline")
    lake.refresh("pg", full=True, executor="inline")
    told = {row["target"]: (row["state"], row["reason"]) for row in lake.status().to_pylist()}
    assert told["pg"] == ("fresh", "")
    assert {told[name][0] for name in OVER} == {"stale"}
    assert told["counts"] == ("stale", "reads pg")
    known = {row["target"]: row["state"] for row in lake.status(sensitive=PURPOSE).to_pylist()}
    assert {known[name] for name in OVER} == {"fresh"}


def test_an_index_of_a_view_without_rows_is_as_another(both):
    lake = both[0]
    for name, label in (("none", "c"), ("few", "a")):
        text = f"SELECT image_id, label FROM image_labels('perceived_gender') WHERE label = '{label}'"
        lake.create_materialized_view(name, text, "image_id", purpose=PURPOSE)
        lake.create_index(name, "label", "bitmap", name=f"of_{name}")
    stages = {s.target: (s.mode, s.reason) for s in lake.refresh(executor="inline").stages}
    assert stages["of_none"] == ("incremental", "reads none")
    assert stages["of_few"] == ("incremental", "reads few")
    runs = dict(lake.sql("SELECT target, mode FROM meta.runs WHERE target LIKE 'of_%' AND kind = 'refresh'").fetchall())
    assert runs["of_none"] == runs["of_few"]
    status = {row["target"]: (row["state"], row["refreshed"] is None) for row in lake.status().to_pylist()}
    assert status["of_none"] == status["of_few"] == ("fresh", False)


def test_nor_does_a_view_tell_whether_it_had_an_image_that_was_deleted(both):
    """That its own table changed told the label of that image, where the view is of one label."""
    found = []
    for lake, label in zip(both, "ab", strict=True):
        text = f"SELECT image_id, label FROM image_labels('perceived_gender') WHERE label = '{label}'"
        lake.create_materialized_view("half", text, "image_id", purpose=PURPOSE)
        lake.refresh(executor="inline")
        lake.delete(ids=[2], apply=True)
        found.append((_told(lake, dry_run=True), _told(lake, executor="inline")))
    told = {stage["reason"] for told in found[0] for stage in told[0] if stage["target"] == "half"}
    assert told == {"sensitive/labels changed"}
    for right, wrong in zip(*found, strict=True):
        for one, other in zip(right, wrong, strict=True):
            assert _without_fingerprints(one) == _without_fingerprints(other)


def _without_fingerprints(told):
    """Return it without what differs since the two views have not the same text."""
    return [{**row, "fingerprint": ""} if isinstance(row, dict) else row for row in told]

"""An ingest, and a dry run of one, does not tell whether a guess of a perceived label is right."""

from __future__ import annotations

import pytest

from counterbalance.engine.write.ingest import ingest


@pytest.fixture
def labelled(lake, build):
    lake.ingest({"labels": label(build, "nonbinary")})
    return lake


def label(build, value):
    return build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=[value], annotator=["a"])


def told(report):
    """Return what a report says."""
    return {**report.to_dict(), "seconds": 0, "source": ""}


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_right_guess_is_told_as_a_wrong_one(labelled, build, dry_run):
    guesses = [labelled.ingest({"labels": label(build, value)}, dry_run=dry_run) for value in ("nonbinary", "female")]
    right, wrong = map(told, guesses)
    assert right == wrong
    assert right["by_table"]["labels"] == {"written": 0, "updated": 0, "unchanged": 0, "rejected": 0, "known": 1}


def test_nor_do_two_guesses_in_one_source(labelled, build):
    def twice(*values):
        parts = [{"labels": label(build, value)} for value in values]
        return told(ingest(labelled.location, build.source(parts), "arrow", dry_run=True))

    assert twice("nonbinary", "female") == twice("female", "nonbinary") == twice("female", "male")


def test_the_journal_does_not_tell_either(labelled, build):
    for value in ("nonbinary", "female"):
        labelled.ingest({"labels": label(build, value)})
    runs = labelled.sql(
        "SELECT written, updated, unchanged, mode, details, versions FROM meta.runs WHERE kind = 'ingest' ORDER BY started"
    )
    *_, right, wrong = runs.fetchall()
    assert right == wrong
    labelled.tag("after")
    assert "sensitive" not in labelled.sql("SELECT versions FROM meta.tags").fetchall()[0][0]
    *_, (known,) = labelled.sql("SELECT versions FROM meta.runs ORDER BY started", sensitive="a test").fetchall()
    assert "sensitive/labels" in known


def test_nor_does_the_state_of_a_closed_view(labelled, build):
    """A wrong guess made it stale, and a right one did not."""
    query = "SELECT image_id, label FROM image_labels('perceived_gender')"
    labelled.create_materialized_view("closed", query, "image_id", purpose="a test")
    found = []
    for value in ("nonbinary", "female"):
        labelled.refresh("closed", executor="inline")
        labelled.ingest({"labels": label(build, value)})
        (row,) = (row for row in labelled.status().to_pylist() if row["target"] == "closed")
        found.append((row["state"], row["reason"]))
    assert found == [("stale", "sensitive/labels changed")] * 2


def test_nor_does_a_closed_view_that_is_made_of_them(labelled, build):
    """One more label changes its rows, or none of them: which is not told."""
    ids = list(range(2, 20))
    values = ["female", "male"] * 9
    labelled.ingest(
        {"labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 18, value=values)}
    )
    query = "SELECT image_id, label FROM image_labels('perceived_gender') WHERE label = 'male'"
    labelled.create_materialized_view("men", query, "image_id", purpose="a test")
    labelled.refresh("men", executor="inline")
    found = []
    for number, image in ((90, 2), (91, 3)):  # of a woman, of whom the view has no row, and of a man
        one = {"label_id": [number], "image_id": [image], "attribute": ["perceived_gender"], "annotator": ["mine"]}
        labelled.ingest({"labels": build.labels(**one, value=["female"])})
        (stage,) = labelled.refresh("men", executor="inline").stages
        run = labelled.sql(
            "SELECT mode, details, versions, versions_in, written FROM meta.runs WHERE target = 'men' ORDER BY started"
        )
        shown = labelled.sql("SELECT name, rows, version FROM meta.tables WHERE name = 'men'").fetchall()
        found.append(({**stage.to_dict(), "seconds": 0}, run.fetchall()[-1], shown))
    assert found[0] == found[1]
    assert found[0][0]["mode"] == "incremental"


def test_open_labels_are_told_as_ever(labelled, build):
    rows = build.labels(label_id=[31], image_id=[1], attribute=["scene"], value=["outdoor"], annotator=["ann"])
    assert labelled.ingest({"labels": rows}).unchanged == 1

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
    """What a report says, but whether anything was written, which the versions of tables show, too."""
    return {**report.to_dict(), "seconds": 0, "source": "", "changed": report.changed and report.dry_run}


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
    runs = labelled.sql("SELECT written, updated, unchanged FROM meta.runs WHERE kind = 'ingest' ORDER BY started")
    *_, right, wrong = runs.fetchall()
    assert right == wrong


def test_open_labels_are_told_as_ever(labelled, build):
    rows = build.labels(label_id=[31], image_id=[1], attribute=["scene"], value=["outdoor"], annotator=["ann"])
    assert labelled.ingest({"labels": rows}).unchanged == 1

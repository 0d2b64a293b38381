"""A label rolled up from several annotators may be mixed because they disagree, which a note says."""

from __future__ import annotations

import pytest


@pytest.fixture
def labelled(disk_lake, build):
    given = [(1, "scene", "sea", "a"), (1, "scene", "park", "b"), (2, "scene", "sea", "a"), (1, "mood", "calm", "a")]
    given += [(i, "perceived_gender", "male", "ab"[i - 1]) for i in (1, 2)]
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2]),
            "labels": build.labels(
                label_id=range(len(given)),
                image_id=[g[0] for g in given],
                attribute=[g[1] for g in given],
                value=[g[2] for g in given],
                annotator=[g[3] for g in given],
            ),
        }
    )
    return disk_lake


@pytest.mark.parametrize(
    ("query", "attribute"),
    [
        ("FROM image_labels('scene')", "scene"),
        ("FROM demographics(image_labels('scene'))", "scene"),
        ("FROM demographics(image_labels('perceived_gender'))", "perceived_gender"),
        ("SELECT count(*) FROM image_labels('scene') a JOIN image_labels('scene') b USING (image_id)", "scene"),
    ],
)
def test_told_once(labelled, query, attribute):
    found = labelled.sql(query)
    found.fetchall()
    found.fetchall()
    told = [
        note for note in found.notes if not note.startswith(("of perceived labels", "detections has"))
    ]  # there are few
    assert told == [
        f"labels of {attribute} by 2 annotators are taken together: where they disagree it is 'mixed'; "
        "annotator := '…' takes those of one"
    ]


@pytest.mark.parametrize(
    "query",
    ["FROM image_labels('mood')", "FROM image_labels('scene', annotator := 'a')", "FROM label_concepts('scene')"],
)
def test_not_told(labelled, query):
    found = labelled.sql(query)
    assert found.fetchall()
    assert found.notes == []


def test_not_told_of_what_is_only_counted_beside(labelled):
    """Which perceived labels are few is decided by all annotators, whoever was asked for."""
    found = labelled.sql("FROM demographics(image_labels('perceived_gender', annotator := 'a'))")
    found.fetchall()
    assert not [note for note in found.notes if "annotators" in note]

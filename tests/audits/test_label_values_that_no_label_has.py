"""A mistyped attribute or annotator gives no rows; a note says that no label has it, and what was perhaps meant."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb

SENSITIVE = frozenset({"perceived_gender"})


@pytest.fixture
def labelled(lake, build):
    lake.ingest(
        {
            "labels": build.labels(
                label_id=[41, 42],
                image_id=[1, 2],
                attribute=["perceived_gender"] * 2,
                value=["female", "male"],
                annotator=["ann", "cat"],
            )
        },
        sensitive=SENSITIVE,
    )
    return lake


def notes(lake, query, **more):
    result = lake.sql(query, **more)
    result.fetchall()
    return [n for n in result.notes if n.startswith("no label")]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT * FROM image_labels('scnee')", "no label has the attribute 'scnee'; did you mean 'scene'?"),
        (
            "SELECT * FROM agreement(attribute := 'wether')",
            "no label has the attribute 'wether'; did you mean 'weather'?",
        ),
        ("SELECT * FROM label_concepts('Scene')", "no label has the attribute 'Scene'; did you mean 'scene'?"),
        (
            "SELECT * FROM demographics(image_labels('perceived_gendr'))",
            "no label has the attribute 'perceived_gendr'; did you mean 'perceived_gender'?",
        ),
        ("SELECT * FROM demographics(person_units('zzz'))", "'perceived_gender', 'scene', 'weather'"),
        (
            "SELECT * FROM image_labels('scene', annotator := 'bbo')",
            "no label has the annotator 'bbo'; did you mean 'bob'?",
        ),
    ],
)
def test_a_mistyped_name(labelled, query, said):
    (note,) = notes(labelled, query)
    assert said in note


def test_a_mistyped_value_is_told_with_a_purpose_where_values_are_closed(labelled):
    query = "SELECT * FROM hate_content_rate('scene', value := 'outdor')"
    (note,) = notes(labelled, query, sensitive="a test of notes")
    assert "the value 'outdor'; did you mean 'outdoor'?" in note
    assert notes(labelled, query) == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM image_labels('scene')",
        "SELECT * FROM demographics(image_labels('perceived_gender'))",
        "SELECT * FROM image_labels('scene', annotator := NULL)",
        "SELECT * FROM image_labels('scene', annotator := 'bob')",
        "SELECT * FROM hate_content_rate('scene', value := 'outdoor')",
        "SELECT 'perceived_gendr'",
    ],
)
def test_names_that_labels_have(labelled, query):
    assert notes(labelled, query) == []


def test_said_once(labelled):
    query = "SELECT * FROM image_labels('nope') AS a JOIN image_labels('nope', 1) AS b USING (image_id)"
    assert len(notes(labelled, query)) == 1


def test_a_lake_without_labels(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert notes(empty_lake, "SELECT * FROM image_labels('scene')") == [
        "no label has the attribute 'scene'; there are no labels yet"
    ]


def test_labels_of_an_attached_lake_count(empty_lake, lake, build):
    other = cb.connect(f"{lake.uri}-other")
    other.ingest({"images": build.images(image_id=[1], key=["a"])})
    assert notes(other, "SELECT * FROM more.image_labels('scene')", attach={"more": lake}) == []


def test_labels_that_another_tool_wrote_are_not_judged(disk_lake, lake, build):
    """Its rows need no entry in our dictionaries."""
    disk_lake.ingest(
        {"images": build.images(image_id=[1], key=["a"])}
        | {"labels": build.labels(label_id=[1], image_id=[1], attribute=["scene"], value=["in"])}
    )
    assert len(notes(disk_lake, "SELECT * FROM image_labels('scnee')")) == 1
    table = disk_lake.lancedb().open_table("labels")
    more = pa.table({f.name: pa.nulls(1, f.type) for f in table.schema})
    more = more.set_column(more.column_names.index("attribute"), "attribute", pa.array(["scnee"]))
    more = more.set_column(more.column_names.index("label_id"), "label_id", pa.array([2], pa.int64()))
    table.add(more)
    assert notes(disk_lake, "SELECT * FROM image_labels('scnee')") == []

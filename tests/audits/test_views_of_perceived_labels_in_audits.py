"""A materialized view of perceived labels: audits count it without a purpose, nothing else reads it."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import CounterbalanceError, SensitiveError

PURPOSE = "a test of audits"


@pytest.fixture
def labelled(empty_lake, build):
    """40 images with a perceived gender each, in two boxes of which one is too small to count, and a view of them."""
    ids = list(range(1, 41))
    boxes = [2 * i + k for i in ids for k in (0, 1)]
    values = [v for i in ids for v in ("female" if i % 4 == 0 else "male", "female")]
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "detections": build.detections(
                detection_id=boxes,
                image_id=[b // 2 for b in boxes],
                category=["person"] * 80,
                width=[50.0, 20.0] * 40,
                height=[90.0, 90.0] * 40,
            ),
            "labels": build.labels(
                label_id=boxes,
                image_id=[b // 2 for b in boxes],
                detection_id=boxes,
                attribute=["perceived_gender"] * 80,
                value=values,
                annotator=["x"] * 80,
            ),
        }
    )
    rows = "SELECT label_id, image_id, detection_id, attribute, value, annotator FROM labels"
    empty_lake.create_materialized_view("given", rows, "label_id", purpose=PURPOSE)
    boxes_of = "SELECT detection_id, width, height FROM detections WHERE width > 30"
    empty_lake.create_materialized_view("large", boxes_of, "detection_id")
    empty_lake.create_materialized_view(
        "image_gender",
        "SELECT image_id, label FROM image_labels('perceived_gender', labels := given, detections := large)",
        "image_id",
        purpose=PURPOSE,
    )
    empty_lake.refresh()
    return empty_lake


EXPECTED = [("female", 10), ("male", 30)]


@pytest.mark.parametrize(
    "call",
    [
        "demographics(image_gender)",
        "demographics(image_labels('perceived_gender', labels := given, detections := large))",
        "demographics(person_units('perceived_gender', labels := given, detections := large))",
        "demographics(image_labels('perceived_gender'))",
    ],
)
def test_audits_count_it(labelled, call):
    assert labelled.sql(f"SELECT label, count FROM {call}").fetchall() == EXPECTED


def test_agreement_is_of_the_rows_that_are_given(labelled):
    labelled.create_materialized_view(
        "two",
        "SELECT label_id, image_id, detection_id, attribute, value, annotator FROM given UNION ALL "
        "SELECT -label_id AS label_id, image_id, detection_id, attribute, value, 'y' AS annotator FROM given",
        "label_id",
        purpose=PURPOSE,
    )
    labelled.refresh()
    query = "SELECT value, n FROM agreement('perceived_gender', labels := two) WHERE metric = 'cohen_kappa'"
    assert labelled.sql(query).fetchall() == [(1.0, 80)]
    assert labelled.sql(query.replace(", labels := two", "")).fetchall() == []


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM image_gender",
        "SELECT label FROM image_gender WHERE image_id = 3",
        "SELECT count(*) FROM given",
        "SELECT * FROM group_sizes(image_gender)",
        "SELECT * FROM image_labels('perceived_gender', labels := given)",
        "SELECT * FROM label_concepts('scene', labels := given)",
        "SELECT * FROM demographics(image_gender, min_count := 2)",
        "SELECT * FROM demographics((SELECT * FROM image_gender WHERE image_id < 30))",
        "WITH mine AS (SELECT * FROM image_gender) SELECT * FROM demographics(mine)",
        "SELECT * FROM crime_words(image_gender, texts := (SELECT image_id, 'thief' AS text FROM images WHERE image_id = 3))",
        "EXPLAIN ANALYZE SELECT * FROM demographics(image_gender)",
    ],
)
def test_nothing_else_reads_it(labelled, text):
    with pytest.raises(SensitiveError):
        labelled.sql(text).to_arrow()


def test_a_purpose_opens_it(labelled):
    rows = labelled.sql("SELECT label, count(*) FROM image_gender GROUP BY 1 ORDER BY 1", sensitive=PURPOSE)
    assert rows.fetchall() == EXPECTED


def test_a_view_that_would_copy_it_needs_a_purpose(labelled):
    with pytest.raises(SensitiveError):
        labelled.create_materialized_view("copy", "SELECT * FROM image_gender", "image_id")
    with pytest.raises(CounterbalanceError):
        labelled.create_materialized_view("counts", "SELECT label, count FROM demographics(image_gender)", "label")


def test_the_plain_sql_of_such_an_audit_can_be_shown(labelled):
    with labelled.session() as session:
        assert "FROM image_gender" in session.expand("SELECT * FROM demographics(image_gender)")


def test_names_that_differ_are_noted_with_a_purpose_only(labelled):
    scores = "SELECT image_id, 'smile' AS category, 'x' AS attribute, 0.5 AS score FROM images"
    labelled.create_materialized_view("scores", scores, "image_id")
    given = "SELECT image_id, label AS category, 'x' AS attribute FROM image_gender"
    labelled.create_materialized_view("genders", given, "image_id", purpose=PURPOSE)
    labelled.refresh()
    told = "attribute_auc() has nothing to compare: no category of 'scores' is a category of 'labels': 'smile', but 'female', 'male'"
    closed = "of perceived labels there are no rows where fewer than 10 images have any"
    for purpose, notes in ((None, [closed]), (PURPOSE, [told])):
        result = labelled.audit("attribute_auc", scores="scores", labels="genders", sensitive=purpose)
        assert result.fetchall() == []
        assert result.notes == notes

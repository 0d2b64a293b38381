from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import SensitiveError

ALONE = "(SELECT image_id, CASE WHEN image_id = 10 THEN 'me' ELSE 'rest' END AS label FROM images)"


@pytest.fixture
def labelled(empty_lake):
    ids = list(range(60))
    empty_lake.ingest(
        {
            "images": pa.table({"image_id": ids, "key": [str(i) for i in ids]}),
            "captions": pa.table(
                {"caption_id": ids, "image_id": ids, "text": ["a good man"] * 60, "origin": ["human"] * 60}
            ),
            "labels": pa.table(
                {
                    "label_id": ids,
                    "image_id": ids,
                    "attribute": ["perceived_gender"] * 60,
                    "value": ["male" if i % 2 else "female" for i in ids],
                    "annotator": ["a"] * 60,
                }
            ),
        }
    )
    return empty_lake


@pytest.mark.parametrize(
    "text",
    [
        f"FROM intersections(groups := image_labels('perceived_gender'), others := {ALONE})",
        f"WITH o AS {ALONE} FROM intersections(groups := image_labels('perceived_gender'), others := o)",
        "FROM sentiment(groups := image_labels('perceived_gender'), texts := (SELECT * FROM captions WHERE image_id <> 10))",
    ],
)
def test_rows_cut_to_measure_are_refused(labelled, text):
    with pytest.raises(SensitiveError) as caught:
        labelled.sql(text).fetchall()
    assert caught.value.code == "E3306"


def test_a_table_of_the_callers_own_is_refused(labelled):
    own = pa.table({"image_id": [10, 11], "label": ["me", "rest"]})
    with pytest.raises(SensitiveError):
        labelled.audit("intersections", groups="image_labels('perceived_gender')", others=own).fetchall()


@pytest.mark.parametrize("name", ["mine", "images"])
@pytest.mark.parametrize("others", ["{}", "(SELECT * FROM {})"])
def test_a_table_that_is_named_in_the_query_is_refused(labelled, name, others):
    own = pa.table({"image_id": [10, 11], "label": ["me", "rest"]})
    text = f"FROM intersections(groups := image_labels('perceived_gender'), others := {others.format(name)})"
    with pytest.raises(SensitiveError) as caught:
        labelled.sql(text, {name: own}).fetchall()
    assert caught.value.code == "E3306"


def test_tables_and_views_are_taken(labelled):
    assert labelled.audit(
        "intersections", groups="image_labels('perceived_gender')", others="caption_gender"
    ).fetchall()


def test_so_are_rows_of_ones_own_with_a_purpose(labelled):
    text = f"FROM intersections(groups := image_labels('perceived_gender'), others := {ALONE})"
    assert labelled.sql(text, sensitive="audit of the audit").fetchall()

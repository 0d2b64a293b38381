"""Rows of the caller's own making do not reach an audit of perceived labels by a detour either."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError

GROUPS = "groups := image_labels('perceived_gender')"
ALONE = "(SELECT i AS item_id, image_id, text || i AS text FROM captions, range(400) AS t(i) WHERE image_id = 5)"
"""One image's caption four hundred times: any count over it would pass for many."""


@pytest.fixture(scope="module")
def session(build):
    ids = list(range(1, 61))
    lake, other = cb.connect("memory://nested"), cb.connect("memory://nested-other")
    values = [("male", "female")[i % 2] for i in ids]
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["a horrible homicide"] * 60),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 60, value=values),
        }
    )
    many = build.captions(caption_id=ids, image_id=[5] * 60, text=["a horrible homicide"] * 60)
    other.ingest({"images": build.images(image_id=[5]), "captions": many})
    with lake.session(attach={"other": other}) as opened:
        yield opened


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * FROM sentiment({GROUPS}, texts := {ALONE})",
        f"SELECT * FROM sentiment({GROUPS}, texts := '{ALONE}')",
        f"WITH t AS {ALONE} SELECT * FROM sentiment({GROUPS}, texts := t)",
        f"WITH t AS {ALONE} SELECT * FROM sentiment({GROUPS}, texts := 't')",
        f"WITH RECURSIVE t AS {ALONE} SELECT * FROM sentiment({GROUPS}, texts := t)",
        f"SELECT * FROM sentiment({GROUPS}, texts := other.captions)",
        f"SELECT * FROM sentiment({GROUPS}, texts := {{bound}})",
        f"SELECT * FROM concept_ratio({GROUPS}, concepts := word_concepts(texts := {ALONE}))",
        f"SELECT * FROM concept_ratio({GROUPS}, concepts := word_concepts('{ALONE}'))",
        f"SELECT * FROM concept_ratio({GROUPS}, concepts := 'word_concepts({ALONE})')",
        f"WITH t AS {ALONE} SELECT * FROM concept_ratio({GROUPS}, concepts := word_concepts(t))",
        f"WITH t AS {ALONE} SELECT * FROM concept_ratio({GROUPS}, concepts := word_concepts('t'))",
        f"SELECT * FROM concept_ratio({GROUPS}, concepts := word_concepts(other.captions))",
        f"SELECT * FROM retrieval_bias({GROUPS}, items := other.captions)",
        f"SELECT * FROM intersections({GROUPS}, others := (SELECT image_id, 'x' AS label FROM images WHERE image_id = 5))",
        f"SELECT count FROM crime_words({GROUPS}, terms := (SELECT 'homicide' AS term, 'violent' AS class))",
    ],
)
def test_refused(session, text):
    bound = session.bind("mine", pa.table({"image_id": [5] * 400, "text": ["a horrible homicide"] * 400}))
    with pytest.raises(SensitiveError) as caught:
        session.sql(text.replace("{bound}", bound)).fetchall()
    assert caught.value.code == "E3306"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT count FROM demographics({GROUPS})",
        f"SELECT n FROM sentiment({GROUPS}, texts := captions)",
        f"SELECT n FROM concept_ratio({GROUPS}, min_count := 10, concepts := word_concepts(captions))",
        f"SELECT n FROM intersections({GROUPS}, others := caption_gender)",
        f"SELECT count FROM crime_words({GROUPS}, terms := lists.crime_words)",
    ],
)
def test_tables_views_and_word_lists_are_taken(session, text):
    assert any(row[0] is not None and row[0] >= 10 for row in session.sql(text).fetchall())


def test_other_groups_take_any_rows(session):
    groups = "(SELECT image_id, 'all' AS label FROM images)"
    got = session.sql(f"SELECT n, images FROM sentiment(groups := {groups}, texts := {ALONE}, min_count := 1)")
    assert got.fetchall() == [(400, 1)]

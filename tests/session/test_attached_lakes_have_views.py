"""Views of attached lakes are named ``lake.view`` and read that lake's tables; audits are refused with a way out."""

from __future__ import annotations

import os

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RefusedError, SensitiveError


@pytest.fixture(scope="module")
def other(build):
    """A lake of two images: a woman, a man."""
    other = cb.connect(f"memory://attached-{os.getpid()}")
    other.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"], width=[10, 20], height=[10, 40]),
            "captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a woman", "the man."]),
            "labels": build.labels(
                label_id=[1, 2],
                image_id=[1, 2],
                attribute=["scene"] * 2,
                value=["beach", "beach"],
                annotator=["x", "x"],
            ),
        }
    )
    return other


@pytest.fixture
def both(lake, other):
    """The lake, and that one beside it."""

    def ask(text, **more):
        return lake.sql(text, attach={"cc": other}, **more).fetchall()

    return ask


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("SELECT image_id, label FROM cc.caption_gender ORDER BY 1", [(1, "female"), (2, "male")]),
        ("SELECT label FROM cc.caption_gender(rule := 'gensynth') ORDER BY image_id", [("female",), ("unclear",)]),
        ("SELECT caption_gender.label FROM CC.caption_gender WHERE image_id = 1", [("female",)]),
        ("SELECT cc.caption_gender.label FROM cc.caption_gender WHERE image_id = 1", [("female",)]),
        ("SELECT DISTINCT label FROM cc.image_labels('scene')", [("beach",)]),
        ("SELECT count(*) FROM cc.persons", [(0,)]),
        (
            "SELECT a.label, b.label FROM caption_gender AS a JOIN cc.caption_gender AS b USING (image_id) WHERE image_id < 3 ORDER BY image_id",
            [("male", "female"), ("female", "male")],
        ),
        ("SELECT label, images FROM group_sizes(cc.caption_gender, 1) ORDER BY 1", [("female", 1), ("male", 1)]),
        ("SELECT label, images FROM group_sizes(cc.image_labels('scene'), 1)", [("beach", 2)]),
        ("SELECT count(*) FROM main.caption_gender", [(6,)]),
        *again(
            ("SELECT image_id, label FROM cc.caption_gender() ORDER BY 1", [(1, "female"), (2, "male")]),
            ("SELECT DISTINCT concept FROM cc.label_concepts('scene')", [("beach",)]),
            ("SELECT count(*) FROM main.caption_gender()", [(6,)]),
        ),
    ],
)
def test_views(both, text, rows):
    assert both(text) == rows


def test_a_view_reads_no_table_of_the_sessions_own_lake(both):
    """The attached lake has no detections; the own one has persons."""
    assert both("SELECT count(*) FROM persons") == [(3,)]
    assert both("SELECT count(*) FROM cc.category_concepts") == [(0,)]


def test_arguments_are_the_callers(both):
    """A relation given to an attached lake's view is read where the caller stands."""
    assert both("SELECT label, images FROM cc.group_sizes(caption_gender, 1) ORDER BY 1")[0] == ("female", 1)
    assert sum(n for _, n in both("SELECT label, images FROM cc.group_sizes(caption_gender, 1)")) == 6
    assert sum(n for _, n in both("SELECT label, images FROM cc.group_sizes(min_count := 1)")) == 2


@pytest.mark.parametrize("text", ["SELECT * FROM cc.demographics()", "SELECT * FROM cc.demographics"])
def test_audits_read_the_own_lake(both, text):
    with pytest.raises(RefusedError, match=r"cc\.demographics is an audit") as caught:
        both(text)
    assert caught.value.code == "E3207"
    assert "groups := cc.caption_gender" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("SELECT * FROM cc.caption_gendre", "cc.caption_gender"),
        ("SELECT * FROM dd.caption_gender", "caption_gender"),
        ("SELECT * FROM cc.captoins", "cc.captions"),
        ("SELECT * FROM dd.caption_gender()", "caption_gender"),
        ("SELECT * FROM cc.top_k(captions, captions)", "top_k"),
        ("SELECT * FROM lists.caption_gender()", "caption_gender"),
    ],
)
def test_what_is_not_there(both, text, meant):
    with pytest.raises(NotFoundError, match=f"did you mean '{meant}'"):
        both(text)


@pytest.mark.parametrize(
    "view", ["cc.caption_gender", "cc.word_concepts(captions)", "(SELECT * FROM cc.caption_gender)"]
)
def test_rows_of_another_lake_carve_no_sensitive_labels(lake, build, both, view):
    """Another lake may be of the caller's making, and so the rows of its views."""
    ids = list(range(100, 130))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["perceived_gender"] * 30, value=["female", "male"] * 15
            ),
        }
    )
    with pytest.raises(SensitiveError) as caught:
        both(f"SELECT * FROM concept_ratio(groups := image_labels('perceived_gender'), concepts := {view})")
    assert caught.value.code == "E3306"

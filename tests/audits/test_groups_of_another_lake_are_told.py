"""Groups of an attached lake meet images of this one by number only, which a note says."""

from __future__ import annotations

import pytest

import counterbalance as cb


@pytest.fixture
def asked(lake, tmp_path, build):
    other = cb.connect(tmp_path / "other.lake")
    other.ingest(
        {
            "images": build.images(image_id=[1]),
            "captions": build.captions(caption_id=[1], image_id=[1], text=["a man"]),
        }
    )

    def notes(call):
        with lake.session(attach={"cc": other}) as session:
            found = session.sql(f"FROM {call}")
            found.fetchall()
            return [note for note in found.notes if "matches" in note]

    return notes


@pytest.mark.parametrize(
    ("call", "matched"),
    [
        ("sentiment(groups := cc.caption_gender)", "sentiment() matches groups of cc with texts of this lake"),
        (
            "intersections(cc.caption_gender, caption_gender)",
            "intersections() matches groups of cc with others of this lake",
        ),
        (
            "cooccurrence(groups := (SELECT * FROM cc.caption_gender), min_count := 0)",
            "cooccurrence() matches groups of cc with concepts, images of this lake",
        ),
    ],
)
def test_told(asked, call, matched):
    (note,) = asked(call)
    assert note.startswith(matched)


@pytest.mark.parametrize(
    "call",
    [
        "demographics(cc.caption_gender)",
        "intersections(cc.caption_gender, cc.caption_gender_gensynth)",
        "compare_demographics(others := cc.caption_gender)",
        "sentiment()",
    ],
)
def test_not_told(asked, call):
    assert asked(call) == []

"""Audits of labels that need no purpose count small cells too, though the lake keeps other labels apart."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SensitiveError

CALLS = (
    "demographics(groups := image_labels('{}'), min_count := 1)",
    "agreement('{}', min_count := 1)",
    "cooccurrence(groups := image_labels('{}'), concepts := label_concepts('scene'), min_count := 1)",
    "cooccurrence(groups := caption_gender, concepts := label_concepts('{}'), min_count := 1)",
    "hate_content_rate('{}', min_count := 1)",
)


@pytest.fixture
def mixed(disk_lake, build):
    rows = [
        (i, a, v, n) for i in (1, 2) for a, v in (("scene", "sea"), ("perceived_gender", "male")) for n in ("a", "b")
    ]
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2]),
            "captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a man", "a woman"]),
            "labels": build.labels(
                label_id=range(len(rows)),
                image_id=[r[0] for r in rows],
                attribute=[r[1] for r in rows],
                value=[r[2] for r in rows],
                annotator=[r[3] for r in rows],
                score=[0.9] * len(rows),
            ),
        }
    )
    return disk_lake


@pytest.mark.parametrize("call", CALLS)
def test_open_ones(mixed, call):
    query = f"SELECT * EXCLUDE (params) FROM {call.format('scene')}"
    found = mixed.sql(query)
    rows = found.fetchall()
    assert rows
    assert rows == mixed.sql(query, sensitive="a test of the same numbers").fetchall()
    assert not any("not shown" in note for note in found.notes)


@pytest.mark.parametrize("attribute", ["perceived_gender", "Perceived Gender", " perceived-gender"])
@pytest.mark.parametrize("call", CALLS)
def test_perceived_ones(mixed, call, attribute):
    with pytest.raises(SensitiveError) as caught:
        mixed.sql(f"FROM {call.format(attribute)}").fetchall()
    shows_rows = "hate" in call or "label_concepts('{}')" in call
    assert caught.value.code == ("E3301" if shows_rows else "E3303")


def test_both_in_one_audit(mixed):
    with pytest.raises(SensitiveError):
        mixed.sql(
            "FROM intersections(image_labels('scene'), image_labels('perceived_gender'), min_count := 1)"
        ).fetchall()


def test_rows_of_labels_say_what_they_leave_out(mixed):
    found = mixed.sql("SELECT count(*) FROM labels")
    assert found.fetchall() == [(4,)]
    assert "perceived_gender are not shown" in found.notes[0]
    found = mixed.sql("SELECT count(*) FROM image_labels('scene', annotator := 'a')")
    assert (found.fetchall(), found.notes) == ([(2,)], [])

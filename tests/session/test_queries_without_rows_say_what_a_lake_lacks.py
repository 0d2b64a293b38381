"""A query without rows says which table it lacks, what the lake holds, and what to type; one that finds nothing does not."""

from __future__ import annotations

import pytest

from counterbalance.__main__ import main

HELD = "the lake holds 2 images, no captions, no detections, no labels"


@pytest.fixture
def bare(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    return disk_lake


def notes(lake, text):
    result = lake.sql(text)
    assert result.fetchall() == []
    return result.notes


@pytest.mark.parametrize(
    ("text", "lacking"),
    [
        ("SELECT * FROM captions", ["captions"]),
        ("SELECT * FROM caption_gender", ["captions"]),
        ("FROM persons", ["detections"]),
        ("FROM captions JOIN labels USING (image_id)", ["captions", "labels"]),
        ("FROM images LEFT JOIN labels USING (image_id) JOIN captions USING (image_id)", ["captions"]),
    ],
)
def test_what_is_missing(bare, text, lacking):
    first, *commands = notes(bare, text)
    assert first == f"{' and '.join(lacking)} {'has' if len(lacking) < 2 else 'have'} no rows; {HELD}"
    assert [c.partition("; ")[0] for c in commands] == [
        f"counterbalance ingest {bare.uri} {'SOURCE' if n == 'captions' else {'detections': 'boxes', 'labels': 'labels'}[n] + '.csv'} adds {n}"
        for n in lacking
    ]


def test_nothing_that_is_there(bare):
    assert notes(bare, "FROM images WHERE image_id > 9") == []


def test_a_lake_beside_it(bare, tmp_path, build):
    other = type(bare)(tmp_path / "other.lake")
    other.ingest({"images": build.images(image_id=[1])})
    with bare.session(attach={"b": other.uri}) as session:
        result = session.sql("FROM b.captions")
        result.fetchall()
    assert result.notes == ["b.captions has no rows"]


def test_on_the_command_line(bare, capsys):
    assert main(["sql", bare.uri, "FROM captions"]) == 0
    assert f"note: captions has no rows; {HELD}" in capsys.readouterr().err


def test_perceived_labels_are_told_as_everywhere(bare, build):
    """Which attributes are closed is known; whether a label exists is not told by what is missing."""
    before = notes(bare, "FROM labels")
    assert before[0] == f"labels has no rows; {HELD}"
    bare.ingest({"labels": build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["male"])})
    assert notes(bare, "FROM labels")[-1] == "labels has no rows"
    assert notes(bare, "FROM captions")[0].endswith("no detections, labels of perceived_gender")


def test_a_table_that_is_one_of_several_sources_is_not_missed(bare, build, capsys):
    """Boxes are enough for ``spurious_correlations``: it has no rows since few images are shown, not for want of labels."""
    bare.ingest({
        "captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a man", "a woman"]),
        "detections": build.detections(detection_id=[1, 2], image_id=[1, 2], category=["tie", "cup"]),
    })  # fmt: skip
    assert main(["audit", bare.uri, "spurious_correlations"]) == 0
    told = capsys.readouterr().err
    assert "labels has no rows" not in told
    assert "or fewer than 10, which are left out: min_count sets that number" in told


def test_an_audit_of_perceived_labels_is_told_where_these_are_all_there_is(bare, build):
    def told(audit):
        return [note for note in notes(bare, f"FROM {audit}()") if "groups=" in note]

    assert not told("demographics")
    rows = build.labels(label_id=[1, 2], image_id=[1, 2], attribute=["gender"] * 2, value=["f", "m"])
    bare.ingest({"labels": rows})
    groups = "image_labels('gender')"
    assert told("demographics") == [
        f'counterbalance audit {bare.uri} demographics "groups={groups}" counts the labels of gender'
    ]
    assert not told("sentiment")
    assert not told("cooccurrence")

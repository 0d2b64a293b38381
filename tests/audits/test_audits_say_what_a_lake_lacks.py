"""An audit with nothing to count says what it needs, what the lake holds, and what to type."""

from __future__ import annotations

import json

import pytest

from counterbalance.__main__ import main


@pytest.fixture
def bare(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    return disk_lake


def notes(lake, text, **settings):
    result = lake.sql(text, **settings)
    result.fetchall()
    return result.notes


def test_what_it_needs_and_what_is_there(bare):
    first, *commands, last = notes(bare, "FROM cooccurrence()")
    assert first == (
        "cooccurrence() needs captions and detections; the lake holds 2 images, no captions, no detections, no labels"
    )
    assert [c.partition("; ")[0] for c in commands] == [
        f"counterbalance ingest {bare.uri} SOURCE adds captions",
        f"counterbalance ingest {bare.uri} boxes.csv adds detections",
    ]
    assert last.startswith("no audit runs on this lake as it is, ")
    assert last.endswith(f"counterbalance doctor {bare.uri} lists them")


def test_what_is_missing_only(bare, build):
    bare.ingest({"captions": build.captions(caption_id=[1], image_id=[1], text=["a man"])})
    assert notes(bare, "FROM cooccurrence()")[0].startswith(
        "cooccurrence() needs detections; the lake holds 2 images, 1 "
    )
    assert not any("needs" in note for note in notes(bare, "FROM cooccurrence(concepts := word_concepts)"))


def test_a_row_of_nulls_is_no_answer(bare):
    assert notes(bare, "SELECT value FROM ratio()")[0].startswith("ratio() needs captions of origin generated; ")


def test_captions_of_a_model(bare, build, capsys):
    """Captions that people wrote do not do for what compares them with those of a model."""
    captions = {"caption_id": [1, 2], "image_id": [1, 2], "text": ["a man", "a woman"]}
    bare.ingest({"captions": build.captions(**captions, origin=["human", "human"])})
    assert notes(bare, "SELECT value FROM ratio()")[:2] == [
        "ratio() needs captions of origin generated; the lake holds 2 images, 2 captions, no detections, no labels",
        f"counterbalance ingest {bare.uri} SOURCE --origin generated adds captions of origin generated; "
        "SOURCE is a table, or lines of JSON: the name of a picture, and its text",
    ]
    assert main(["doctor", bare.uri, "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ratio"]["status"] == "no captions of origin generated"
    bare.ingest({
        "captions": build.captions(caption_id=[3, 4], image_id=[1, 2], text=["a man", "a man"], origin=["generated"] * 2)
    })  # fmt: skip
    assert not any("needs" in note for note in notes(bare, "SELECT value FROM ratio()"))
    assert main(["doctor", bare.uri, "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["ratio"]["status"] == rows["lic"]["status"] == "runs"


def test_on_the_command_line(bare, capsys):
    assert main(["audit", bare.uri, "crime_words", "--json"]) == 0
    out, err = capsys.readouterr()
    assert out == "[]\n"
    assert "note: crime_words() needs captions; the lake holds 2 images, no captions" in err


def test_perceived_labels_are_told_as_everywhere(bare, build):
    """Which attributes are closed is known; how many labels there are, and whether one has a value, is not."""
    bare.ingest({"labels": build.labels(label_id=[1], image_id=[1], attribute=["perceived_gender"], value=["male"])})
    assert not any("needs" in note for note in notes(bare, "FROM agreement('perceived_gender')"))
    assert notes(bare, "FROM crime_words()")[0].endswith(
        "holds 2 images, no captions, no detections, labels of perceived_gender"
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [("FROM cluster_representation(caption_clusters_set)", "E1001"), ("SELECT neutral FROM captions", "E3103")],
)
def test_what_a_recipe_makes_is_told(bare, text, code, capsys):
    assert main(["sql", bare.uri, text]) == 1
    err = capsys.readouterr().err
    assert f"error[{code}]" in err
    assert "hint: counterbalance recipe LAKE caption_clusters makes it" in err


def test_words_that_no_text_has(bare, build):
    bare.ingest({"captions": build.captions(caption_id=[1], image_id=[1], text=["a man"])})
    first, held, runs = notes(bare, "FROM crime_words(terms := (SELECT 'x' AS class, 'zebra' AS term))")
    assert first == (
        "crime_words() finds nothing to count in what it reads, or fewer than 10, which are left out: min_count sets that number"
    )
    assert held == "the lake holds 2 images, 1 caption, no detections, no labels"
    assert runs.endswith(f"counterbalance doctor {bare.uri} lists them")
    for narrowed in ("WHERE q < 0.5", "LIMIT 0", "GROUP BY ALL HAVING count(*) > 1"):
        text = f"SELECT term FROM crime_words(terms := (SELECT 'x' AS class, 'zebra' AS term)) {narrowed}"
        assert not any("finds nothing" in note for note in notes(bare, text))


def test_rows_that_measure_nothing(bare, build):
    """Three rows of NULL, as captions of people and of a model are there, and name nobody."""
    captions = {"caption_id": [1, 2], "image_id": [1, 2], "text": ["a tree", "a tree"]}
    bare.ingest({"captions": build.captions(**captions, origin=["human", "generated"])})
    assert notes(bare, "FROM lic()")[0].startswith("lic() finds nothing to count in what it reads")
    assert notes(bare, "SELECT metric FROM lic()") == []

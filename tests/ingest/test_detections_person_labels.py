"""The person annotations of the LAION work give boxes and perceived attributes of the persons in them."""

from __future__ import annotations

import pytest

from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.detections import read
from counterbalance.ingest.hashing import hash63

HEAD = "tarball_name,member_name,x1,y1,x2,y2,confidence,predicted_gender,predicted_race,caption,gender_confidence\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "persons.csv"
    path.write_text(
        HEAD
        + '00000.tar,000000012.jpg,1,2,31,42,0.9,Female,Unclear,"A woman, smiling",0.8\n'
        + "00000.tar,000000012.jpg,5,5,31,42,0.7,,,,\n"
        + "00000.tar,000000013.jpg,5,5,31,42,0.7,mixed,White,x,2\n"
    )
    return path


def load(path, **options):
    (chunk,) = read(str(path), ReadOptions(**options)).chunks
    return chunk


def test_labels_of_persons(path, hash_columns):
    chunk = load(path)
    boxes, labels = chunk.tables["detections"].to_pylist(), chunk.tables["labels"].to_pylist()
    image, box = hash63("000000012"), boxes[0]["detection_id"]
    assert [b["category"] for b in boxes] == ["person"] * 2
    found = {r["attribute"]: r for r in labels}
    assert len(labels) == len(found) == 3
    assert {a: r["value"] for a, r in found.items()} == {
        "perceived_gender": "female",
        "perceived_race_ethnicity": "unclear",
        "caption": "A woman, smiling",
    }
    assert found["perceived_gender"]["score"] == pytest.approx(0.8)
    assert found["caption"]["score"] is None
    for attribute, row in found.items():
        assert (row["image_id"], row["detection_id"], row["annotator"]) == (image, box, "source")
        assert row["label_id"] == hash_columns([image], [box], [attribute], ["source"]).to_pylist()[0]
    assert list(chunk.positions["labels"]) == ["line 2"] * 3
    assert [(r.position, r.code) for r in chunk.rejects] == [("line 4", "bad_score")]


def test_annotators_are_kept_apart(path):
    mine, others = load(path, annotator="me"), load(path)
    ids = [set(c.tables["labels"]["label_id"].to_pylist()) for c in (mine, others)]
    assert not ids[0] & ids[1]
    assert mine.tables["detections"]["detection_id"].equals(others.tables["detections"]["detection_id"])


@pytest.mark.parametrize(
    ("column", "attribute"),
    [
        ("gender", "perceived_gender"),
        ("perceived_gender", "perceived_gender"),
        ("race", "perceived_race_ethnicity"),
        ("ethnicity", "perceived_race_ethnicity"),
        ("predicted_age", "perceived_age"),
    ],
)
def test_names_of_attributes(tmp_path, column, attribute):
    (tmp_path / "a.csv").write_text(f'key,bbox,{column},{column}_score,annotator\nk,"[1,2,3,4]",X,0.5,ann\n')
    (row,) = load(tmp_path / "a.csv").tables["labels"].to_pylist()
    assert (row["attribute"], row["value"], row["score"], row["annotator"]) == (attribute, "x", 0.5, "ann")


def test_files_as_the_released_code_writes_them(tmp_path):
    """Boxes of its detector, then labels of its classifier with a logit a class: the same boxes get the labels."""
    boxes, labels = tmp_path / "detections_0_1.csv", tmp_path / "results_0_1.csv"
    boxes.write_text(
        "tarball_name,member_name,percentage,confidence,x1,y1,x2,y2\n00000.tar,000000012.jpg,0.2,0.81,1.5,2,50,60\n"
    )
    labels.write_text(
        "tarball_name,member_name,x1,y1,x2,y2,predicted_gender,logit_male,logit_female,logit_unclear,logit_mixed\n"
        "00000.tar,000000012.jpg,1.5,2,50,60,female,-1.0,4.2,0.1,-2\n"
    )
    first, second = load(boxes), load(labels)
    assert not first.rejects
    assert not second.rejects
    (box,) = first.tables["detections"].to_pylist()
    assert (box["category"], box["score"], box["x"], box["width"]) == ("person", pytest.approx(0.81), 1.5, 48.5)
    (label,) = second.tables["labels"].to_pylist()
    assert (label["detection_id"], label["attribute"], label["value"]) == (
        box["detection_id"],
        "perceived_gender",
        "female",
    )


def test_race_and_captions_as_the_released_code_writes_them(tmp_path):
    """Labels of race or ethnicity with nine logits, and captions: labels of the boxes of the detector, by the same corners."""
    names = (
        "unclear",
        "southasian",
        "disagreement",
        "southeastasian",
        "black",
        "eastasian",
        "white",
        "latino",
        "middleeastern",
    )
    where = "00000.tar,000000012.jpg,1.5,2,50,60"
    boxes, races, captions = (tmp_path / f"{name}.csv" for name in ("boxes", "races", "captions"))
    boxes.write_text(f"tarball_name,member_name,x1,y1,x2,y2,confidence\n{where},0.81\n")
    races.write_text(
        "tarball_name,member_name,x1,y1,x2,y2,predicted_race," + ",".join(f"logit_{n}" for n in names) + "\n"
        f"{where},southeastasian," + ",".join(["-1.5"] * len(names)) + "\n"
    )
    captions.write_text(
        f'tarball_name,member_name,x1,y1,x2,y2,caption\n{where},"The person wears a coat, and smiles."\n'
    )
    (box,) = load(boxes).tables["detections"].to_pylist()
    for file, attribute, value in (
        (races, "perceived_race_ethnicity", "southeastasian"),
        (captions, "caption", "The person wears a coat, and smiles."),
    ):
        chunk = load(file)
        assert not chunk.rejects
        (label,) = chunk.tables["labels"].to_pylist()
        assert (label["detection_id"], label["attribute"], label["value"]) == (box["detection_id"], attribute, value)
        assert label["score"] is None

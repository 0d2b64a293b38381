"""PHASE becomes images with captions, persons, and the answers of each annotator, closed as perceived labels are."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError


def answers(worker, gender):
    return {"worker": worker, "gender": gender, "age": "adult", "skintone": "type 3", "emotion": "happy"}


ALL = {
    "489254": {
        "1": {"region": [10, 5, 40, 45], "annotations": [answers("w1", "Female"), answers("w2", "male")]},
        "2": {"region": [0, 0, 500, 45], "annotations": []},
        "3": {"annotations": []},
        "caption": "a person by the sea",
    },
    "948611": {"1": {"region": [1, 2, 3, 4], "annotations": [answers("w1", "male")]}, "caption": 5},
    "7": [1],
}
REGIONS = {"489254": {"1": {"region": [10, 5, 40, 45], "annotations": {"gender": "female", "emotion": "happy"}}}}
SHOWN = "SELECT key, attribute, value, annotator FROM labels JOIN images USING (image_id) ORDER BY ALL"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "phase"
    (root / "images" / "val").mkdir(parents=True)
    (root / "annotations").mkdir()
    Image.new("RGB", (64, 48)).save(root / "images" / "val" / "489254", "JPEG")
    (root / "annotations" / "phase_gcc_val_all_20221101.json").write_text(json.dumps(ALL))
    (root / "annotations" / "phase_gcc_val_regions_20221101.json").write_text(json.dumps(REGIONS))
    return root


def test_everything(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert report.format == "phase"
    assert any("majorities" in note for note in report.notes)
    sql = "SELECT key, split, i.width, text, category, x, y, d.width, d.height FROM images i "
    sql += "JOIN detections d USING (image_id) LEFT JOIN captions USING (image_id) ORDER BY key"
    assert lake.sql(sql).fetchall() == [
        ("948611", "val", None, None, "person", 1, 2, 2, 2),
        ("images/val/489254", "val", 64, "a person by the sea", "person", 10, 5, 30, 40),
    ]
    assert lake.sql(SHOWN).fetchall() == [
        ("948611", "emotion", "happy", "w1"),
        ("images/val/489254", "emotion", "happy", "w1"),
        ("images/val/489254", "emotion", "happy", "w2"),
    ]
    shown = lake.session(sensitive="a test of readers").sql(SHOWN).fetchall()
    assert ("images/val/489254", "perceived_gender", "female", "w1") in shown
    assert ("images/val/489254", "perceived_gender", "male", "w2") in shown
    assert ("images/val/489254", "skintone", "type 3", "w1") in shown
    assert lake.sql("SELECT position, code FROM meta.errors ORDER BY ALL").fetchall() == [
        ("phase_gcc_val_all_20221101.json: '489254', '2'", "bad_box"),
        ("phase_gcc_val_all_20221101.json: '489254', '3'", "bad_box"),
        ("phase_gcc_val_all_20221101.json: '7'", "bad_item"),
        ("phase_gcc_val_all_20221101.json: '948611'", "bad_text"),
    ]
    assert lake.ingest(str(folder)).written == 0


def test_majorities_alone(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    file = folder / "annotations" / "phase_gcc_val_regions_20221101.json"
    assert lake.ingest(str(file), annotator="majority").format == "phase"
    shown = lake.session(sensitive="a test of readers").sql(SHOWN).fetchall()
    assert shown == [("489254", "emotion", "happy", "majority"), ("489254", "perceived_gender", "female", "majority")]


def test_a_document_that_is_cut_short(tmp_path, folder):
    file = folder / "annotations" / "phase_gcc_val_regions_20221101.json"
    file.write_text(file.read_text()[:-5])
    with pytest.raises(SourceError) as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(file))
    assert caught.value.code == "E4021"

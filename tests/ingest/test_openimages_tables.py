"""Open Images' tables become boxes in pixels and labels, beside their pictures or of those that a lake has."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import SourceError

BOXES = """ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside
000a1,xclick,/m/01g317,1,0.25,0.5,0.1,0.9,1,0,0,0,0
000a1,activemil,/m/0bt9lr,1,0,1,0,1.001,-1,-1,1,-1,-1
000b2,xclick,/m/0bt9lr,1,0.9,0.1,0,1,0,0,0,0,0
000b2,xclick,/m/0bt9lr,1,12,50,0,100,0,0,0,0,0
gone1,xclick,/m/0bt9lr,1,0,1,0,1,0,0,0,0,0
"""
LABELS = """ImageID,Source,LabelName,Confidence
000a1,verification,/m/0bt9lr,1
000a1,crowdsource-verification,/m/05s2s,0
000b2,machine,/m/05s2s,0.7
000b2,verification,/m/03bt1vf,1
"""
MIAP = """ImageID,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepictionOf,IsInsideOf,GenderPresentation,AgePresentation
000a1,/m/01g317,1,0.25,0.5,0.1,0.9,0,1,0,0,0,Predominantly Feminine,Middle
000b2,/m/01g317,1,0.2,0.5,0.1,0.9,0,0,1,0,0,Unknown,Young
"""
NAMES = "/m/01g317,Person\n/m/0bt9lr,Dog\n/m/05s2s,Plant\n"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "open"
    (root / "validation").mkdir(parents=True)
    for name in ("000a1", "000b2"):
        Image.new("RGB", (200, 100), "navy").save(root / "validation" / f"{name}.jpg")
    (root / "class-descriptions-boxable.csv").write_text(NAMES)
    return root


def boxes_of(lake):
    sql = """SELECT key, category, d.x, d.y, d.width, d.height, is_crowd, d.origin
        FROM detections d JOIN images USING (image_id) ORDER BY ALL"""
    return [tuple(round(v, 4) if isinstance(v, float) else v for v in row) for row in lake.sql(sql).fetchall()]


EXPECTED = [
    ("validation/000a1.jpg", "Dog", 0, 0, 200, 100.1, True, "human"),
    ("validation/000a1.jpg", "Person", 50, 10, 50, 80, False, "human"),
]


def test_boxes_beside_their_pictures(tmp_path, folder):
    (folder / "validation-annotations-bbox.csv").write_text(BOXES)
    lake = cb.connect(tmp_path / "l.lake")
    dry = lake.ingest(str(folder), dry_run=True)
    report = lake.ingest(str(folder))
    assert report.format == "imagefolder, openimages"
    assert (dry.rejected, dry.by_table["detections"].written) == (report.rejected, 2) == (3, 2)
    assert boxes_of(lake) == EXPECTED
    assert lake.sql("SELECT position, code FROM meta.errors ORDER BY ALL").fetchall() == [
        ("line 4", "bad_box"),
        ("line 5", "bad_box"),
        ("line 6", "unknown_size"),
    ]
    assert lake.sql("SELECT attribute, value FROM labels").fetchall() == [("occluded", "1")]
    assert lake.ingest(str(folder)).written == 0


@pytest.mark.parametrize("inside", ["", "validation"])
def test_boxes_of_pictures_of_the_lake(tmp_path, folder, inside):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder / inside), "imagefolder")
    (folder / "validation-annotations-bbox.csv").write_text(BOXES)
    assert lake.ingest(str(folder / "validation-annotations-bbox.csv")).format == "openimages"
    names = [f"{row[0].removeprefix('validation/')}" for row in EXPECTED]
    found = boxes_of(lake)
    assert [row[1:] for row in found] == [row[1:] for row in EXPECTED]
    assert [row[0].removeprefix("validation/") for row in found] == names


def test_labels_of_images(tmp_path, folder):
    (folder / "validation-annotations-human-imagelabels.csv").write_text(LABELS)
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).rejected == 0
    sql = "SELECT key, attribute, value, score, annotator FROM labels JOIN images USING (image_id) ORDER BY ALL"
    rows = [(k.removeprefix("validation/"), *rest) for k, *rest in lake.sql(sql).fetchall()]
    assert [(*row[:3], row[3] and round(row[3], 3), row[4]) for row in rows] == [
        ("000a1.jpg", "Dog", "1", None, "verification"),
        ("000a1.jpg", "Plant", "0", None, "crowdsource-verification"),
        ("000b2.jpg", "Plant", "1", 0.7, "machine"),
    ]
    shown = lake.session(sensitive="a test").sql("SELECT attribute FROM labels").fetchall()
    assert ("Woman",) in shown


def test_presentation_and_age_are_closed(tmp_path, folder):
    (folder / "open_images_extended_miap_boxes_val.csv").write_text(MIAP)
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).rejected == 0
    sql = "SELECT attribute, value FROM labels JOIN detections USING (detection_id) ORDER BY ALL"
    assert lake.sql(sql).fetchall() == [("truncated", "1")]
    assert lake.session(sensitive="a test").sql(sql).fetchall() == [
        ("perceived_age", "middle"),
        ("perceived_age", "young"),
        ("perceived_gender", "predominantly feminine"),
        ("perceived_gender", "unknown"),
        ("truncated", "1"),
    ]


def test_classes_without_names_go_by_their_ids(tmp_path, folder):
    (folder / "class-descriptions-boxable.csv").unlink()
    (folder / "validation-annotations-bbox.csv").write_text(BOXES)
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert any("class-descriptions" in note for note in report.notes)
    assert [row[1] for row in boxes_of(lake)] == ["/m/0bt9lr", "Person"]


def test_a_list_of_names_that_is_none(tmp_path, folder):
    (folder / "class-descriptions-boxable.csv").write_text("/m/01g317\n/m/0bt9lr,Dog,Cat\n")
    (folder / "validation-annotations-bbox.csv").write_text(BOXES)
    with pytest.raises(SourceError, match="no list of ids of classes") as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder))
    assert caught.value.code == "E4031"

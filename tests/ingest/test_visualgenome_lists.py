"""Visual Genome's lists become images, boxes, labels of boxes and captions, with or without the pictures beside them."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError, SourceError

ABOUT = {"coco_id": None, "flickr_id": None}
URL = "https://cs.stanford.edu/people/rak248/VG_100K_2"
IMAGES = [
    {"width": 800, "url": f"{URL}/1.jpg", "height": 600, "image_id": 1, **ABOUT},
    {"width": 80, "url": f"{URL}/2.jpg", "height": 60, "image_id": 2, **ABOUT},
]
TREE = {"synsets": ["tree.n.01"], "h": 557, "object_id": 1058549, "merged_object_ids": [], "names": ["trees"]}
TREE |= {"w": 799, "y": 0, "x": 0}
PERSON = {"synsets": [], "h": 50, "object_id": 5046, "names": ["person", "man"], "w": 20, "y": 5, "x": 7}
OBJECTS = [
    {"image_id": 1, "objects": [TREE], "image_url": f"{URL}/1.jpg"},
    {"image_id": 2, "objects": [PERSON], "image_url": f"{URL}/2.jpg"},
]
ATTRIBUTES = [
    {"image_id": 1, "attributes": [{**TREE, "attributes": ["green", "tall", "green"]}]},
    {"image_id": 2, "attributes": [{**PERSON, "attributes": ["female", "standing"]}]},
]
REGION = {"width": 82, "height": 139, "y": 57, "x": 421}
REGIONS = [
    {"regions": [{"region_id": 1382, "image_id": 1, "phrase": "the clock is green in colour", **REGION}], "id": 1},
    {"regions": [{"region_id": 1383, "image_id": 2, "phrase": "a woman stands", **REGION}], "id": 2},
]
LISTS = {"image_data": IMAGES, "objects": OBJECTS, "attributes": ATTRIBUTES, "region_descriptions": REGIONS}


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "genome"
    root.mkdir()
    for name, items in LISTS.items():
        (root / f"{name}.json").write_text(json.dumps(items))
    return root


def test_everything(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert (report.format, report.rejected) == ("visualgenome", 0)
    assert lake.sql("SELECT image_id, key, uri, width, height FROM images ORDER BY image_id").fetchall() == [
        (1, "1", f"{URL}/1.jpg", 800, 600),
        (2, "2", f"{URL}/2.jpg", 80, 60),
    ]
    sql = "SELECT detection_id, image_id, category, x, y, width, height, origin FROM detections ORDER BY 1"
    assert lake.sql(sql).fetchall() == [
        (5046, 2, "person", 7, 5, 20, 50, "human"),
        (1058549, 1, "trees", 0, 0, 799, 557, "human"),
    ]
    assert lake.sql("SELECT caption_id, image_id, text FROM captions ORDER BY 1").fetchall() == [
        (1382, 1, "the clock is green in colour"),
        (1383, 2, "a woman stands"),
    ]
    sql = "SELECT image_id, detection_id, attribute, value FROM labels ORDER BY attribute"
    rows = [(1, 1058549, "green", "1"), (2, 5046, "standing", "1"), (1, 1058549, "tall", "1")]
    assert lake.sql(sql).fetchall() == rows
    assert lake.session(sensitive="a test").sql(sql).fetchall() == [(2, 5046, "female", "1"), *rows]
    assert lake.ingest(str(folder)).written == 0


def test_pictures_beside(tmp_path, folder):
    (folder / "VG_100K").mkdir()
    Image.new("RGB", (800, 600)).save(folder / "VG_100K" / "1.jpg")
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert (report.format, report.rejected) == ("imagefolder, visualgenome", 0)
    sql = "SELECT key, category, text FROM images JOIN detections USING (image_id) JOIN captions USING (image_id) ORDER BY key"
    assert lake.sql(sql).fetchall() == [
        ("2", "person", "a woman stands"),
        ("VG_100K/1.jpg", "trees", "the clock is green in colour"),
    ]
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(2,)]


def test_other_lists_of_it_are_left_out_with_a_note(tmp_path, folder):
    (folder / "relationships.json").write_text('[{"image_id": 1, "relationships": []}]')
    report = cb.connect(tmp_path / "l.lake").ingest(str(folder))
    assert (report.format, report.rejected) == ("visualgenome", 0)
    assert any(note.startswith("left out") and "relationships.json" in note for note in report.notes)


def test_a_limit_is_of_images(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder), limit=1)
    counts = [lake.sql(f"SELECT count(*) FROM {t}").fetchall()[0][0] for t in ("images", "detections", "captions")]
    assert counts == [1, 1, 1]


def test_what_will_not_do_is_refused(tmp_path, folder):
    objects = [
        {"image_id": 1, "objects": [TREE, {**TREE, "object_id": 2, "w": -1}, {**TREE, "object_id": 3, "names": []}, 7]},
        {"image_id": 2, "objects": 5},
        {"image_id": 2, "objects": [{**PERSON, "object_id": 4, "x": "left"}, {**PERSON, "object_id": None}]},
        {"image_id": 99, "objects": [PERSON]},
    ]
    (folder / "objects.json").write_text(json.dumps(objects))
    (folder / "attributes.json").unlink()
    regions = [{"id": 1, "regions": [{"region_id": 5, "phrase": " "}, {"region_id": 6, "phrase": "a dog"}]}]
    (folder / "region_descriptions.json").write_text(json.dumps(regions))
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    rows = lake.sql("SELECT regexp_extract(source, '[^/]+$'), position, code FROM meta.errors ORDER BY ALL").fetchall()
    assert rows == [
        ("objects.json", "[0]", "bad_box"),
        ("objects.json", "[0]", "bad_item"),
        ("objects.json", "[0]", "missing_category"),
        ("objects.json", "[1]", "bad_item"),
        ("objects.json", "[2]", "bad_box"),
        ("objects.json", "[2]", "missing_id"),
        ("objects.json", "[3]", "unknown_image"),
        ("region_descriptions.json", "[0]", "missing_text"),
    ]
    assert lake.sql("SELECT text FROM captions").fetchall() == [("a dog",)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[{"image_id": 1, "objects": [{"x": 1', "E4021"),
        ('[{"image_id": 1, "objects": []}] more', "E4021"),
        ('[{"image_id": 1, "objects": []}, ' + "[" * 100_000, "E4021"),
    ],
)
def test_broken_documents(tmp_path, text, code):
    (tmp_path / "objects.json").write_text(text)
    with pytest.raises(SourceError) as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(tmp_path / "objects.json"))
    assert caught.value.code == code


def test_other_files_and_mappings(tmp_path, folder):
    (tmp_path / "other.json").write_text('[{"image_id": 1}]')
    with pytest.raises(SourceError) as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(tmp_path / "other.json"), "visualgenome")
    assert caught.value.code == "E4032"
    with pytest.raises(RequestError) as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder), "visualgenome", mapping={"key": "id"})
    assert caught.value.code == "E3007"


def test_a_box_that_reaches_out_of_its_picture(tmp_path, folder):
    (folder / "objects.json").write_text(json.dumps([{"image_id": 2, "objects": [{**PERSON, "w": 75}, TREE]}]))
    (folder / "attributes.json").unlink()
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT code FROM meta.errors").fetchall() == [("bad_box",)] * 2


@pytest.mark.parametrize("beside", [False, True])
def test_members_of_images_are_kept_and_others_told(tmp_path, folder, beside):
    about = [{**IMAGES[0], "coco_id": 61512, "by": ["a"]}, {**IMAGES[1], "flickr_id": 7}]
    (folder / "image_data.json").write_text(json.dumps(about))
    if beside:
        (folder / "VG_100K").mkdir()
        Image.new("RGB", (800, 600)).save(folder / "VG_100K" / "1.jpg")
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder), keep=["coco_id"])
    assert report.rejected == 0
    told = [note for note in report.notes if note.startswith("left out")]
    assert told == [
        "left out: the boxes of regions; their descriptions are captions of the images",
        "left out: flickr_id; --keep flickr_id stores it as labels",
        "left out: by, of lists or objects; --keep by stores them as JSON",
        "left out: objects.synsets; the format visualgenome cannot keep it",
        "left out: names of objects after the first",
    ]
    sql = "SELECT key, value FROM labels JOIN images USING (image_id) WHERE attribute = 'coco_id'"
    assert lake.sql(sql).fetchall() == [("VG_100K/1.jpg" if beside else "1", "61512")]
    with pytest.raises(NotFoundError) as caught:
        lake.ingest(str(folder), keep=["coco"])
    assert caught.value.code == "E1002"
    report = lake.ingest(str(folder / "objects.json"), keep=["coco_id"])
    assert "the format visualgenome ignores keep" in report.notes

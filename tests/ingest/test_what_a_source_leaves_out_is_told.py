"""What of a source finds no place is named in a note, which says how to keep it only where that can be done."""

from __future__ import annotations

import json

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError
from counterbalance.ingest import hashing

IMAGE = {
    "id": 1,
    "file_name": "a.jpg",
    "width": 9,
    "height": 9,
    "license": 4,
    "flickr_url": "http://f",
    "exif": {"a": 1},
}
BOX = {
    "id": 1,
    "image_id": 1,
    "bbox": [1, 1, 2, 2],
    "category_id": 1,
    "iscrowd": 0,
    "attributes": {"occluded": True},
    "truncated": 1,
}
COCO = {
    "images": [IMAGE | {"photographer": "Ann", "date_captured": None}],
    "annotations": [BOX, {"id": 2, "image_id": 1, "caption": "a cat", "worker": 7, "note": ""}],
    "categories": [{"id": 1, "name": "cat", "supercategory": "animal"}],
    "videos": [{"id": 1}],
    "tracks": [],
}
SENTENCE = {"raw": "A man.", "tokens": ["a", "man"], "sentid": 7}
KARPATHY = {"images": [{"filename": "1.jpg", "split": "val", "imgid": 0, "sentids": [7], "sentences": [SENTENCE]}]}
OBJECT = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>5</xmax><ymax>5</ymax></bndbox>"
VOC = f"""<annotation><folder>VOC</folder><filename>a.jpg</filename><source><database>x</database></source>
<size><width>9</width><height>9</height><depth>3</depth></size><segmented>0</segmented>
<object><name>cat</name><pose>Left</pose>{OBJECT}<point><x>1</x></point><part><name>head</name><hue>red</hue>{OBJECT}</part></object>
</annotation>"""
CVAT = """<annotations><version>1.1</version><image id="3" name="a.jpg" width="9" height="9">
<box label="cat" source="manual" occluded="0" xtl="1" ytl="1" xbr="5" ybr="5" z_order="0"/>
<polygon label="dog" points="1,1;5,1;5,5"/></image></annotations>"""
OPEN = (
    "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,XClick1X\na,xclick,/m/0bt9lr,1,0,1,0,1,0,0.5\n"
)
TABLES = {
    "detections": "key,x1,y1,x2,y2,mood,hue\na,1,2,3,4,calm,red\n",
    "labels": "key,attribute,value,comment\na,scene,sea,hm\n",
    "counterfactuals": "id,caption_0,caption_1,hue\n1,a man,a woman,red\n",
    "openimages": OPEN,
}
UNKEPT = {
    "labels": "comment",
}
KEPT = {"detections": ["mood", "hue"], "openimages": ["Confidence", "XClick1X"]}


@pytest.fixture
def lake(tmp_path):
    return cb.connect(tmp_path / "a.lake")


SAID = [("1", "a man", "glad", 0), ("1", "a dog", "glad", 1), ("2", "a cat", "sad", 0), ("2", "a cow", "sad", 1)]


def left_out(report):
    return [n for n in report.notes if n.startswith("left out")]


def test_members_of_coco(lake, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(COCO))
    assert left_out(lake.ingest(tmp_path / "a.json")) == [
        "left out: flickr_url, photographer; --keep flickr_url stores one as labels",
        "left out: exif, of lists or objects; --keep exif stores them as JSON",
        "left out: annotations.truncated; --keep annotations.truncated stores it as labels",
        "left out: annotations.attributes, of lists or objects; --keep annotations.attributes stores them as JSON",
        "left out: annotations.worker, categories.supercategory, videos; the format coco cannot keep them",
    ]


def test_members_of_boxes_of_coco_are_kept(lake, tmp_path):
    """As labels of the boxes; a member that the first boxes do not have is an error, as of images."""
    (tmp_path / "a.json").write_text(json.dumps(COCO))
    report = lake.ingest(tmp_path / "a.json", keep=["annotations.truncated", "photographer"], annotator="tool")
    assert "left out: flickr_url; --keep flickr_url stores it as labels" in left_out(report)
    assert not [note for note in left_out(report) if "truncated" in note]
    assert lake.sql(
        "SELECT image_id, detection_id, attribute, value, annotator FROM labels ORDER BY ALL"
    ).fetchall() == [
        (1, 1, "truncated", "1", "tool"),
        (1, None, "photographer", "Ann", "tool"),
    ]
    with pytest.raises(NotFoundError) as caught:
        lake.ingest(tmp_path / "a.json", keep=["annotations.truncate"])
    assert caught.value.code == "E1002"


def test_members_of_boxes_without_boxes_are_told(lake, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(COCO | {"annotations": COCO["annotations"][1:]}))
    told = "--keep annotations.truncated keeps nothing: there are no boxes"
    assert told in lake.ingest(tmp_path / "a.json", keep=["annotations.truncated"]).notes


def test_members_of_karpathys_files(lake, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(KARPATHY))
    assert left_out(lake.ingest(tmp_path / "a.json")) == [
        "left out: imgid; --keep imgid stores it as labels",
        "left out: sentids, of lists or objects; --keep sentids stores them as JSON",
        "left out: sentences.sentid, sentences.tokens; the format karpathy cannot keep them",
    ]


LABELS = "SELECT attribute, value, detection_id IS NULL AS of_image FROM labels ORDER BY attribute, value"


def test_elements_of_pascal_voc(lake, tmp_path):
    (tmp_path / "a.xml").write_text(VOC)
    assert left_out(lake.ingest(tmp_path / "a.xml")) == [
        "left out: folder, object.part.hue; --keep folder stores one as labels",
        "left out: object.point, source, of lists or objects",
    ]
    kept = lake.ingest(tmp_path / "a.xml", keep=["folder", "object.part.hue", "owner"])
    assert left_out(kept) == ["left out: object.point, source, of lists or objects"]
    assert "--keep owner: nothing is called so" in kept.notes
    assert lake.sql(LABELS).fetchall() == [("folder", "VOC", True), ("hue", "red", False), ("pose", "Left", False)]


def test_attributes_of_cvat(lake, tmp_path):
    (tmp_path / "a.xml").write_text(CVAT)
    assert left_out(lake.ingest(tmp_path / "a.xml")) == [
        "left out: box.source, image.id; --keep box.source stores one as labels",
        "left out: polygon.points, of lists or objects",
    ]
    lake.ingest(tmp_path / "a.xml", keep=["box.source", "image.id"])
    assert lake.sql(LABELS).fetchall() == [("id", "3", True), ("source", "manual", False)]


def test_members_of_regions_of_phase(lake, tmp_path):
    region = {"region": [0, 0, 5, 5], "annotations": {"activity": "sports"}, "quality": 3}
    (tmp_path / "a.json").write_text(json.dumps({"7": {"caption": "a man", "1": region}}))
    report = lake.ingest(tmp_path / "a.json")
    told = "left out: region.quality; --keep region.quality stores it as labels"
    assert (report.format, left_out(report)) == ("phase", [told])
    kept = lake.ingest(tmp_path / "a.json", keep=["region.quality"])
    assert left_out(kept) == []
    assert lake.sql(LABELS).fetchall() == [("activity", "sports", False), ("quality", "3", False)]


@pytest.mark.parametrize("format_", KEPT)
def test_columns_of_tables_of_boxes(lake, build, tmp_path, format_):
    """What is told can be kept, as it says, as labels of the boxes."""
    lake.ingest({"images": build.images(image_id=[hashing.key_id("a")], key=["a"], width=[9], height=[9])})
    (tmp_path / "a.csv").write_text(TABLES[format_])
    first, names = KEPT[format_][0], ", ".join(KEPT[format_])
    told = left_out(lake.ingest(tmp_path / "a.csv", format_))
    assert told == [f"left out: {names}; --keep {first} stores one as labels"]
    report = lake.ingest(tmp_path / "a.csv", format_, keep=KEPT[format_])
    assert left_out(report) == []
    kept = lake.sql(
        "SELECT l.attribute, l.value FROM labels AS l JOIN detections AS d USING (detection_id) WHERE l.image_id = d.image_id"
    ).fetchall()
    values = {"mood": "calm", "hue": "red", "Confidence": "1", "XClick1X": "0.5"}
    assert {(n, values[n]) for n in KEPT[format_]} <= {*kept}


def test_columns_of_pairs_of_captions(lake, tmp_path):
    (tmp_path / "a.csv").write_text(TABLES["counterfactuals"])
    told = left_out(lake.ingest(tmp_path / "a.csv", "counterfactuals"))
    assert told == ["left out: hue; --keep hue stores it as labels"]
    assert left_out(lake.ingest(tmp_path / "a.csv", "counterfactuals", keep=["hue"])) == []
    kept = lake.sql(
        "SELECT i.key, l.attribute, l.value FROM labels AS l JOIN images AS i USING (image_id) ORDER BY ALL"
    )
    assert [(key.partition("/")[2], *label) for key, *label in kept.fetchall()] == [
        ("counterfactual", "hue", "red"),
        ("original", "hue", "red"),
    ]


@pytest.mark.parametrize("format_", UNKEPT)
def test_columns_of_tables(lake, tmp_path, format_):
    (tmp_path / "a.csv").write_text(TABLES[format_])
    them = "them" if "," in UNKEPT[format_] else "it"
    assert left_out(lake.ingest(tmp_path / "a.csv", format_)) == [
        f"left out: {UNKEPT[format_]}; the format {format_} cannot keep {them}"
    ]


def test_lists_in_the_metadata_of_a_folder(lake, tmp_path):
    (tmp_path / "set").mkdir()
    Image.new("RGB", (8, 6)).save(tmp_path / "set" / "a.png")
    (tmp_path / "set" / "metadata.jsonl").write_text('{"file_name": "a.png", "mood": "calm", "tags": ["x"]}\n')
    told = ["left out: tags, of lists or objects; --keep tags stores them as JSON"]
    assert left_out(lake.ingest(tmp_path / "set")) == told
    assert left_out(lake.ingest(tmp_path / "set", keep=["tags"])) == []
    assert lake.sql("SELECT attribute, value FROM labels ORDER BY ALL").fetchall() == [
        ("mood", "calm"),
        ("tags", '["x"]'),
    ]


def test_names_that_are_no_text_or_many(lake, tmp_path):
    names = ["\ud800", *(f"n{i:04}" for i in range(3000))]
    (tmp_path / "a.json").write_text(json.dumps({"images": [IMAGE | dict.fromkeys(names, 1)], "annotations": []}))
    (plain, _) = left_out(lake.ingest(tmp_path / "a.json"))
    assert (len(plain) < 300, plain.count(", n0"), ", …;" in plain) == (True, 19, True)
    (tmp_path / "b.json").write_text(json.dumps({"images": [IMAGE | {"\ud800": 1}], "annotations": []}))
    assert (
        "left out: flickr_url, \\ud800; --keep flickr_url stores one as labels"
        in lake.ingest(tmp_path / "b.json").notes
    )


@pytest.mark.parametrize("columns", ["key,caption,mood, number", "key,url,caption,mood, number"])
def test_what_else_a_kept_column_says_of_an_image_is_told(tmp_path, columns):
    url = ",http://h/a" if "url" in columns else ""
    rows = [f"{key}{url},{text},{mood},{n}" for key, text, mood, n in SAID]
    (tmp_path / "a.csv").write_text("\n".join([columns, *rows]) + "\n")
    report = cb.connect(tmp_path / "a.lake").ingest(str(tmp_path / "a.csv"), "captions", keep=["mood", "number"])
    assert (report.by_table["labels"].written, report.rejected) == (4, 0)
    told = "number is another one of the same image in 2 rows, and the first is kept: line 3 of a.csv"
    assert [note for note in report.notes if "another one" in note] == [told]

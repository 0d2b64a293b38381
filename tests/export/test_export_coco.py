"""``export --to coco``: pycocotools reads the documents, and an ingest of them gives an equal lake."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from image_files import image_bytes
from PIL import Image
from pycocotools.coco import COCO

import counterbalance as cb
from counterbalance.engine.errors import RequestError


def picture(i):
    return image_bytes(Image.new("RGB", (40 + i, 30), (40 * i, 9, 9)))


PICTURES = {i: picture(i) for i in (1, 2, 3, 4)}
MASK = "[[1,1,6,1,6,8]]"


@pytest.fixture
def lake(empty_lake, build):
    empty_lake.ingest(
        {
            "images": build.images(
                image_id=[1, 2, 3, 4],
                key=["1", "2", "3", "4"],
                split=["val2017", "val2017", "train2017", "val2017"],
                width=[41, 42, 43, 44],
                height=[30] * 4,
                license=["CC BY", None, "CC0", "CC BY"],
                image=list(PICTURES.values()),
            ),
            "captions": build.captions(
                caption_id=[11, 12, 13], image_id=[1, 1, 3], text=["a man", "a rider", "dogs"], origin=["human"] * 3
            ),
            "detections": build.detections(
                detection_id=[21, 22, 23],
                image_id=[1, 2, 3],
                category=["person", "hair drier", "dragon"],
                x=[1.0, 2.5, 3.0],
                y=[1.0, 2.0, 3.0],
                width=[5.0, 6.0, 7.0],
                height=[7.0, 8.0, 9.0],
                area=[17.5, 48.0, 63.0],
                is_crowd=[False, False, False],
                mask=[MASK, None, None],
                keypoints=[[1.0, 2.0, 2.0, 0.0, 0.0, 0.0], None, None],
                origin=["human"] * 3,
            ),
        }
    )
    return empty_lake


def opened(path):
    with contextlib.redirect_stdout(io.StringIO()):
        return COCO(str(path))


def test_pycocotools_reads_what_the_lake_holds(lake, tmp_path):
    done = lake.export("images", tmp_path / "out", "coco")
    assert (done.rows, done.skipped) == (4, 0)
    names = sorted(p.name for p in (tmp_path / "out/annotations").iterdir())
    assert names == [f"{k}_{s}.json" for k in ("captions", "instances") for s in ("train2017", "val2017")]
    boxes = opened(tmp_path / "out/annotations/instances_val2017.json")
    assert sorted(boxes.getImgIds()) == [1, 2, 4]
    assert boxes.getCatIds(catNms=["person", "hair drier"]) == [1, 89]  # COCO's own numbers
    (one,) = boxes.loadAnns(boxes.getAnnIds(imgIds=[1]))
    assert (one["id"], one["bbox"], one["area"], one["iscrowd"]) == (21, [1, 1, 5, 7], 17.5, 0)
    assert boxes.annToRLE(one)["size"] == [30, 41]  # its mask, in the picture's size
    captions = opened(tmp_path / "out/annotations/captions_val2017.json")
    assert [a["caption"] for a in captions.loadAnns(captions.getAnnIds(imgIds=[1]))] == ["a man", "a rider"]
    for number, said in boxes.imgs.items():
        assert (tmp_path / "out/images/val2017" / said["file_name"]).read_bytes() == PICTURES[number]
        assert (said["width"], said["height"]) == (40 + number, 30)


def test_it_is_ingested_again_as_it_was(lake, tmp_path):
    lake.export("images", tmp_path / "out", "coco")
    again = cb.connect("memory://test-coco-again")
    report = again.ingest(
        str(tmp_path / "out/annotations"), format="coco", images=str(tmp_path / "out/images"), store_images=True
    )
    assert report.rejected == 0
    for sql in (
        "SELECT image_id, key, split, width, height, license FROM images ORDER BY 1",
        "SELECT caption_id, image_id, text FROM captions ORDER BY 1",
        "SELECT detection_id, image_id, category, x, y, width, height, area, is_crowd, mask, keypoints FROM detections ORDER BY 1",
    ):
        assert again.sql(sql).fetchall() == lake.sql(sql).fetchall()
    with again.session(with_bytes=True) as session:
        assert [r[0] for r in session.sql("SELECT image FROM images ORDER BY image_id")] == list(PICTURES.values())


def test_rows_of_a_query_are_captions_of_their_images(lake, tmp_path):
    sql = "SELECT image_id, caption_id, text, image FROM captions JOIN images USING (image_id)"
    done = lake.export(sql, tmp_path / "out", "coco")
    assert done.rows == 2  # an image that comes twice is there once
    captions = opened(tmp_path / "out/annotations/captions_all.json")
    assert {a["id"]: (a["image_id"], a["caption"]) for a in captions.anns.values()} == {
        11: (1, "a man"),
        12: (1, "a rider"),
        13: (3, "dogs"),
    }


def test_edits_are_images_of_their_own(lake, tmp_path):
    sql = (
        "SELECT 100 + a.image_id AS edit_id, 1 AS image_id, 'female' AS label, 'a ' || a.key AS text, a.image, "
        "2.0 AS x, 3.0 AS y, 4.0 AS width, 5.0 AS height FROM images a"
    )
    lake.export(sql, tmp_path / "out", "coco")
    made = opened(tmp_path / "out/annotations/captions_all.json")
    assert sorted(made.getImgIds()) == [101, 102, 103, 104]
    for number, said in made.imgs.items():
        assert (said["source_image_id"], said["label"], said["box"]) == (1, "female", [2, 3, 4, 5])
        assert said["width"] == 40 + number - 100  # of the picture, not of the box


def test_two_pictures_of_one_id_are_refused(lake, tmp_path):
    sql = "SELECT 1 AS image_id, image FROM images"
    with pytest.raises(RequestError, match="two pictures are called 1"):
        lake.export(sql, tmp_path / "out", "coco")


def test_images_need_integer_ids_and_documents_have_no_shards(lake, tmp_path):
    for sql, options in (("SELECT 'a' AS image_id, image FROM images", {}), ("images", {"shard_size": 10})):
        with pytest.raises(RequestError) as told:
            lake.export(sql, tmp_path / "out", "coco", **options)
        assert told.value.code == "E3675"


def test_a_mask_that_is_no_json_is_told(lake, build, tmp_path):
    lake.ingest(
        {
            "detections": build.detections(
                detection_id=[31],
                image_id=[2],
                category=["dog"],
                x=[1.0],
                y=[1.0],
                width=[4.0],
                height=[4.0],
                mask=["}{"],
            )
        }
    )
    done = lake.export("images", tmp_path / "out", "coco")
    assert "1 masks cannot be read; their boxes or images are written without one" in done.notes
    (file,) = (tmp_path / "out").rglob("instances_val2017.json")
    written = {a["id"]: a for a in json.loads(file.read_text())["annotations"]}
    assert "segmentation" in written[21]
    assert written[31]["bbox"] == [1.0, 1.0, 4.0, 4.0]
    assert "segmentation" not in written[31]

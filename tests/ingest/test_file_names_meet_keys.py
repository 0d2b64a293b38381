"""Rows that name a file find the image whose key is that name, or it without ending, or the number of that file in COCO."""

from __future__ import annotations

import pytest
from PIL import Image


@pytest.mark.parametrize("kind", ["detections", "labels"])
def test_the_whole_name_comes_first(kind, disk_lake, tmp_path):
    pictures = tmp_path / "pictures" / "val"
    pictures.mkdir(parents=True)
    for name in ("000000000139.jpg", "a.jpg"):
        Image.new("RGB", (8, 8)).save(pictures / name)
    disk_lake.ingest(str(pictures), "imagefolder")
    alt = tmp_path / "alt.csv"
    alt.write_text("key,url,caption\na,http://h/a.jpg,x\nb,http://h/b.jpg,y\n")
    disk_lake.ingest(str(alt), "laion", mapping={"key": "key"})
    source = tmp_path / "boxes.csv"
    names = ("000000000139.jpg", "./a.jpg", "b.jpg", "000000000139.png", "000000000139.jpg.jpg")
    source.write_text("member_name,x1,y1,x2,y2,scene\n" + "".join(f"{n},1,2,5,6,street\n" for n in names))
    if kind == "labels":
        source.write_text("member_name,scene\n" + "".join(f"{n},street\n" for n in names))
    report = disk_lake.ingest(str(source), kind)
    got = disk_lake.sql(f"SELECT i.key FROM {kind} AS t JOIN images AS i USING (image_id) ORDER BY ALL").fetchall()
    assert got == [("000000000139.jpg",), ("a.jpg",), ("b",)]
    assert report.rejected == 2
    again = disk_lake.ingest(str(source), kind)
    assert (again.changed, again.rejected) == (False, 2)


@pytest.mark.parametrize("kind", ["detections", "labels", "captions"])
def test_images_of_coco_are_named_by_their_files(kind, disk_lake, tmp_path, build):
    files = {
        139: "val2017/000000000139.jpg",
        285: "COCO_val2014_000000000285.jpg",
        7: "street.jpg",
        12: "http://h/0012.jpg?x=1",
    }
    disk_lake.ingest({"images": build.images(image_id=[*files], key=[str(i) for i in files], uri=[*files.values()])})
    source = tmp_path / "rows.csv"
    names = ("000000000139.jpg", "images/COCO_val2014_000000000285.jpg", "000007.jpg", "000285.jpg", "0012.jpg")
    header, row = {
        "detections": ("file_name,x1,y1,x2,y2", "1,2,5,6"),
        "labels": ("file_name,scene", "street"),
        "captions": ("file_name,caption", "a man"),
    }[kind]
    source.write_text(f"{header}\n" + "".join(f"{name},{row}\n" for name in names))
    report = disk_lake.ingest(str(source), kind)
    got = disk_lake.sql(f"SELECT image_id FROM {kind} WHERE image_id < 1000 ORDER BY ALL").fetchall()
    assert got == [(139,), (285,)]
    assert report.rejected == (0 if kind == "captions" else 3), "another file has the number of an image"
    assert not disk_lake.ingest(str(source), kind).changed

"""A folder for YOLO becomes pictures and boxes in pixels: those that Ultralytics' own loader makes of it."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.udfs.models import yolo

LABELS = {
    "train/a": "0 0.5 0.5 0.25 0.5\n1 0.75 0.6 0.125 0.25\n",
    "train/b": "",
    "val/c": "1 0.1 0.1 0.3 0.1 0.3 0.35\n0 0.2 0.2 0.3 0.3 0.4 0.1 0.5 0.6\n1 0.9 1 1.005 1 0.95 0.5\n",
}
YAML = "path: ../datasets/mine\ntrain: images/train\nval: images/val\nnames:\n  0: person\n  1: dog\n"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "mine"
    for i, (name, text) in enumerate({**LABELS, "train/background": None}.items()):
        (root / "images" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "labels" / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (64 + 8 * i, 48), (i, 0, 0)).save(root / "images" / f"{name}.jpg")
        if text is not None:
            (root / "labels" / f"{name}.txt").write_text(text)
    (root / "data.yaml").write_text(YAML)
    return root


def boxes_of(lake):
    sql = "SELECT key, category, x, y, d.width, d.height FROM detections d JOIN images USING (image_id) ORDER BY ALL"
    return [tuple(row.values()) for row in lake.sql(sql).to_arrow().to_pylist()]


def test_the_boxes_are_those_of_ultralytics(tmp_path, folder, monkeypatch):
    monkeypatch.setenv("YOLO_CONFIG_DIR", str(tmp_path))
    if importlib.util.find_spec("ultralytics") is None:
        pytest.skip("ultralytics is not installed")
    yolo.library()  # the first import is ours: ultralytics replaces Pillow's Image.open, for the tests after this one, too
    from ultralytics.data.utils import verify_image_label

    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert (report.format, report.rejected) == ("yolo", 0)
    expected = []
    for name in LABELS:
        picture, label = folder / "images" / f"{name}.jpg", folder / "labels" / f"{name}.txt"
        found = verify_image_label((str(picture), str(label), "", False, 2, 0, 0, False))
        (height, width), rows = found[2], found[1]
        for number, x, y, w, h in rows.tolist():
            corner = ((x - w / 2) * width, (y - h / 2) * height)
            expected.append((f"images/{name}.jpg", ("person", "dog")[int(number)], *corner, w * width, h * height))
    found = boxes_of(lake)
    assert [row[:2] for row in found] == [row[:2] for row in sorted(expected)]
    assert np.allclose([r[2:] for r in found], [r[2:] for r in sorted(expected)], atol=1e-4)


def test_pictures_and_splits(tmp_path, folder):
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    rows = lake.sql("SELECT key, split, width, height FROM images ORDER BY key").fetchall()
    assert rows == [
        ("images/train/a.jpg", "train", 64, 48),
        ("images/train/b.jpg", "train", 72, 48),
        ("images/train/background.jpg", "train", 88, 48),
        ("images/val/c.jpg", "val", 80, 48),
    ]
    assert lake.ingest(str(folder)).written == 0
    assert lake.ingest(str(folder / "data.yaml"), "yolo").written == 0


def test_a_list_of_pictures_is_a_split(tmp_path, folder):
    (folder / "data.yaml").write_text("train: [images/train]\nval: ./lists/some.txt\nnames: [person, dog]\n")
    (folder / "lists").mkdir()
    (folder / "lists" / "some.txt").write_text("./images/val/c.jpg\n/elsewhere/images/train/b.jpg\n")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    rows = lake.sql("SELECT key, split FROM images WHERE split = 'val' ORDER BY key").fetchall()
    assert rows == [("images/train/b.jpg", "val"), ("images/val/c.jpg", "val")]


def test_folders_of_other_tools(tmp_path):
    """Roboflow has a folder a split; labelImg writes beside the pictures, and names to ``classes.txt``."""
    for sub, label in (("train/images", "train/labels"), ("flat", "flat")):
        (tmp_path / "set" / sub).mkdir(parents=True)
        (tmp_path / "set" / label).mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (100, 50)).save(tmp_path / "set" / sub / "a.png")
        (tmp_path / "set" / label / "a.txt").write_text("1 0.5 0.5 1 1\n")
    (tmp_path / "set" / "classes.txt").write_text("person\ndog\n")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(tmp_path / "set"))
    assert boxes_of(lake) == [
        ("flat/a.png", "dog", 0, 0, 100, 50),
        ("train/images/a.png", "dog", 0, 0, 100, 50),
    ]


def test_predictions_have_scores(tmp_path):
    (tmp_path / "set" / "images").mkdir(parents=True)
    (tmp_path / "set" / "labels").mkdir()
    Image.new("RGB", (100, 50)).save(tmp_path / "set" / "images" / "a.png")
    (tmp_path / "set" / "labels" / "a.txt").write_text("0 0.5 0.5 0.5 0.5 0.75\n0 0.1 0.1 0.2 0.1 0.2 0.2 0.5\n")
    (tmp_path / "set" / "data.yaml").write_text("names: [person]\n")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(tmp_path / "set"), annotator="yolo11n")
    rows = lake.sql("SELECT x, score, origin FROM detections ORDER BY x").fetchall()
    assert rows == [(10, 0.5, "yolo11n"), (25, 0.75, "yolo11n")]


def poses(folder, shape, line):
    (folder / "data.yaml").write_text(f"kpt_shape: {shape}\n{YAML}")
    for name in LABELS:
        (folder / "labels" / f"{name}.txt").write_text(line if name == "train/a" else "")


@pytest.mark.parametrize(
    ("shape", "line", "found"),
    [
        ("[2, 3]", "0 0.5 0.5 0.25 0.5 0.5 0.25 2 0.2 0.2 0", ([32, 12, 2, 0, 0, 0], None)),
        ("[2, 3]", "0 0.5 0.5 0.25 0.5 0.5 0.25 2 0.25 0.5 1 0.75", ([32, 12, 2, 16, 24, 1], 0.75)),
        ("[2, 2]", "0 0.5 0.5 0.25 0.5 0.5 0.25 0 0", ([32, 12, 2, 0, 0, 0], None)),
        ("[2, 3]", "0 0.5 0.5 0.25 0.5", (None, None)),
        ("[2, 4]", "0 0.5 0.5 0.25 0.5 0.5 0.25 2 0 0.2 0.2 0 0", (None, None)),
    ],
)
def test_keypoints_of_poses_are_those_of_coco(tmp_path, folder, shape, line, found):
    poses(folder, shape, line)
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder))
    assert lake.sql("SELECT keypoints, score FROM detections").fetchall() == [found]
    assert any("keypoints" in note for note in report.notes) == ("4" in shape)
    assert lake.ingest(str(folder)).changed == 0


@pytest.mark.parametrize("rest", ["0.5 0.25 2", "0.5 0.25 2 0.2 1.5 1", "0.5 0.25 2 0.2 0.2 3"])
def test_poses_that_will_not_do_are_refused(tmp_path, folder, rest):
    poses(folder, "[2, 3]", f"0 0.5 0.5 0.25 0.5 {rest}")
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).rejected == 1
    assert lake.sql("SELECT code FROM meta.errors").fetchall() == [("bad_keypoints",)]


def test_points_of_a_turned_picture_are_of_it_as_it_is_stored(tmp_path, folder):
    picture = Image.new("RGB", (64, 48))
    exif = picture.getexif()
    exif[0x0112] = 6
    picture.save(folder / "images" / "train" / "a.jpg", exif=exif)
    poses(folder, "[1, 3]", "0 0.5 0.5 0.25 0.5 0.75 0.25 2")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT keypoints FROM detections").fetchall() == [([16, 12, 2],)]


def test_pictures_of_another_folder(tmp_path, folder):
    (folder / "images").rename(tmp_path / "pictures")
    lake = cb.connect(tmp_path / "l.lake")
    report = lake.ingest(str(folder), images=str(tmp_path / "pictures"), store_images=True)
    assert (report.format, report.by_table["detections"].written) == ("yolo", 5)
    assert lake.sql("SELECT count(*) FROM images WHERE sha256 IS NOT NULL").fetchall() == [(4,)]

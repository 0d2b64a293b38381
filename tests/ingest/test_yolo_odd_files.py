"""What is wrong in a folder for YOLO is refused line by line, and names that cannot be relied on are refused at all."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import RequestError, SourceError

LINES = {
    "0 0.5 0.5 0.5": "bad_box",
    "0 0.5 x 0.5 0.5": "bad_box",
    "0 0.5 nan 0.5 0.5": "bad_box",
    "0 0.5 1e999 0.5 0.5": "bad_box",
    "0 50 50 20 20": "bad_box",
    "0 0.5 0.5 -0.5 0.5": "bad_box",
    "0 0.1 0.5 0.9 0.5": "bad_box",
    "0 0.5 0.5 0.5 0.5 1.5": "bad_score",
    "0 0.1 0.1 0.2 0.1 0.2 7": "bad_box",
    "9 0.5 0.5 0.5 0.5": "unknown_category",
    "0.5 0.5 0.5 0.5 0.5": "unknown_category",
    "nan 0.5 0.5 0.5 0.5": "unknown_category",
}


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    Image.new("RGB", (100, 50)).save(root / "a.png")
    (root / "a.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (root / "data.yaml").write_text("names: [person]\n")
    return root


@pytest.mark.parametrize(("line", "code"), LINES.items())
def test_a_line(tmp_path, folder, line, code):
    (folder / "a.txt").write_text(f"0 0.5 0.5 0.5 0.5\n\n{line}\n")
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(folder)).by_table["detections"].written == 1
    rows = lake.sql("SELECT position, code FROM meta.errors").fetchall()
    assert rows == [("a.txt: line 3", code)]


@pytest.mark.parametrize(
    ("yaml", "told"),
    [
        ("names: 5\n", "must be a list"),
        ("names: []\n", "must be a list"),
        ("names: [a, [b]]\n", "must be a list"),
        ("names: {x: a}\n", "must be a list"),
        ("names: [a\n", "not read as text"),
        ("names: " + "[" * 900 + "]" * 900, "nested too deeply|must be a list"),
        ("names: !!python/object/apply:os.system ['true']\n", "tags"),
        ("names: " + "[" * 1200, "not read as text"),
        ("when: !!timestamp 'abc'\nnames: [a]\n", "tags .* at line 1"),
        ("names: [a, !!float b]\n", "tags"),
        ("a: &a [*a]\nnames: *a\n", "aliases"),
        ("names: {0: a, " + "9" * 99 + ": b}\n", "must be a list"),
    ],
)
def test_names_that_cannot_be_relied_on(tmp_path, folder, yaml, told):
    (folder / "data.yaml").write_text(yaml)
    with pytest.raises(SourceError, match=told) as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder))
    assert caught.value.code == "E4025"


def test_names_that_multiply_are_refused(tmp_path, folder):
    more = "".join(f"x{i}: &x{i} [{', '.join([f'*x{i - 1}'] * 9)}]\n" for i in range(1, 30))
    (folder / "data.yaml").write_text(f"x0: &x0 [a]\n{more}names: *x29\n")
    with pytest.raises(SourceError, match="aliases") as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder))
    assert caught.value.code == "E4025"


def test_names_are_texts(tmp_path, folder):
    (folder / "data.yaml").write_text("when: 2001-99-99\nkpt_shape: null\nnames: [yes, no, 010]\n")
    (folder / "a.txt").write_text("".join(f"{i} 0.5 0.5 0.5 0.5\n" for i in range(3)))
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder))
    assert lake.sql("SELECT category FROM detections ORDER BY 1").fetchall() == [("010",), ("no",), ("yes",)]


def test_without_names_or_pictures(tmp_path, folder):
    (folder / "data.yaml").unlink()
    with pytest.raises(SourceError, match="no file tells the names") as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder), "yolo")
    assert caught.value.code == "E4025"
    (folder / "a.png").unlink()
    with pytest.raises(SourceError, match="holds no pictures") as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder), "yolo")
    assert caught.value.code == "E4010"


def test_columns_cannot_be_mapped(tmp_path, folder):
    with pytest.raises(RequestError) as caught:
        cb.connect(tmp_path / "l.lake").ingest(str(folder), "yolo", mapping={"category": "class"})
    assert caught.value.code == "E3006"


def test_files_that_cannot_be_read(tmp_path, folder):
    (folder / "a.txt").write_bytes(b"0 \xff\xfe 0.5 0.5 0.5\n")
    (folder / "labels").mkdir()
    (folder / "labels" / "b.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    (folder / "c.png").write_bytes(b"no picture")
    (folder / "c.txt").write_text("0 0.5 0.5 0.5 0.5\n")
    secret = tmp_path / "secret.png"
    Image.new("RGB", (5, 5)).save(secret)
    (folder / "d.png").symlink_to(secret)
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(folder), "yolo")
    rows = lake.sql("SELECT position, code FROM meta.errors ORDER BY ALL").fetchall()
    assert rows == [
        ("a.txt", "bad_utf8"),
        ("c.png", "not_an_image"),
        ("c.txt", "missing_image"),
        ("d.png", "link_out"),
        ("labels/b.txt", "missing_image"),
    ]

"""A table that names pictures finds them in the folder that ``images`` names: captions, labels and boxes alike."""

from __future__ import annotations

import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.__main__ import main


@pytest.fixture
def pictures(tmp_path):
    for name in ("p0.jpg", "inside/p1.jpg"):
        file = tmp_path / "pics" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(image_bytes(Image.new("RGB", (64, 48)), "JPEG"))
    return tmp_path / "pics"


TABLES = {
    "captions": ("image,caption\np0.jpg,a red horse\np1.jpg,a dinner\n", 2),
    "labels": ("image,attribute,value\np0.jpg,scene,sea\ninside/p1.jpg,scene,city\n", 2),
    "detections": ("file_name,category,x,y,width,height\np1.jpg,dog,1,1,5,5\n", 1),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("table", TABLES)
def test_rows_are_of_them(empty_lake, pictures, tmp_path, table, inside):
    text, count = TABLES[table]
    file = (pictures if inside else tmp_path) / "rows.csv"
    file.write_text(text)
    report = empty_lake.ingest(str(file), images=str(pictures))
    assert (report.by_table[table].written, report.rejected) == (count, 0)
    assert report.format == f"imagefolder, {table}"
    assert not [note for note in report.notes if "ignores" in note or "not called like" in note]
    joined = f"SELECT DISTINCT i.key FROM {table} AS t JOIN images AS i USING (image_id) WHERE i.image IS NOT NULL"
    assert len(empty_lake.sql(joined).fetchall()) == count
    assert empty_lake.sql("SELECT count(*) FROM images").fetchall() == [(2,)]


def test_without_it_labels_of_unknown_pictures_say_what_to_do(tmp_path, capsys):
    (tmp_path / "labels.csv").write_text(TABLES["labels"][0])
    assert main(["ingest", str(tmp_path / "a.lake"), str(tmp_path / "labels.csv")]) == 1
    assert "--images FOLDER" in capsys.readouterr().err


def test_a_name_of_another_folder_means_no_picture(empty_lake, pictures, tmp_path):
    """Nor do several names mean one picture by their last part alone."""
    names = ["cats/p1.jpg", "inside/p1.jpg", "https://a.org/x/p1.jpg", "one/p0.jpg", "two/p0.jpg"]
    (tmp_path / "c.csv").write_text("image,caption\n" + "".join(f"{name},text {i}\n" for i, name in enumerate(names)))
    empty_lake.ingest(str(tmp_path / "c.csv"), images=str(pictures))
    joined = "SELECT i.key, text FROM captions JOIN images AS i USING (image_id) WHERE i.image IS NOT NULL"
    assert empty_lake.sql(joined).fetchall() == [("inside/p1.jpg", "text 1")]
    assert empty_lake.sql("SELECT count(DISTINCT image_id) FROM captions").fetchall() == [(len(names),)]


def test_all_pictures_are_read_and_so_many_rows(empty_lake, pictures, tmp_path):
    (tmp_path / "l.csv").write_text("image,attribute,value\ninside/p1.jpg,scene,sea\np0.jpg,scene,city\n")
    report = empty_lake.ingest(str(tmp_path / "l.csv"), images=str(pictures), limit=1)
    assert {table: counts.written for table, counts in report.by_table.items()} == {"images": 2, "labels": 1}
    assert report.rejected == 0


def test_what_the_folder_says_beside_is_not_read(empty_lake, pictures):
    """Names of folders as labels, and a table that is read already."""
    (pictures / "metadata.csv").write_text("file_name,text\np0.jpg,a sea\ninside/p1.jpg,a city\n")
    report = empty_lake.ingest(str(pictures / "metadata.csv"), images=str(pictures), store_images=True)
    assert {table: counts.written for table, counts in report.by_table.items()} == {"images": 2, "captions": 2}
    assert not [note for note in report.notes if "ignores" in note]


def test_a_format_that_was_named_says_how_they_are_read(empty_lake, pictures, tmp_path):
    (tmp_path / "c.csv").write_text("image,caption\np0.jpg,a sea\n")
    report = empty_lake.ingest(str(tmp_path / "c.csv"), format="captions", images=str(pictures))
    assert (
        "the format captions ignores images; without a format, the pictures of that folder are read, too"
        in report.notes
    )

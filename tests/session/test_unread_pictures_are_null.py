"""A picture that is not stored and cannot be read is NULL in a query and left out of an export, with a note that counts."""

from __future__ import annotations

import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main

QUERIES = (
    "SELECT image FROM images ORDER BY key",
    "SELECT octet_length(image) AS image FROM images ORDER BY key",
    "SELECT any_value(image) AS image FROM images GROUP BY key ORDER BY key",
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "pictures").mkdir()
    for i in range(5):
        Image.new("RGB", (8, 6), (200, 30, 30 * i)).save(tmp_path / "pictures" / f"{i}.png")
    return tmp_path / "pictures"


@pytest.fixture
def lake(tmp_path, folder):
    made = cb.connect(tmp_path / "a.lake")
    made.ingest(folder)
    (folder / "1.png").unlink()
    (folder / "3.png").write_text("no picture")
    return made


def told(notes, count=2):
    (found,) = [n for n in notes if "could not be read" in n]
    return found.startswith(f"{count} picture") and "; the first: " in found


@pytest.mark.parametrize("query", QUERIES)
def test_in_a_query(lake, query):
    result = lake.sql(query)
    assert [v is None for (v,) in result.fetchall()] == [False, True, False, True, False]
    assert told(result.notes)


def test_what_is_read_twice_counts_once(lake):
    result = lake.sql("SELECT a.image, b.image FROM images AS a JOIN images AS b USING (image_id)")
    result.fetchall()
    assert told(result.notes)


def test_one_is_told_with_its_reason(lake, folder):
    result = lake.sql("SELECT image FROM images WHERE key = '1.png'")
    assert [*result] == [(None,)]
    assert result.notes == [
        f"1 picture could not be read and is NULL; the first: no picture at {folder}/1.png: No such file or directory"
    ]


def test_in_a_notebook(lake):
    result = lake.sql(QUERIES[0])
    assert "2 pictures could not be read and are NULL" in repr(result)
    assert "2 pictures could not be read and are NULL" in result._repr_html_()
    assert [p is None for p in result.images()] == [False, True, False, True, False]
    assert told(result.notes)


def test_in_a_process_of_its_own(lake):
    with lake.session(timeout=60, isolated=True) as session:
        result = session.sql(QUERIES[0])
        assert "2 pictures could not be read" in repr(result)
        assert sum(p is None for (p,) in result.fetchall()) == 2
        assert told(result.notes)


@pytest.mark.parametrize(
    ("to", "left"), [("imagefolder", 2), ("webdataset", 2), ("coco", 2), ("parquet", 0), ("hf", 0)]
)
def test_in_an_export(lake, tmp_path, to, left, capsys):
    assert main(["export", lake.uri, "images", "--to", to, str(tmp_path / "out")]) == 0
    out, err = capsys.readouterr()
    assert "note: 2 pictures could not be read and are NULL; the first: " in err
    assert out.startswith(f"{5 - left} rows written")
    assert ("2 left out because they have no picture" in out) == bool(left)


@pytest.mark.parametrize(
    ("uri", "how"),
    [
        ("https://example.org/a.jpg", "nothing is fetched but from what COUNTERBALANCE_PICTURES names"),
        ("/nowhere/named/a.jpg", "--images FOLDER"),
        ("shards/0.tar#a.jpg", "--store-images"),
    ],
)
def test_one_that_may_not_be_read_is_told_with_what_to_do(empty_lake, build, uri, how):
    empty_lake.ingest({"images": build.images(image_id=[1, 2], uri=[None, uri])})
    result = empty_lake.sql("SELECT image FROM images")
    assert [*result] == [(None,), (None,)]
    (note,) = result.notes
    assert f"are NULL, such as {uri}: " in note
    assert how in note
    plain = empty_lake.sql("SELECT uri FROM images")
    assert ([*plain], plain.notes) == ([(None,), (uri,)], [])

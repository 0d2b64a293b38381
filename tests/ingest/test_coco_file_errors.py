"""A file that is not what it says is one clear error that names it, what was found and what to do."""

from __future__ import annotations

import gzip
import json

import pytest

from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.coco import read

GOOD = json.dumps(
    {
        "images": [{"id": 1, "width": 640, "height": 480, "file_name": "a.jpg"}],
        "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": 1, "name": "person"}],
    }
).encode()
FILES = {
    "empty": (b"", "E4020", "is empty"),
    "blank": (b" \n\t ", "E4020", "is empty"),
    "gzip": (gzip.compress(GOOD, mtime=0), "E4020", "packed with gzip"),
    "zip": (b"PK\x03\x04" + GOOD, "E4020", "packed with zip"),
    "html": (b"<!DOCTYPE html><html>404</html>", "E4020", "HTML"),
    "lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "E4020", "Git LFS"),
    "parquet": (b"PAR1\x15\x04", "E4020", "Parquet"),
    "utf16": (GOOD.decode().encode("utf-16"), "E4020", "UTF-16"),
    "utf16-without-mark": (GOOD.decode().encode("utf-16-le"), "E4020", "UTF-16"),
    "results": (b'[{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4], "score": 0.5}]', "E4020", "JSON list"),
    "csv": (b"image_id,caption\n1,a man\n", "E4020", "begins with"),
    "number": (b"42", "E4020", "begins with"),
    "cut": (GOOD[:-40], "E4021", "cut short"),
    "two-documents": (GOOD + b"\n" + GOOD, "E4021", "ended before"),
    "json5": (b"{images: []}", "E4021", "double quotes"),
    "comment": (b'{"images": [] // none\n}', "E4021", "expected"),
    "twice": (b'{"images": [], "images": []}', "E4021", "second time"),
    "other-json": (b'{"name": "package", "version": 1}', "E4023", "neither images nor annotations"),
    "empty-object": (b"{}", "E4023", "neither images nor annotations"),
    "categories-only": (b'{"categories": [{"id": 1, "name": "x"}]}', "E4023", "neither"),
    "images-object": (b'{"images": {"1": {}}, "annotations": []}', "E4023", "not an array"),
    "annotations-null": (b'{"images": [], "annotations": null}', "E4023", "not an array"),
    "no-categories": (GOOD.replace(b"categories", b"kinds"), "E4023", "no array categories"),
    "categories-object": (GOOD.replace(b'[{"id": 1, "name": "person"}]', b'{"1": "person"}'), "E4023", "categories"),
    "nested": (b'{"images": [' + b"[" * 3000 + b"]" * 3000 + b"]}", "E4021", "nested"),
}


@pytest.mark.parametrize(("content", "code", "text"), FILES.values(), ids=FILES)
def test_one_clear_error(tmp_path, content, code, text):
    path = tmp_path / "captions_val2017.json"
    path.write_bytes(content)
    with pytest.raises(SourceError) as caught:
        list(read(str(path), ReadOptions()).chunks)
    assert caught.value.code == code
    assert text in caught.value.message
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert len(caught.value.message) < 400


def test_what_the_ends_show_is_told_before_anything_is_read(tmp_path):
    for name in ("empty", "gzip", "html", "results", "cut"):
        path = tmp_path / f"{name}.json"
        path.write_bytes(FILES[name][0])
        with pytest.raises(SourceError):
            read(str(path), ReadOptions())


def test_one_bad_file_of_many_stops_before_the_first_is_read(tmp_path):
    (tmp_path / "a.json").write_bytes(GOOD)
    (tmp_path / "b.json").write_bytes(GOOD[:-40])
    with pytest.raises(SourceError, match=r"b\.json is cut short"):
        read(str(tmp_path), ReadOptions())


def test_a_file_cut_anywhere_is_never_taken_for_whole(tmp_path):
    path = tmp_path / "x.json"
    for end in range(len(GOOD)):
        path.write_bytes(GOOD[:end])
        with pytest.raises(SourceError):
            list(read(str(path), ReadOptions()).chunks)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + GOOD, b"\n\n " + GOOD + b"\n\n", GOOD + b" " * 10_000])
def test_a_mark_and_blanks_around_are_fine(tmp_path, content):
    path = tmp_path / "x.json"
    path.write_bytes(content)
    (chunk,) = read(str(path), ReadOptions()).chunks
    assert {n: t.num_rows for n, t in chunk.tables.items()} == {"images": 1, "detections": 1}


def test_a_missing_source(tmp_path):
    (tmp_path / "captions_val2017.json").write_bytes(GOOD)
    with pytest.raises(NotFoundError, match=r"did you mean 'captions_val2017\.json'"):
        read(str(tmp_path / "captions_val2018.json"), ReadOptions())
    (tmp_path / "sub").mkdir()
    with pytest.raises(NotFoundError, match=r"no \*\.json in the folder"):
        read(str(tmp_path / "sub"), ReadOptions())


def test_a_file_that_vanishes_while_it_is_read_is_a_source_error(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(GOOD)
    source = read(str(path), ReadOptions())
    path.unlink()
    with pytest.raises(SourceError, match=r"no source at .*x\.json"):
        list(source.chunks)

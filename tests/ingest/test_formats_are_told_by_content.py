"""Without a format the content of a source tells it; what cannot be told, or is several, is said with what to type."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import tar_bytes
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import NotFoundError, SourceError
from counterbalance.engine.ingest_types import ReadOptions
from counterbalance.ingest.auto import Part, told


def picture(color="navy"):
    return image_bytes(Image.new("RGB", (8, 6), color))


def shard(path):
    path.write_bytes(tar_bytes([("a.png", picture()), ("a.txt", b"a caption")]))


COCO = {"images": [{"id": 1, "file_name": "a.png", "width": 8, "height": 6}], "annotations": []}


@pytest.mark.parametrize(
    ("name", "text", "format_", "why"),
    [
        ("a.json", json.dumps(COCO), "coco", "'images'"),
        ("a.json", json.dumps({"info": {}, "licenses": [], **COCO}), "coco", "'licenses'"),
        ("a.json", '{"url": "u", "caption": "c"}\n{"url": "v", "caption": "d"}\n', "laion", "url, caption"),
        ("a.csv", "URL,TEXT\nu,c\n", "laion", "URL, TEXT"),
        ("a.csv", "key,caption\nu,c\n", "laion", "key, caption"),
        ("a.tsv", "a cat\thttp://x/y.jpg\n", "laion", "no header"),
        ("a.jsonl", '{"image_id": 1, "attribute": "scene", "value": "in"}', "labels", "attribute, value"),
        ("a.csv", "file_name,scene,weather\na.png,in,dry\n", "labels", "file_name"),
        ("a.csv", "image_id,xmin,ymin,xmax,ymax\n1,0,0,1,1\n", "detections", "xmin, ymin, xmax, ymax"),
        ("a.csv", 'key,bbox,class\n1,"[0,0,1,1]",dog\n', "detections", "bbox"),
        ("a.csv", "id,caption_0,caption_1\n1,a,b\n", "counterfactuals", "caption_0, caption_1"),
        ("a.csv", "image_name| comment_number| comment\na.jpg| 0| a cat\n", "captions", "image_name,  comment"),
        ("a.jsonl", '{"image": "a.jpg", "caption": "a cat"}', "captions", "image, caption"),
        ("a.csv", "text\na cat\n", "captions", "columns text"),
    ],
)
def test_a_file(tmp_path, name, text, format_, why):
    (tmp_path / name).write_text(text)
    ((part,), notes) = told(str(tmp_path / name), ReadOptions())
    assert (part.format, part.uri, notes) == (format_, str(tmp_path / name), [])
    assert why in part.why
    assert name in part.why


def test_a_column_that_is_mapped_counts(tmp_path):
    (tmp_path / "a.csv").write_text("place,words\nhttp://x/a.jpg,a cat\n")
    with pytest.raises(SourceError, match="a table of other columns: place, words"):
        told(str(tmp_path / "a.csv"), ReadOptions())
    mapping = {"url": "place", "caption": "words"}
    assert told(str(tmp_path / "a.csv"), ReadOptions(mapping=mapping))[0][0].format == "laion"
    lake = cb.connect(tmp_path / "l.lake")
    assert lake.ingest(str(tmp_path / "a.csv"), mapping=mapping).written == 2


def test_parquet(tmp_path):
    pq.write_table(pa.table({"url": ["u"], "caption": ["c"]}), tmp_path / "a.parquet")
    assert told(str(tmp_path / "a.parquet"), ReadOptions())[0][0].format == "laion"


def test_a_folder_of_shards_with_what_was_written_beside_them(tmp_path):
    shard(tmp_path / "00000.tar")
    (tmp_path / "00000_stats.json").write_text("{}")
    pq.write_table(pa.table({"url": ["u"], "caption": ["c"]}), tmp_path / "00000.parquet")
    assert told(str(tmp_path), ReadOptions()) == ([Part("webdataset", str(tmp_path), "1 file of tar shards")], [])
    report = cb.connect(tmp_path / "l.lake").ingest(str(tmp_path / "*.tar"))
    assert (report.format, report.written) == ("webdataset", 2)


def test_a_shard_of_another_name(tmp_path):
    shard(tmp_path / "shard")
    assert told(str(tmp_path / "shard"), ReadOptions())[0][0].format == "webdataset"


def test_a_folder_of_pictures_with_metadata(tmp_path):
    (tmp_path / "dogs").mkdir()
    (tmp_path / "dogs" / "a.png").write_bytes(picture())
    (tmp_path / "dogs" / "b.png").write_bytes(picture("red"))
    (tmp_path / "dogs" / ".DS_Store").write_bytes(b"x")
    (tmp_path / "dogs" / "metadata.csv").write_text("file_name,caption\na.png,a dog\n")
    assert told(str(tmp_path / "dogs"), ReadOptions()) == (
        [Part("imagefolder", str(tmp_path / "dogs"), "2 pictures")],
        [],
    )
    report = cb.connect(tmp_path / "l.lake").ingest(str(tmp_path / "dogs"))
    assert (report.format, report.written) == ("imagefolder", 3)
    assert report.notes[0] == "read as imagefolder: 2 pictures"


@pytest.mark.parametrize(
    ("name", "data", "told_"),
    [
        ("notes.md", b"# a", "a table of other columns"),
        ("a.json", b"[1, 2]", "neither COCO's object nor"),
        ("a.json", b'{"images": 500}', "neither COCO's object nor"),
        ("a.csv", b"x,y\n1,2\n", "a table of other columns: x, y"),
    ],
)
def test_what_cannot_be_told(tmp_path, name, data, told_):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(SourceError, match=told_) as caught:
        told(str(tmp_path / name), ReadOptions())
    assert caught.value.code == "E4014"
    assert "--format" in caught.value.hint


def test_a_folder_of_other_things(tmp_path):
    for name in ("a.md", "b.md", "c.py"):
        (tmp_path / name).write_text("x")
    with pytest.raises(SourceError, match=r"nothing that is known to be read \(2 .md, 1 .py\)"):
        told(str(tmp_path), ReadOptions())


def test_what_is_not_there(tmp_path):
    with pytest.raises(NotFoundError):
        told(str(tmp_path / "nowhere"), ReadOptions())


def test_the_command(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("URL,TEXT\nhttp://x/a.jpg,a cat\n")
    assert main(["ingest", str(tmp_path / "l.lake"), str(tmp_path / "a.csv")]) == 0
    out, err = capsys.readouterr()
    assert "(laion)" in out
    assert "note: read as laion: a.csv has columns URL, TEXT" in err
    assert main(["ingest", str(tmp_path / "l.lake"), str(tmp_path / "a.csv"), "--format", "laion"]) == 0
    out, err = capsys.readouterr()
    assert "nothing changed" in out
    assert err == ""


def test_rows_in_memory_need_no_format(tmp_path):
    report = cb.connect(tmp_path / "l.lake").ingest({"images": pa.table({"image_id": [1], "key": ["1"]})})
    assert (report.format, report.written) == ("arrow", 1)

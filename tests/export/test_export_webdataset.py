"""``export --to webdataset``: the library reads the rows back, pictures keep every byte, shards keep their size."""

from __future__ import annotations

import io
import json
import tarfile

import pyarrow as pa
import pytest
import webdataset
from image_files import image_bytes
from PIL import Image, PngImagePlugin

import counterbalance as cb
from counterbalance.engine.errors import RequestError

# the library leaves shards open
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description '
    'xmlns:e="http://iptc.org/std/Iptc4xmpExt/2008-02-29/" e:DigitalSourceType='
    '"http://cv.iptc.org/newscodes/digitalsourcetype/trainedAlgorithmicMedia"/></rdf:RDF></x:xmpmeta>'
)


def picture(colour, kind="PNG", xmp=None):
    info = PngImagePlugin.PngInfo()
    if xmp:
        info.add_itxt("XML:com.adobe.xmp", xmp)
    return image_bytes(Image.new("RGB", (24, 16), colour), kind, **({"pnginfo": info} if kind == "PNG" else {}))


PICTURES = [picture((40 * i, 0, 0), "JPEG" if i == 2 else "PNG", XMP if i == 1 else None) for i in range(5)]
TEXTS = ["=1+1", "a man\nrides", "ünï", None, "last"]


@pytest.fixture
def lake(empty_lake):
    images = pa.table(
        {
            "image_id": [10, 11, 12, 13, 14],
            "key": ["10", "11", "12", "13", "14"],
            "license": ["CC BY", None, "CC0", None, "CC BY"],
            "image": pa.array(PICTURES, pa.binary()),
        }
    )
    captions = pa.table({"caption_id": [1, 2, 3, 5], "image_id": [10, 11, 12, 14], "text": [t for t in TEXTS if t]})
    empty_lake.ingest({"images": images, "captions": captions})
    return empty_lake


def read(folder):
    shards = sorted(str(p) for p in folder.glob("*.tar"))
    return list(webdataset.WebDataset(shards, shardshuffle=False, empty_check=False))


def test_the_library_reads_the_rows_back(lake, tmp_path):
    sql = "SELECT i.image_id, i.license, i.image, c.text FROM images i LEFT JOIN captions c USING (image_id) ORDER BY 1"
    done = lake.export(sql, tmp_path / "out", "webdataset", shard_size=2)
    assert (done.rows, done.skipped, done.shards) == (5, 0, 3)
    found = read(tmp_path / "out")
    assert [s["__key__"] for s in found] == ["10", "11", "12", "13", "14"]
    assert [s.get("png", s.get("jpg")) for s in found] == PICTURES
    assert ["jpg" in s for s in found] == [False, False, True, False, False]
    assert [s["txt"].decode() if "txt" in s else None for s in found] == TEXTS
    assert [json.loads(s["json"])["license"] for s in found] == ["CC BY", None, "CC0", None, "CC BY"]


def test_embedded_metadata_stays(lake, tmp_path):
    lake.export("images", tmp_path / "out", "webdataset")
    data = read(tmp_path / "out")[1]["png"]
    assert Image.open(io.BytesIO(data)).text["XML:com.adobe.xmp"] == XMP


def test_the_same_rows_give_the_same_bytes(lake, tmp_path):
    for name in ("a", "b"):
        lake.export("images", tmp_path / name, "webdataset")
    first, second = ((tmp_path / n / "shard-00000.tar").read_bytes() for n in "ab")
    assert first == second


def test_it_is_ingested_again_as_it_was(lake, tmp_path):
    lake.export("images", tmp_path / "out", "webdataset")
    again = cb.connect("memory://test-webdataset-again")
    report = again.ingest(str(tmp_path / "out"), format="webdataset")
    assert report.rejected == 0
    for sql in (
        "SELECT image_id, key, license FROM images ORDER BY 1",
        "SELECT image_id, text FROM captions ORDER BY 1, 2",
    ):
        assert again.sql(sql).fetchall() == lake.sql(sql).fetchall()
    with again.session(with_bytes=True) as session:
        assert [r[0] for r in session.sql("SELECT image FROM images ORDER BY image_id")] == PICTURES


def test_shards_keep_to_bytes(lake, tmp_path):
    done = lake.export("images", tmp_path / "out", "webdataset", shard_size="2000B")
    assert done.shards > 1
    for path in (tmp_path / "out").glob("*.tar"):
        with tarfile.open(path) as tar:
            assert len([m for m in tar.getnames() if m.endswith(".json")]) <= 2


def test_several_captions_are_a_list(lake, tmp_path):
    sql = "SELECT image_id, image, ['one', 'two'] AS captions FROM images WHERE image_id = 10"
    lake.export(sql, tmp_path / "out", "webdataset")
    (sample,) = read(tmp_path / "out")
    assert "txt" not in sample
    assert json.loads(sample["json"])["caption"] == ["one", "two"]


def test_further_pictures_stand_beside(lake, tmp_path):
    sql = "SELECT a.image_id, a.image, b.image AS source FROM images a JOIN images b ON b.image_id = 11 WHERE a.image_id = 12"
    lake.export(sql, tmp_path / "out", "webdataset")
    (sample,) = read(tmp_path / "out")
    assert (sample["jpg"], sample["source.png"]) == (PICTURES[2], PICTURES[1])


def test_rows_without_a_picture_are_left_out_and_counted(lake, tmp_path):
    sql = "SELECT image_id, CASE WHEN image_id > 11 THEN image END AS image FROM images"
    done = lake.export(sql, tmp_path / "out", "webdataset")
    assert (done.rows, done.skipped) == (3, 2)


def test_rows_without_any_picture_are_refused(lake, tmp_path):
    with pytest.raises(RequestError, match="no pictures") as told:
        lake.export("captions", tmp_path / "out", "webdataset")
    assert told.value.code == "E3672"
    assert not (tmp_path / "out").exists()


def test_pictures_that_are_not_stored_are_told(empty_lake, build, tmp_path):
    empty_lake.ingest({"images": build.images(image_id=[1, 2], key=["1", "2"])})
    done = empty_lake.export("images", tmp_path / "out", "webdataset")
    assert (done.rows, done.skipped) == (0, 2)
    assert done.notes == [
        "no picture of these rows is in the lake or where their uri says; ingest once more with --images FOLDER"
    ]


def test_values_of_all_types_are_json(lake, tmp_path):
    sql = (
        "SELECT image_id, image, 1.25 AS d, CAST('nan' AS DOUBLE) AS n, DATE '2026-01-02' AS day, [1, NULL] AS l, "
        "{'a': 'x'} AS s, CAST(9007199254740993 AS BIGINT) AS big, true AS b FROM images WHERE image_id = 10"
    )
    lake.export(sql, tmp_path / "out", "webdataset")
    (sample,) = read(tmp_path / "out")
    assert json.loads(sample["json"]) == {
        "image_id": 10,
        "d": 1.25,
        "n": None,
        "day": "2026-01-02",
        "l": [1, None],
        "s": {"a": "x"},
        "big": 9007199254740993,
        "b": True,
    }

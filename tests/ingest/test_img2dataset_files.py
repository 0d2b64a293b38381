"""Pictures that img2dataset left as files are images with their captions, once each, and its folders are no classes."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import counterbalance as cb


@pytest.fixture
def folder(tmp_path):
    """Two shards of two downloads each, of which the last one failed."""
    out = tmp_path / "version.1"
    for shard in ("00000", "00001"):
        (out / shard).mkdir(parents=True)
        keys = [f"{shard}{n:04d}" for n in range(2)]
        there = keys[:1] if shard == "00001" else keys
        for key in there:
            Image.new("RGB", (8, 6)).save(out / shard / f"{key}.jpg")
            (out / shard / f"{key}.txt").write_text(f"a cat {key}")
            (out / shard / f"{key}.json").write_text(json.dumps({"key": key, "caption": f"a cat {key}"}))
        table = {
            "url": [f"http://h/{k}" for k in keys],
            "caption": [f"a cat {k}" for k in keys],
            "key": keys,
            "status": ["success" if k in there else "failed_to_download" for k in keys],
        }
        pq.write_table(pa.table(table), out / f"{shard}.parquet")
        (out / f"{shard}_stats.json").write_text("{}")
    return out


def test_files(folder, tmp_path):
    lake = cb.connect(tmp_path / "a.lake")
    report = lake.ingest(folder)
    found = lake.sql("SELECT key, width, text FROM images JOIN captions USING (image_id) ORDER BY key").fetchall()
    assert found == [
        ("00000/000000000.jpg", 8, "a cat 000000000"),
        ("00000/000000001.jpg", 8, "a cat 000000001"),
        ("00001/000010000.jpg", 8, "a cat 000010000"),
        ("000010001", None, "a cat 000010001"),
    ]
    assert lake.sql("SELECT count(*) FROM labels").fetchall() == [(0,)]
    assert lake.sql("SELECT DISTINCT origin FROM captions").fetchall() == [("alt_text",)]
    assert not [note for note in report.notes if ".json" in note and "left out" in note]
    assert "1 image that captions name is not among the pictures beside them" in report.notes
    assert lake.ingest(folder).changed == 0


def test_a_folder_whose_name_has_a_dot_keeps_its_sidecars(tmp_path):
    import webdataset

    out = tmp_path / "version.1"
    out.mkdir()
    with webdataset.TarWriter(str(out / "00000.tar")) as tar:
        tar.write({"__key__": "000000000", "jpg": Image.new("RGB", (8, 6)), "txt": "a cat"})
    pq.write_table(pa.table({"url": ["http://h/0"], "caption": ["a cat"], "key": ["000000000"]}), out / "00000.parquet")
    (out / "00000_stats.json").write_text("{}")
    report = cb.connect(tmp_path / "a.lake").ingest(out)
    assert (report.by_table["images"].written, report.by_table["captions"].written) == (1, 1)

"""Whatever is written to a path takes file:// before it; another protocol is refused before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import RequestError

COMMANDS = {
    "export": ["export", "LAKE", "SELECT caption_id, text FROM captions", "OUT", "--to", "parquet"],
    "sql": ["sql", "LAKE", "SELECT 1 AS one", "-o", "OUT", "--format", "csv"],
    "sample": ["sample", "OUT", "--images", "4"],
    "report": ["report", "BARE", "-o", "OUT.html"],
}


@pytest.fixture
def place(tmp_path, build):
    """A folder with a lake of one caption, and one of an image alone, whose report is quick."""
    lake = cb.connect(tmp_path / "small.lake")
    rows = build.captions(caption_id=[1], image_id=[1], text=["a cat"])
    lake.ingest({"images": build.images(image_id=[1], key=["1"]), "captions": rows})
    lake.close()
    cb.connect(tmp_path / "bare.lake").ingest({"images": build.images(image_id=[1], key=["1"])})
    return tmp_path


def words(command, place, out):
    return [
        w.replace("LAKE", str(place / "small.lake")).replace("BARE", str(place / "bare.lake")).replace("OUT", out)
        for w in COMMANDS[command]
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_uri_is_its_path(command, place):
    out = place / "made" / "x"
    out.parent.mkdir()
    assert main(words(command, place, f"file://{out}")) == 0
    assert [p.name.partition(".")[0] for p in out.parent.iterdir()] == ["x"]
    assert not list(place.glob("file:*"))


@pytest.mark.parametrize("command", COMMANDS)
def test_another_protocol_is_refused(command, place, capsys):
    before = sorted(place.iterdir())
    assert main(words(command, place, "s3://bucket/x")) != 0
    told = capsys.readouterr().err
    assert "s3://bucket/x" in told
    assert "is not a path of this machine" in told
    assert sorted(place.iterdir()) == before


def test_python_takes_them_as_text_and_as_paths(place):
    lake = cb.connect(place / "small.lake")
    for number, form in enumerate((str, Path)):
        lake.export("SELECT caption_id FROM captions", form(f"file://{place}/p{number}"), "parquet")
        assert list((place / f"p{number}").glob("*.parquet"))
    for elsewhere in ("gs://bucket/x", "file://host/x", "file:rel", "FILE:rel"):
        with pytest.raises(RequestError, match="is not a path of this machine") as caught:
            lake.export("captions", elsewhere, "parquet")
        assert caught.value.code == "E3681"
    lake.close()

"""``counterbalance verify`` writes findings to stdout, the rest to stderr, and its exit code tells."""

from __future__ import annotations

import json

import pytest

import counterbalance as cb
from counterbalance.__main__ import main


@pytest.fixture
def lake(tmp_path, build):
    lake = cb.connect(tmp_path / "x.lake")
    lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    lake.ingest({"images": build.images(image_id=[3], key=["c"])})
    return lake


@pytest.fixture
def damaged(lake):
    (path,) = [
        p
        for p in (lake.location.path / "images.lance" / "_versions").glob("*.manifest")
        if p.name.endswith("13.manifest")
    ]
    path.unlink()
    return path


def verify(lake, capsys, *words):
    code = main(["verify", lake.uri, "--progress", "never", *words])
    return code, *capsys.readouterr()


def test_a_sound_lake(lake, capsys):
    code, out, err = verify(lake, capsys)
    assert (code, err) == (0, "")
    assert out.endswith("all are what was written\n")


def test_a_table_of_findings(lake, damaged, capsys):
    code, out, _ = verify(lake, capsys)
    assert code == 4
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["kind", "table", "version", "file", "problem"]
    assert rows[2][:4] == ["reverted", "images", "2", f"_versions/{damaged.name}"]
    assert "1 damaged or lost" in out


def test_json(lake, damaged, capsys):
    code, out, _ = verify(lake, capsys, "--format", "json")
    assert code == 4
    assert json.loads(out) == [
        {
            "kind": "reverted",
            "table": "images",
            "version": "2",
            "file": f"_versions/{damaged.name}",
            "problem": "the newest version is lost: readers would get version 1",
        }
    ]
    damaged.touch()


def test_json_of_a_sound_lake(lake, capsys):
    code, out, _ = verify(lake, capsys, "--json")
    assert (code, json.loads(out)) == (0, [])


def test_accept(lake, damaged, capsys):
    assert main(["sql", lake.uri, "SELECT count(*) FROM images"]) == 1
    told = capsys.readouterr().err
    assert "error[E6018]: table 'images' " in told
    assert "counterbalance verify" in told
    assert verify(lake, capsys, "--accept")[0] == 4
    assert verify(lake, capsys)[0] == 0
    assert main(["sql", lake.uri, "SELECT count(*) AS n FROM images", "--csv"]) == 0
    assert capsys.readouterr().out == "n\n2\n"


def test_no_lake(tmp_path, capsys):
    assert main(["verify", str(tmp_path / "none.lake")]) == 1
    assert "E1005" in capsys.readouterr().err

"""The folder of an export: refused where it holds something, whole files only, restarted after a kill, no way out of it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest
from repeats import again

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import BusyError, CounterbalanceError, NotFoundError, RequestError
from counterbalance.export.folder import Folder
from counterbalance.export.names import stem

PROGRAM = Path(__file__).parents[1] / "programs" / "export_and_die.py"
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(200)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    lake = cb.connect(tmp_path_factory.mktemp("export") / "many.lake")
    ids = list(range(1, 751))
    images = {"image_id": ids, "key": [str(i) for i in ids], "image": pa.array([PICTURE] * len(ids), pa.binary())}
    lake.ingest({"images": pa.table(images)})
    return lake


def everything(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("last", [3, *again(1)])
def test_a_killed_export_leaves_whole_shards_and_starts_again(lake, tmp_path, last):
    out = tmp_path / "out"
    words = [sys.executable, str(PROGRAM), lake.uri, "images", str(out), "webdataset", str(last)]
    killed = subprocess.run(words, cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    left = sorted(out.glob("*.tar"))
    assert left
    for path in left:
        with tarfile.open(path) as tar:
            assert len([m for m in tar.getnames() if m.endswith(".png")]) == 100
    assert not (out / "DATASHEET.md").exists()  # what is not whole has no datasheet
    done = lake.export("images", out, "webdataset", shard_size=300)  # another size: what was there is gone
    assert (done.rows, done.shards) == (750, 3)
    assert sorted(p.name for p in out.iterdir()) == [
        ".counterbalance-export.json",
        "DATASHEET.md",
        "croissant.json",
        *(f"shard-0000{n}.tar" for n in range(3)),
    ]


def test_a_folder_that_holds_something_is_refused(lake, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    for overwrite, code in ((False, "E3670"), (True, "E3671")):
        with pytest.raises(RequestError) as told:
            lake.export("images", tmp_path, "parquet", overwrite=overwrite)
        assert told.value.code == code
    assert everything(tmp_path) == {"mine.txt": b"mine"}


def test_an_earlier_export_is_replaced_when_asked_for(lake, tmp_path):
    out = tmp_path / "out"
    lake.export("SELECT image_id FROM images", out, "parquet", shard_size=100)
    before = everything(out)
    with pytest.raises(RequestError, match="not empty"):
        lake.export("images", out, "webdataset")
    assert everything(out) == before
    lake.export("SELECT image_id, image FROM images LIMIT 5", out, "imagefolder", overwrite=True)
    assert sorted(everything(out)) == sorted(
        [
            ".counterbalance-export.json",
            "DATASHEET.md",
            "croissant.json",
            "metadata.jsonl",
            *(f"{n}.png" for n in range(1, 6)),
        ]
    )
    (out / "notes.txt").write_text("mine")
    with pytest.raises(RequestError) as told:
        lake.export("images", out, "webdataset", overwrite=True)
    assert told.value.code == "E3671"
    assert (out / "1.png").exists()


@pytest.mark.parametrize(
    "key",
    [
        "../x",
        "/etc/passwd",
        "a/../../b",
        "a//b",
        "..",
        "",
        "C:\\x",
        "a\\b",
        "a\nb",
        ".hidden",
        "a/.partial/b",
        ".partial/names",
        "~root",
        "http://a/b",
        "x" * 300,
        "a\u202eb",
        "a/b .",
        'a"b',
    ],
)
def test_no_such_key_names_a_file(key):
    with pytest.raises(RequestError) as told:
        stem(key)
    assert told.value.code == "E3673"


@pytest.mark.parametrize("to", ["webdataset", "imagefolder", "coco"])
def test_keys_that_lead_out_of_the_folder_are_refused(lake, tmp_path, to):
    sql = "SELECT image_id, image, '../x' AS edit_id FROM images WHERE image_id = 1"
    with pytest.raises(RequestError) as told:
        lake.export(sql, tmp_path / "out", to, key=None if to != "coco" else "edit_id")
    assert told.value.code == "E3673"
    assert not list(tmp_path.iterdir())


def test_splits_that_lead_out_are_refused_too(lake, tmp_path):
    sql = "SELECT image_id, image, '../..' AS split FROM images WHERE image_id = 1"
    with pytest.raises(RequestError, match="cannot name a file"):
        lake.export(sql, tmp_path / "out", "coco")


@pytest.mark.parametrize(("to", "keys"), [("webdataset", ("a", "a")), ("imagefolder", ("A.png", "a.jpg"))])
def test_names_are_there_once(lake, tmp_path, to, keys):
    sql = f"SELECT CASE image_id WHEN 1 THEN '{keys[0]}' ELSE '{keys[1]}' END AS key, image FROM images LIMIT 2"
    with pytest.raises(RequestError, match="two rows are named") as told:
        lake.export(sql, tmp_path / "out", to)
    assert told.value.code == "E3674"


def test_an_export_that_fails_leaves_nothing(lake, tmp_path):
    """Neither shards that were whole already nor what was begun; a folder that was there stays, and takes another export."""
    out = tmp_path / "out"
    out.mkdir()
    sql = "SELECT image, CASE image_id WHEN 750 THEN '1' ELSE CAST(image_id AS VARCHAR) END AS key FROM images"
    seen = []
    with pytest.raises(RequestError, match="two rows are named"):
        lake.export(
            sql,
            out,
            "webdataset",
            shard_size=100,
            progress=lambda _: seen.append(sorted(p.name for p in out.iterdir())),
        )
    assert "shard-00000.tar" in seen[-1]
    assert not list(out.iterdir())
    assert lake.export("images", out, "webdataset").rows == 750


def test_a_second_export_to_the_same_folder_waits_for_nobody(lake, tmp_path):
    with Folder(tmp_path / "out"), pytest.raises(BusyError):
        lake.export("images", tmp_path / "out", "parquet")


@pytest.mark.parametrize(
    ("what", "options", "kind", "code"),
    [
        ("images", {"shard_size": "many"}, RequestError, "E3676"),
        ("images", {"shard_size": 0}, RequestError, "E3676"),
        ("images", {"key": "kez"}, NotFoundError, "E1270"),
        ("SELECT image AS a, image AS b FROM images", {}, RequestError, "E3672"),
        ("DROP MATERIALIZED VIEW v", {}, RequestError, "E3678"),
        ("nothing", {}, CounterbalanceError, None),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_written(lake, tmp_path, what, options, kind, code):
    with pytest.raises(kind) as told:
        lake.export(what, tmp_path / "out", "parquet", **options)
    assert code in {None, told.value.code}
    assert not (tmp_path / "out").exists()


def test_a_place_elsewhere_is_no_folder(lake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match="not a path of this machine"):
        lake.export("images", "s3://bucket/out", "parquet")
    assert not list(tmp_path.iterdir())


def test_an_unknown_target_is_told_with_those_there_are(lake, tmp_path):
    with pytest.raises(NotFoundError, match="did you mean 'parquet'") as told:
        lake.export("images", tmp_path / "out", "parqet")
    assert told.value.hint == "targets: coco, hf, imagefolder, parquet, webdataset"


def test_the_command_tells_what_it_wrote(lake, tmp_path, capsys):
    out = tmp_path / "out"
    words = ["export", lake.uri, "SELECT image_id, image FROM images LIMIT 3", str(out), "--to", "webdataset"]
    assert main([*words, "--progress", "never"]) == 0
    assert f"3 rows written to {out} (webdataset, 1 part" in capsys.readouterr().out
    assert main([*words, "--overwrite", "--json", "--progress", "never"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {k: said[k] for k in ("rows", "skipped", "shards", "to")} == {
        "rows": 3,
        "skipped": 0,
        "shards": 1,
        "to": "webdataset",
    }
    assert main([*words, "--progress", "never"]) == 1
    assert "is not empty" in capsys.readouterr().err

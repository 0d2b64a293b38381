"""``counterbalance errors --summary`` counts what was refused by its code, with an example."""

from __future__ import annotations

import json

import pytest
from PIL import Image

from counterbalance.__main__ import main


@pytest.fixture
def lake(tmp_path, capsys):
    folder = tmp_path / "pictures"
    folder.mkdir()
    Image.new("RGB", (8, 8)).save(folder / "good.png")
    for name, data in {"a.jpg": b"text", "b.jpg": b"text", "c.jpg": b""}.items():
        (folder / name).write_bytes(data)
    uri = str(tmp_path / "a.lake")
    assert main(["ingest", uri, str(folder)]) == 0
    capsys.readouterr()
    return uri


def counted(capsys, *words):
    assert main(["errors", *words, "--summary", "--json"]) == 0
    return [(row["code"], row["n"]) for row in json.loads(capsys.readouterr().out)]


def test_by_code(lake, capsys):
    assert counted(capsys, lake) == [("not_an_image", 2), ("empty_image", 1)]


def test_of_one_code(lake, capsys):
    assert counted(capsys, lake, "--code", "empty_image") == [("empty_image", 1)]

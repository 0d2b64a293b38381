"""Whatever lists columns lists those of pictures, and nothing that the engine keeps for itself."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from PIL import Image

import counterbalance as cb

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = ["image_id", "key", "split", "uri", "width", "height", "license", "nsfw", "source", "sha256"]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> cb.Lake:
    """A lake with codes (of split) and stamps (of a generated column) beside what is to be seen."""
    folder: Path = tmp_path_factory.mktemp("listed")
    Image.new("RGB", (10, 8)).save(folder / "a.png")
    lake = cb.connect(folder / "a.lake")
    lake.ingest(str(folder), format="imagefolder", store_images=True)
    lake.add_column("images", "ratio", "width / height")
    lake.refresh()
    return lake


def cbal(*words: str, text: str = "") -> str:
    command = [sys.executable, "-m", "counterbalance", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, input=text).stdout


def test_describe_of_a_table(lake: cb.Lake) -> None:
    rows = lake.sql("DESCRIBE images").fetchall()
    assert [r[0] for r in rows] == [*COLUMNS, "ratio", "image"]
    assert rows[-1][1] == "BLOB"


def test_describe_of_a_query_is_of_its_star(lake: cb.Lake) -> None:
    assert [r[0] for r in lake.sql("DESCRIBE SELECT * FROM images").fetchall()] == [*COLUMNS, "ratio"]


def test_lists_of_the_shell_and_of_tables(lake: cb.Lake) -> None:
    columns = [*COLUMNS, "image", "ratio"]
    listed = [line.split() for line in cbal("sql", lake.uri, text=".schema images").splitlines()[1:]]
    assert [words[0] for words in listed] == columns
    assert ["image", "binary"] in listed
    tables = cb.connect(lake.uri).session().relations()
    assert next([n for n, _ in r.columns] for r in tables if r.name == "images") == columns
    assert ", ".join(columns) in cbal("tables", lake.uri)


def test_meta_columns(lake: cb.Lake) -> None:
    rows = lake.sql("SELECT column_name FROM meta.columns WHERE table_name = 'images'").fetchall()
    assert [r[0] for r in rows] == [*COLUMNS, "image", "ratio"]


@pytest.mark.parametrize("select", ["*, image", "COLUMNS('.*'), image", "image, COLUMNS('.*')", "image, images.*"])
def test_nothing_internal_is_selected_beside_them(lake: cb.Lake, select: str) -> None:
    assert {*lake.sql(f"SELECT {select} FROM images").columns} <= {*COLUMNS, "ratio", "image", "image_1"}


@pytest.mark.parametrize("name", ["split__code", "ratio__v", "_rowid"])
def test_nothing_internal_can_be_named_beside_them(lake: cb.Lake, name: str) -> None:
    with pytest.raises(cb.CounterbalanceError, match=f"no column '{name}'"):
        lake.sql(f"SELECT image, {name} FROM images").fetchall()

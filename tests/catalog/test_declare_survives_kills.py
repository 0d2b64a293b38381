"""Killed at any step of a declaration or a drop, the lake works: it can be read, the statement said again, and refreshed."""

from __future__ import annotations

import shutil
import signal

import pytest
from declaring import declare

import counterbalance as cb
from counterbalance.engine.catalog import definitions
from counterbalance.engine.store import tables

ADD = "ALTER TABLE captions ADD COLUMN IF NOT EXISTS size AS (length(text))"
VIEW = "CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH (key = 'image_id') AS SELECT image_id, count(*) AS n FROM captions GROUP BY 1"


@pytest.fixture
def path(disk_lake, build):
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["one", "two", "three"]),
        }
    )
    return disk_lake.uri


@pytest.fixture(scope="module")
def refreshed(tmp_path_factory, build):
    lake = cb.connect(tmp_path_factory.mktemp("kills") / "test.lake")
    lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"]),
            "captions": build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 2], text=["one", "two", "three"]),
        }
    )
    declare(lake, ADD)
    declare(lake, VIEW)
    lake.refresh(executor="inline")
    return lake.uri


def killed(spawn, path, text, step):
    process = spawn("declare_killed", path, text, step)
    out, err = process.communicate(timeout=500)
    assert (process.returncode, out) == (-signal.SIGKILL, ""), err


@pytest.mark.cases(2)
@pytest.mark.parametrize("step", ["definition", "column", "stored", "end"])
def test_add_column(spawn, path, step, record_property):
    record_property("kills", 1)
    killed(spawn, path, ADD, step)
    lake = cb.connect(path)
    assert lake.sql("SELECT text FROM captions ORDER BY caption_id").fetchall() == [("one",), ("two",), ("three",)]
    is_declared = "captions.size" in definitions.load(lake.location).by_target
    has_column = "size" in tables.open_table(lake.location, "captions").schema.names
    assert is_declared or not has_column  # nothing is stored that nobody declared
    assert is_declared is (step != "definition")
    declare(lake, ADD)
    lake.refresh(executor="inline")
    assert lake.sql("SELECT size FROM captions ORDER BY caption_id").fetchall() == [(3,), (3,), (5,)]


@pytest.mark.cases(1)
@pytest.mark.parametrize("step", ["definition", "end"])
def test_create_view(spawn, path, step, record_property):
    record_property("kills", 1)
    killed(spawn, path, VIEW, step)
    lake = cb.connect(path)
    assert lake.sql("SELECT count(*) FROM captions").fetchall() == [(3,)]
    assert ("v" in definitions.load(lake.location).by_target) is (step == "end")
    declare(lake, VIEW)
    lake.refresh(executor="inline")
    assert lake.sql("SELECT * FROM v ORDER BY 1").fetchall() == [(1, 2), (2, 1)]


@pytest.mark.cases(1)
@pytest.mark.parametrize("step", ["stored", "end"])
@pytest.mark.parametrize("text", ["ALTER TABLE captions DROP COLUMN size", "DROP MATERIALIZED VIEW v"])
def test_drop(spawn, refreshed, tmp_path, step, text, record_property):
    record_property("kills", 1)
    path = shutil.copytree(refreshed, tmp_path / "test.lake")
    killed(spawn, path, text, step)
    target = "v" if "VIEW" in text else "captions.size"
    lake = cb.connect(path)
    assert lake.sql("SELECT text FROM captions ORDER BY caption_id").fetchall() == [("one",), ("two",), ("three",)]
    is_declared = target in definitions.load(lake.location).by_target
    assert is_declared is (step != "end")
    if is_declared:  # it is computed again, as any column or view that is missing
        lake.refresh(executor="inline")
        assert lake.sql("SELECT size FROM captions ORDER BY caption_id").fetchall() == [(3,), (3,), (5,)]
        assert lake.sql("SELECT * FROM v ORDER BY 1").fetchall() == [(1, 2), (2, 1)]
    else:
        view, captions = (tables.open_table(lake.location, name) for name in ("v", "captions"))
        assert (view is None, "size" not in captions.schema.names) == ("VIEW" in text, "COLUMN" in text)
        declare(lake, ADD)
        declare(lake, VIEW)

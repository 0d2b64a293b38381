"""On an object store closed views are made under the closed prefix; a table with rows is not moved, but refused."""

from __future__ import annotations

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.catalog import definitions
from counterbalance.engine.catalog.definitions import Definition
from counterbalance.engine.errors import RefusedError, SensitiveError
from counterbalance.engine.store import enclosing, location

WHY = "a test of object stores"


@pytest.fixture
def stored(s3_lake, build):
    ids = [1, 2, 3]
    s3_lake.ingest(
        {
            "images": build.images(image_id=ids, key=["a", "b", "c"]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["one", "two", "three"]),
        }
    )
    return s3_lake


def places(lake):
    system, root = lake.location.filesystem()
    system.invalidate_cache()
    found = {p.removeprefix(root + "/").rpartition(".lance/")[0] for p in system.find(root)}
    return {p.partition(".lance/")[0] for p in found if "meta/" not in p}


def test_a_view(stored, why):
    """It is made, found by another process, and dropped."""
    stored.create_materialized_view("v", "SELECT caption_id, text FROM captions", "caption_id", sensitive=True)
    stored.add_column("v", "loud", "upper(text)", purpose=why)
    stored.refresh(executor="inline")
    assert {"images", "captions", "sensitive/tables/v"} <= places(stored)
    assert not {"v"} & places(stored)
    with pytest.raises(SensitiveError):
        stored.sql("FROM v").fetchall()
    assert stored.sql("SELECT max(loud) FROM v", sensitive=WHY).fetchall() == [("TWO",)]
    location._enclosed[stored.location.root] = frozenset()  # what another process knows, that looked before
    assert stored.sql("SELECT count(*) FROM v", sensitive=WHY).fetchall() == [(3,)]
    stored.drop_materialized_view("v", cascade=True)
    assert stored.sql("SELECT count(*) FROM captions").fetchall() == [(3,)]


@pytest.mark.thorough
def test_a_column_of_a_table_with_rows(stored):
    with pytest.raises(RefusedError, match="lies open on an object store") as caught:
        stored.add_column("captions", "gender", "upper(text)")
    assert caught.value.code == "E3241"
    assert "declare a view of captions" in caught.value.hint
    assert "gender" not in stored.sql("FROM captions").columns
    assert len(stored.sql("FROM meta.lineage").fetchall()) == 0


@pytest.mark.thorough
def test_a_column_of_a_table_without_rows(s3_lake, build):
    s3_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    s3_lake.add_column("captions", "gender", "upper(text)")
    s3_lake.ingest({"captions": build.captions(caption_id=[1], image_id=[1], text=["one"])})
    s3_lake.refresh(executor="inline")
    assert {"images", "sensitive/tables/captions"} <= places(s3_lake)
    assert s3_lake.sql("SELECT text FROM captions").fetchall() == [("one",)]


@pytest.mark.thorough
def test_what_an_earlier_release_left_open_stays_and_is_told(stored, build, capsys):
    gender = Definition("column", "captions", "gender", "upper(text)", reads=(("captions", "text"),), sensitive=True)
    definitions.declare(stored.location, gender)
    stored.ingest({"captions": build.captions(caption_id=[9], image_id=[1], text=["nine"])})
    stored.refresh(executor="inline")
    assert stored.sql("SELECT count(*) FROM captions").fetchall() == [(4,)]
    assert "gender" not in stored.sql("FROM captions").columns
    assert main(["status", stored.uri]) == 0
    assert "nothing is moved on an object store" in capsys.readouterr().err


def test_a_lake_in_memory_has_one_place(lake):
    lake.add_column("captions", "gender", "upper(text)")
    lake.refresh(executor="inline")
    assert enclosing.lies_open(lake.location, ["captions"]) == []
    assert "gender" not in lake.sql("FROM captions").columns
    assert len(lake.sql("SELECT gender FROM captions", sensitive=WHY).fetchall()) == 8

"""The folder of a lake is a LanceDB database: other tools open its tables without this package."""

from __future__ import annotations

import sys

import lance
import pytest

from counterbalance.engine.errors import RequestError


@pytest.fixture
def coco(disk_lake, build):
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2], key=["a", "b"], split=["s", None], image=[b"\xff\xd8 jpeg", None]),
            "captions": build.captions(
                caption_id=[1, 2, 3], image_id=[1, 1, 2], text=["a", "b", None], origin=["human", "human", "alt_text"]
            ),
            "labels": build.labels(label_id=[1], image_id=[1], attribute=["race"], value=["hidden value"]),
        }
    )
    return disk_lake


def test_lancedb(coco):
    import lancedb

    database = lancedb.connect(coco.uri)
    assert {"images", "captions"} <= set(database.list_tables().tables)
    table = database.open_table("captions")
    assert table.count_rows() == 3
    assert table.count_rows("origin = 'human'") == 2
    rows = table.search().where("image_id = 1").select(["caption_id", "text"]).limit(10).to_arrow()
    assert sorted(zip(*(rows[c].to_pylist() for c in ("caption_id", "text")), strict=True)) == [(1, "a"), (2, "b")]


def test_without_lancedb_the_extra_is_named(coco, monkeypatch):
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(RequestError, match="LanceDB is not installed") as raised:
        coco.lancedb()
    assert (raised.value.code, raised.value.hint) == ("E3480", "pip install 'counterbalance[lancedb]'")


def test_lancedb_sees_no_sensitive_table(coco):
    import lancedb

    database = lancedb.connect(coco.uri)
    assert not {n for n in database.list_tables().tables if "label" in n or "sensitive" in n}


def test_duckdb_with_its_lance_extension(coco):
    import duckdb

    with duckdb.connect() as connection:
        try:
            connection.execute("LOAD lance")
        except duckdb.Error as error:
            pytest.skip(f"DuckDB's lance extension cannot be loaded: {str(error).splitlines()[0]}")
        found = connection.execute(
            f"SELECT caption_id, text FROM '{coco.location.table('captions')}' WHERE origin = 'human' ORDER BY 1"
        )
        assert found.fetchall() == [(1, "a"), (2, "b")]


def test_plain_lance(coco):
    dataset = lance.dataset(coco.location.table("captions"))
    rows = dataset.to_table(columns=["caption_id", "origin"], filter="origin = 'alt_text'").to_pylist()
    assert rows == [{"caption_id": 3, "origin": "alt_text"}]


def test_stored_pictures_are_lance_blobs(coco):
    dataset = lance.dataset(coco.location.table("images"))
    (blob,) = dataset.take_blobs("image", indices=[0])
    assert blob.read() == b"\xff\xd8 jpeg"


def test_polars(coco):
    import polars as pl

    frame = pl.scan_pyarrow_dataset(lance.dataset(coco.location.table("captions")))
    got = frame.filter(pl.col("origin") == "human").select(pl.len()).collect()
    assert got.item() == 2


def test_duckdb_over_arrow(coco):
    import duckdb

    captions = lance.dataset(coco.location.table("captions"))
    with duckdb.connect() as connection:
        connection.register("captions", captions)
        assert connection.sql("SELECT count(*) FROM captions WHERE origin = 'human'").fetchall() == [(2,)]


def test_stable_row_ids(coco):
    """Rows keep their ids through updates, which generated columns will need."""
    dataset = lance.dataset(coco.location.table("captions"))
    assert dataset.has_stable_row_ids

"""Tables that other Lance tools write to are followed, and read right although they write no codes."""

from __future__ import annotations

import lance
import pyarrow as pa
import pytest

GROUPS = "SELECT origin, count(*) AS n FROM captions GROUP BY origin ORDER BY ALL"


@pytest.fixture
def captions(disk_lake, build):
    """A lake with two captions, and the table as lancedb opens it."""
    import lancedb

    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2], split=["a", "b"], license=["x", "x"]),
            "captions": build.captions(caption_id=[1, 2], image_id=[1, 2], origin=["human", "alt_text"]),
        }
    )
    return disk_lake, lancedb.connect(disk_lake.uri).open_table("captions")


def foreign(*ids, origin="human"):
    return pa.table({"caption_id": list(ids), "image_id": [1] * len(ids), "origin": [origin] * len(ids)})


def test_appended_rows_are_read(captions):
    lake, table = captions
    table.add(foreign(3, 4, origin="somebody"))
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 1), ("human", 1), ("somebody", 2)]
    assert lake.sql("SELECT caption_id FROM captions WHERE origin = 'somebody' ORDER BY 1").fetchall() == [(3,), (4,)]


def test_they_are_read_right_after_the_next_ingest(captions, build):
    """The journal must not vouch for codes that nobody wrote."""
    lake, table = captions
    table.add(foreign(3, 4))
    for _ in range(2):
        lake.ingest({"captions": build.captions(caption_id=[5, 1], image_id=[1, 1], origin=["alt_text", "human"])})
        assert lake.sql(GROUPS).fetchall() == [("alt_text", 2), ("human", 3)]
        assert lake.sql("SELECT caption_id FROM captions WHERE origin = 'human' ORDER BY 1").fetchall() == [
            (1,),
            (3,),
            (4,),
        ]


def test_changed_strings_win_over_old_codes(captions, build):
    lake, table = captions
    table.update(where="caption_id = 1", values={"origin": "alt_text"})
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 2)]
    lake.ingest({"captions": build.captions(caption_id=[9], image_id=[1], origin=["human"])})
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 2), ("human", 1)]


def test_a_write_during_an_ingest(captions, build):
    from counterbalance.engine.ingest_types import Chunk, Source
    from counterbalance.engine.write.ingest import ingest

    lake, table = captions

    def chunks():
        yield Chunk({"captions": build.captions(caption_id=[10], image_id=[1], origin=["human"])})
        table.add(foreign(11, origin="human"))
        yield Chunk({"captions": build.captions(caption_id=[12], image_id=[1], origin=["human"])})

    ingest(lake.location, Source("s", chunks()), "test")
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 1), ("human", 4)]


def test_deleted_rows_are_gone(captions, build):
    lake, table = captions
    table.delete("caption_id = 1")
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 1)]
    assert lake.ingest({"captions": build.captions(caption_id=[1], image_id=[1], origin=["human"])}).written == 1
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 1), ("human", 1)]


def test_rows_that_this_engine_wrote_stay_on_codes(captions, build):
    """The fast road is not lost for good: a resumed or rolled-back run leaves codes that hold."""
    from counterbalance.engine.errors import SourceError
    from counterbalance.engine.ingest_types import Chunk, Source
    from counterbalance.engine.write.ingest import ingest

    lake, _ = captions

    def chunks(error):
        yield Chunk({"captions": build.captions(caption_id=[20], image_id=[1], origin=["new origin"])})
        raise error

    for error in (SourceError("broken"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            ingest(lake.location, Source("s", chunks(error)), "test")
    ingest(lake.location, Source("s", iter([])), "test")
    assert lake.sql(GROUPS).fetchall() == [("alt_text", 1), ("human", 1), ("new origin", 1)]
    from counterbalance.engine.catalog import snapshot

    assert snapshot.take(lake.location).coded == {"images", "captions"}


def test_a_foreign_table_is_read_under_its_name(captions):
    lake, _ = captions
    lance.write_dataset(pa.table({"image_id": [1, 2], "scene": ["sea", "city"]}), lake.location.table("scenes"))
    assert lake.sql("SELECT scene, split FROM scenes JOIN images USING (image_id) ORDER BY 1").fetchall() == [
        ("city", "b"),
        ("sea", "a"),
    ]
    assert lake.sql("SELECT column_name, type FROM meta.columns WHERE table_name = 'scenes'").fetchall() == [
        ("image_id", "int64"),
        ("scene", "string"),
    ]


def test_a_folder_of_foreign_tables_alone_is_a_lake(disk_lake):
    lance.write_dataset(pa.table({"a": [1, 2]}), disk_lake.location.table("mine"))
    assert disk_lake.sql("SELECT sum(a) FROM mine").fetchall() == [(3,)]
    assert disk_lake.sql("SELECT count(*) FROM images").fetchall() == [(0,)]


def test_a_base_table_of_a_foreign_tool_is_ingested_into(disk_lake, build):
    """Somebody made `images` with other tools, without codes: they are read as strings."""
    table = build.images(image_id=[1, 2], key=["a", "b"], split=["s", "t"])
    lance.write_dataset(table, disk_lake.location.table("images"))
    assert disk_lake.sql("SELECT split, count(*) FROM images GROUP BY ALL ORDER BY ALL").fetchall() == [
        ("s", 1),
        ("t", 1),
    ]

"""A lake on an S3-compatible object store does what a lake in a folder does."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.catalog import access
from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.write.ingest import ingest


def rows(build, first, count):
    ids = list(range(first, first + count))
    return {
        "images": build.images(image_id=ids, key=[str(i) for i in ids], split=["train", "val"] * (count // 2)),
        "captions": build.captions(caption_id=ids, image_id=ids, text=[f"caption {i}" for i in ids]),
    }


def test_rows_are_read_back_the_same_source_changes_nothing_and_tables_of_other_tools_are_seen(s3_lake, build):
    import lance

    report = s3_lake.ingest(rows(build, 0, 4))
    assert report.written == 8
    got = s3_lake.sql("SELECT split, count(*) FROM images JOIN captions USING (image_id) GROUP BY ALL ORDER BY ALL")
    assert got.fetchall() == [("train", 2), ("val", 2)]
    versions = s3_lake.session().versions
    again = s3_lake.ingest(rows(build, 0, 4))
    assert not again.changed
    assert again.unchanged == 8
    assert s3_lake.session().versions == versions
    lance.write_dataset(
        pa.table({"image_id": [0, 1], "scene": ["street", "beach"]}),
        s3_lake.location.table("scenes"),
        storage_options=s3_lake.location.lance_options(),
    )
    got = s3_lake.sql("SELECT key, scene FROM images JOIN scenes USING (image_id) ORDER BY ALL").fetchall()
    assert got == [("0", "street"), ("1", "beach")]


def test_more_rows_and_changed_rows_and_a_tag_of_the_past(s3_lake, build):
    s3_lake.ingest(rows(build, 0, 4))
    s3_lake.tag("first")
    more = rows(build, 2, 4)
    more["captions"] = more["captions"].set_column(
        2, "text", pa.array(["new 2", "caption 3", "caption 4", "caption 5"])
    )
    report = s3_lake.ingest(more)
    assert (report.written, report.updated, report.unchanged) == (4, 1, 3)
    texts = s3_lake.sql("SELECT text FROM captions ORDER BY caption_id").fetchall()
    assert texts == [("caption 0",), ("caption 1",), ("new 2",), ("caption 3",), ("caption 4",), ("caption 5",)]
    assert s3_lake.sql(
        "SELECT count(*), max(text) FROM images JOIN captions USING (image_id)", at="first"
    ).fetchall() == [(4, "caption 3")]
    assert s3_lake.sql("SELECT count(*) FROM images").fetchall() == [(6,)]


@pytest.mark.thorough
def test_a_failed_source_leaves_nothing(s3_lake, build):
    def chunks():
        yield Chunk(rows(build, 0, 4))
        raise SourceError("broken")

    for before in (0, 2):
        with pytest.raises(SourceError):
            ingest(s3_lake.location, Source("broken", chunks()), "test")
        system, root = s3_lake.location.filesystem()
        system.invalidate_cache()
        if before:
            assert s3_lake.sql("SELECT count(*) FROM images").fetchall() == [(before,)]
        else:
            assert not system.exists(root)
            s3_lake.ingest(rows(build, 100, 2))


def test_labels_with_a_purpose(s3_lake, build):
    source = rows(build, 0, 2)
    source["labels"] = build.labels(label_id=[1, 2], image_id=[0, 1], attribute=["race", "scene"], value=["x", "y"])
    s3_lake.ingest(source)
    assert s3_lake.sql("SELECT value FROM labels").fetchall() == [("y",)]
    assert len(s3_lake.sql("SELECT value FROM labels", sensitive="a test")) == 2
    assert len(access.read(s3_lake.location)) == 2

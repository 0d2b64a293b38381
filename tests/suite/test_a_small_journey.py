"""From rows to a lake, a query, an audit, a column and a view that are kept fresh: the whole way on six images."""

from __future__ import annotations


def test_ingest_query_audit_refresh(lake, build):
    assert lake.sql("SELECT count(*) FROM captions WHERE text LIKE '%horse%'").fetchall() == [(2,)]
    found = lake.sql("SELECT label, count, suppressed FROM demographics(groups := caption_gender()) ORDER BY label")
    assert [row for row in found.fetchall() if row[1] is not None] == []
    assert lake.sql("SELECT wilson_low(3, 10) BETWEEN 0.10 AND 0.11").fetchall() == [(True,)]
    lake.add_column("captions", "letters", "length(text)")
    lake.create_materialized_view(
        "per_image", "SELECT image_id, sum(letters)::BIGINT AS n FROM captions GROUP BY image_id", "image_id"
    )
    assert {stage.mode for stage in lake.refresh(executor="inline").stages} == {"rebuild"}
    assert lake.sql("SELECT n FROM per_image WHERE image_id = 1").fetchall() == [(43,)]
    lake.ingest({"captions": build.captions(caption_id=[12], image_id=[1], text=["a rider"])})
    assert {stage.mode for stage in lake.refresh(executor="inline").stages} == {"incremental"}
    assert lake.sql("SELECT n FROM per_image WHERE image_id = 1").fetchall() == [(26,)]
    assert {stage.mode for stage in lake.refresh(executor="inline").stages} == {"no_op"}

from __future__ import annotations

import re

import pyarrow as pa


def test_the_plan_knows_how_many_rows_a_table_has(empty_lake):
    ids = list(range(5000))
    empty_lake.ingest({"images": pa.table({"image_id": ids, "key": [str(i) for i in ids]})})
    with empty_lake.session() as session:
        plan = session.explain("SELECT image_id FROM images")
    assert re.search(r"~5[,_]?000 rows", plan), plan


def test_the_smaller_table_is_the_build_side_however_the_join_is_written(empty_lake):
    ids = list(range(5000))
    images = pa.table({"image_id": ids, "key": [str(i) for i in ids]})
    captions = pa.table({"caption_id": [1, 2], "image_id": [3, 4], "text": ["a", "b"], "origin": ["human"] * 2})
    empty_lake.ingest({"images": images, "captions": captions})
    with empty_lake.session() as session:
        one = session.explain("SELECT count(*) AS n FROM images JOIN captions USING (image_id)")
        other = session.explain("SELECT count(*) AS n FROM captions JOIN images USING (image_id)")
    scans = [re.findall(r"~([\d,_]+) rows?", plan)[-2:] for plan in (one, other)]
    assert [[int(re.sub(r"\D", "", n)) for n in pair] for pair in scans] == [[5000, 2], [5000, 2]]

"""A column of FLOAT16[n] takes half the bytes: it is computed and read as FLOAT, and a number that it has not is a row's error."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.errors import SqlError
from counterbalance.engine.store import tables

ROWS = 300
VECTOR = "[image_id / 7.0, 1e-3, image_id, 2]"


@pytest.fixture
def made(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[*range(ROWS)])})
    return empty_lake


def stored(lake, name):
    return tables.existing(lake.location, "images").to_table(columns=[name])[name].combine_chunks()


def test_it_is_read_as_float_of_what_is_stored(made):
    made.sql(f"ALTER TABLE images ADD COLUMN v FLOAT16[4] AS ({VECTOR}::FLOAT[4])")
    made.sql("ALTER TABLE images ADD COLUMN total AS (list_sum(v))")
    made.sql("CREATE MATERIALIZED VIEW kept WITH (key = 'image_id') AS SELECT image_id, v FROM images")
    report = made.refresh()
    assert [stage.errors for stage in report.stages] == [0, 0, 0]
    assert stored(made, "v").type == pa.list_(pa.float16(), 4)
    rows = np.arange(ROWS)
    exact = np.stack([rows / 7, np.full(ROWS, 1e-3), rows, np.full(ROWS, 2)], 1).astype(np.float32)
    halves = exact.astype(np.float16).astype(np.float32)
    for table in ("images", "kept"):
        found = made.sql(f"SELECT v FROM {table} ORDER BY image_id").to_arrow()
        assert found.schema.field("v").type.value_type == pa.float32()
        assert found["v"].to_pylist() == halves.tolist()
    totals = made.sql("SELECT total FROM images ORDER BY image_id").to_arrow()["total"].to_numpy()
    np.testing.assert_allclose(totals, halves.astype(np.float64).sum(1), rtol=1e-6)
    assert made.refresh().stages[0].mode == "no_op"


@pytest.mark.parametrize("index", [False, True])
def test_it_is_searched(made, index):
    made.sql(f"ALTER TABLE images ADD COLUMN v FLOAT16[4] AS ({VECTOR}::FLOAT[4])")
    if index:
        made.sql("CREATE INDEX ON images USING ivf_flat (v)")
    made.refresh()
    near = "vector_search(images, 'v', (SELECT v FROM images WHERE image_id = 5), k := 3)"
    found = [i for (i,) in made.sql(f"SELECT image_id FROM {near} ORDER BY rank").fetchall()]
    vectors = np.stack(stored(made, "v").to_numpy(zero_copy_only=False)).astype(np.float32)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert found == np.argsort(-(unit @ unit[5]), kind="stable")[:3].tolist()


def test_what_it_has_not_is_an_error_of_its_row(made):
    made.sql("ALTER TABLE images ADD COLUMN v FLOAT16[2] AS ([image_id * 1000, 'inf'::FLOAT]::FLOAT[2])")
    (stage,) = made.refresh().stages
    assert stage.errors == ROWS - 66  # 65,504 is the largest, and infinity is one of its numbers
    assert made.sql("SELECT count(v), max(v[1]), max(v[2]) FROM images").fetchall() == [(66, 64992.0, float("inf"))]
    (said,) = made.sql("SELECT DISTINCT message FROM meta.errors").fetchall()
    assert "65504" in said[0]


def test_its_number_of_bytes_is_part_of_what_it_is(made):
    made.sql(f"ALTER TABLE images ADD COLUMN v FLOAT16[4] AS ({VECTOR}::FLOAT[4])")
    made.refresh()
    with pytest.raises(SqlError) as known:
        made.sql(f"ALTER TABLE images ADD COLUMN IF NOT EXISTS v FLOAT[4] AS ({VECTOR}::FLOAT[4])")
    assert known.value.code == "E3174"
    made.sql(f"ALTER TABLE images ADD COLUMN IF NOT EXISTS v float16 [4] AS ({VECTOR}::FLOAT[4])")  # the same one
    made.sql("ALTER TABLE images DROP COLUMN v")
    made.sql(f"ALTER TABLE images ADD COLUMN v FLOAT[4] AS ({VECTOR}::FLOAT[4])")
    assert made.refresh().stages[0].mode == "rebuild"
    assert stored(made, "v").type == pa.list_(pa.float32(), 4)


@pytest.mark.parametrize("kind", ["FLOAT16", "FLOAT16[]", "FLOAT16[2][2]"])
def test_other_shapes_have_no_such_type(made, kind):
    with pytest.raises(SqlError) as unknown:
        made.sql(f"ALTER TABLE images ADD COLUMN v {kind} AS (image_id)")
    assert unknown.value.code == "E3142"
    assert "FLOAT16[512]" in unknown.value.hint

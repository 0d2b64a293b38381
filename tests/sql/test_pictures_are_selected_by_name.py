"""A query that names a column of pictures gets their bytes; those of rows that it does not return are not read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.backends.duckdb import fetch

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.engine.lake import Lake

ROWS = 6


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lake, dict[str, bytes]]:
    """A lake of pictures with captions, and the bytes of each by its key."""
    folder: Path = tmp_path_factory.mktemp("pictures")
    for i in range(ROWS):
        Image.new("RGB", (10 + i, 8), (40 * i, 0, 0)).save(folder / f"{i}.png")
    lake = cb.connect(folder / "a.lake")
    lake.ingest(str(folder), format="imagefolder", store_images=True)
    keys = lake.sql("SELECT image_id, key FROM images ORDER BY key").fetchall()
    captions = pa.table({"image_id": [i for i, _ in keys], "text": [k for _, k in keys], "caption_id": range(ROWS)})
    lake.ingest({"captions": captions})
    return lake, {key: (folder / key).with_suffix(".png").read_bytes() for _, key in keys}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pictures each read of them is of."""
    found: list[int] = []
    whole = fetch.rows_at

    def rows_at(dataset: Any, ids: pa.Array, schema: pa.Schema) -> pa.Table:
        found.append(len(ids))
        return whole(dataset, ids, schema)

    monkeypatch.setattr(fetch, "rows_at", rows_at)
    return found


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT key, image FROM images ORDER BY key DESC LIMIT 2",
        "SELECT i.KEY, i.IMAGE FROM images i ORDER BY key DESC LIMIT 2",
        "FROM images i JOIN captions USING (image_id) SELECT key, image AS picture ORDER BY text DESC LIMIT 2",
        "SELECT text, image FROM captions LEFT JOIN images USING (image_id) WHERE text >= '4' ORDER BY text DESC",
        "WITH few AS (SELECT image_id FROM captions ORDER BY text DESC LIMIT 2) "
        "SELECT key, images.image FROM images JOIN few ON few.image_id = images.image_id ORDER BY key DESC",
    ],
)
def test_only_those_of_the_rows_are_read(pictures: tuple[Lake, dict[str, bytes]], read: list[int], sql: str) -> None:
    lake, known = pictures
    found = lake.sql(sql).to_arrow()
    assert found.schema.types == [pa.string(), pa.binary()]
    assert found.to_pydict().popitem()[1] == [known[key] for key in sorted(known, reverse=True)[:2]]
    assert read == [2]


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT image FROM images ORDER BY 1", ROWS),
        ("SELECT DISTINCT image FROM images", ROWS),
        ("SELECT image FROM images GROUP BY image", ROWS),
        ("SELECT image AS p FROM images WHERE p IS NOT NULL", ROWS),
        ("SELECT image FROM images UNION ALL SELECT image FROM images", 2 * ROWS),
        ("WITH w AS (SELECT image FROM images) SELECT * FROM w", ROWS),
        ("SELECT a.image, b.image, a.* FROM images a JOIN images b USING (image_id)", ROWS),
        ("SELECT image, octet_length(image) AS n FROM images WHERE octet_length(image) > 0", ROWS),
        ("SELECT max(image) FROM images", 1),
        ("SELECT image FROM captions LEFT JOIN images ON false", ROWS),
    ],
)
def test_any_query_may_name_them(pictures: tuple[Lake, dict[str, bytes]], sql: str, rows: int) -> None:
    lake, known = pictures
    result = lake.sql(sql)
    found = result.to_arrow()
    assert found.schema == lake.sql(sql).schema  # also where the query was not run yet
    assert found.schema.types[0] == pa.binary()
    assert found.num_rows == rows
    assert {*found.column(0).to_pylist()} <= {*known.values(), None}
    assert ("false" in sql) == (found.column(0).null_count == rows)


def test_they_are_counted(pictures: tuple[Lake, dict[str, bytes]]) -> None:
    lake, _ = pictures
    assert lake.sql("SELECT count(image), count(DISTINCT image), count(*) FROM images").fetchall() == [(ROWS,) * 3]
    assert lake.sql("SELECT count(*) FROM images WHERE image IS NULL").fetchall() == [(0,)]


def test_a_lake_without_pictures_has_none(tmp_path: Path) -> None:
    lake = cb.connect(tmp_path / "b.lake")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["a"]})})
    assert lake.sql("SELECT image FROM images").fetchall() == [(None,)]


def test_with_limits_they_are_read_in_the_worker(pictures: tuple[Lake, dict[str, bytes]]) -> None:
    lake, known = pictures
    rows = lake.sql("SELECT key, image FROM images", memory="1GB", timeout=60).fetchall()
    assert dict(rows) == known


def test_a_view_keeps_them(pictures: tuple[Lake, dict[str, bytes]]) -> None:
    lake, known = pictures
    lake.create_materialized_view("first", "SELECT image_id, key, image FROM images WHERE key < '2'", "image_id")
    lake.refresh("first")
    assert lake.sql("SELECT * FROM first").columns == ["image_id", "key"]
    found = lake.sql("SELECT f.key, f.image, i.image FROM first f JOIN images i USING (image_id)").fetchall()
    assert sorted(found) == [(key, known[key], known[key]) for key in sorted(known)[:2]]

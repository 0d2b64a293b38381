"""Pictures reach functions, in queries and in columns, and never a star."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError

if TYPE_CHECKING:
    from pathlib import Path

    from counterbalance.engine.lake import Lake


@cb.udf(
    returns=pa.struct([("width", pa.int32()), ("red", pa.float32())]), parameters={"image": pa.binary()}, version="1"
)
def bytes_looked(image: pa.Array) -> list[dict[str, object]]:
    """Width, and how red the first pixel is."""
    found = []
    for data in image.to_pylist():
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        found.append({"width": picture.width, "red": picture.getpixel((0, 0))[0] / 255})
    return found


@cb.udf(returns=pa.binary(), parameters={"image": pa.binary()}, version="1")
def bytes_doubled(image: pa.Array) -> list[bytes]:
    """The picture at twice its width."""
    found = []
    for data in image.to_pylist():
        picture = Image.open(io.BytesIO(data))
        found.append(image_bytes(picture.resize((picture.width * 2, picture.height))))
    return found


@pytest.fixture
def pictures(tmp_path: Path) -> Lake:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i in range(1, 4):
        Image.new("RGB", (10 * i, 8), (51 * i, 0, 0)).save(folder / f"{i}.png")
    lake = cb.connect(tmp_path / "pictures.lake")
    lake.ingest(str(folder), format="imagefolder", store_images=True)
    return lake


def test_in_a_query(pictures: Lake) -> None:
    sql = "SELECT bytes_looked(image).width AS w, round(bytes_looked(i.image).red, 2) AS r FROM images i ORDER BY w"
    assert pictures.sql(sql).fetchall() == [
        (10, pytest.approx(0.2)),
        (20, pytest.approx(0.4)),
        (30, pytest.approx(0.6)),
    ]


def test_calls_of_calls(pictures: Lake) -> None:
    sql = "SELECT bytes_looked(bytes_doubled(image)).width FROM images ORDER BY 1"
    assert pictures.sql(sql).fetchall() == [(20,), (40,), (60,)]


def test_stars_of_another_table_are_its_own(pictures: Lake) -> None:
    sql = "SELECT o.*, bytes_looked(i.image).width AS w FROM images i JOIN (SELECT image_id FROM images) o USING (image_id)"
    rows = pictures.sql(f"SELECT w FROM ({sql}) ORDER BY w").fetchall()
    assert rows == [(10,), (20,), (30,)]
    assert pictures.sql(sql).columns == ["image_id", "w"]


def test_stars_leave_them_out(pictures: Lake) -> None:
    plain = pictures.sql("SELECT * FROM images").columns
    assert "image" not in plain
    assert pictures.sql("SELECT *, bytes_looked(image).width AS w FROM images").columns == [*plain, "w"]
    assert pictures.sql("SELECT i.*, bytes_looked(image).width AS w FROM images i").columns == [*plain, "w"]
    assert pictures.sql("SELECT count(*), min(bytes_looked(image).width) FROM images").fetchall() == [(3, 10)]


def test_no_star_of_a_subquery_hands_them_on(pictures: Lake) -> None:
    with pytest.raises(CounterbalanceError, match="no star stands for"):
        pictures.sql("SELECT image FROM (SELECT * FROM images)").fetchall()


def test_in_a_column_and_out_of_one(pictures: Lake) -> None:
    pictures.add_column("images", "doubled", "bytes_doubled(image)")
    pictures.add_column("images", "looked", "bytes_looked(doubled)")
    report = pictures.refresh(executor="inline")
    assert [(s.target, s.rows, s.errors) for s in report.stages] == [("images.doubled", 3, 0), ("images.looked", 3, 0)]
    assert pictures.sql("SELECT looked.width FROM images ORDER BY 1").fetchall() == [(20,), (40,), (60,)]
    assert "doubled" not in pictures.sql("SELECT * FROM images").columns
    assert pictures.sql("SELECT bytes_looked(doubled).width FROM images ORDER BY 1").fetchall() == [(20,), (40,), (60,)]


def test_a_struct_is_unnested_by_a_view(pictures: Lake) -> None:
    pictures.add_column("images", "looked", "bytes_looked(image)")
    pictures.create_materialized_view("looks", "SELECT image_id, unnest(looked) FROM images", "image_id")
    pictures.refresh(executor="inline")
    assert pictures.sql("SELECT width, round(red, 2) FROM looks ORDER BY 1").fetchall()[0] == (10, pytest.approx(0.2))


def test_an_export_selects_them_by_name_and_by_star(pictures: Lake) -> None:
    with pictures.session(with_bytes=True) as session:
        rows = {
            sql: [bytes(r[0])[:4] for r in session.sql(sql)]
            for sql in (
                "SELECT image FROM images",
                "WITH w AS (SELECT i.* FROM images AS i) SELECT image FROM w",
                "SELECT a.image FROM images a JOIN images b ON a.image_id = b.image_id",
                "SELECT image FROM images WHERE image_id IN (SELECT image_id FROM images)",
                "SELECT image FROM images UNION ALL SELECT bytes_doubled(image) FROM images",
            )
        }
        assert {tuple(r) for r in rows.values()} == {(b"\x89PNG",) * 3, (b"\x89PNG",) * 6}
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(3,)]
        assert "image" in session.sql("SELECT * FROM images").columns

"""A view that says which image its rows are of, and its digest, needs no copy of the picture: functions get that of images."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, SqlError
from counterbalance.engine.images import sha256
from counterbalance.engine.store import tables

BOXES = (
    "SELECT detection_id, d.image_id, d.x, i.sha256 FROM detections AS d JOIN images AS i ON i.image_id = d.image_id"
)


def encoded(shade, side=4):
    return image_bytes(Image.new("RGB", (side, side), (shade, shade, shade)))


def images(shades):
    digests = [None if data is None else sha256(data) for data in shades.values()]
    rows = {"image_id": list(shades), "sha256": pa.array(digests, pa.string())}
    return {"images": pa.table({**rows, "image": pa.array(shades.values(), pa.binary())})}


@pytest.fixture
def lake(tmp_path):
    """Four images, the last one without a picture, with two boxes each; a view of the boxes."""
    made = cb.connect(tmp_path / "a.lake")
    boxes = {"detection_id": range(8), "image_id": [1, 2, 3, 4] * 2, "x": np.arange(8, dtype="f4"), "y": [0.0] * 8}
    boxes = pa.table({**boxes, "width": [1.0] * 8, "height": [1.0] * 8})
    pictures = {1: encoded(10), 2: encoded(20, 9), 3: encoded(30, 30), 4: None}
    made.ingest({**images(pictures), "detections": boxes})
    made.sql(f"CREATE MATERIALIZED VIEW boxes WITH (key = 'detection_id') AS {BOXES}")
    return made


def sizes(lake):
    return lake.sql("SELECT image_id, size FROM boxes ORDER BY detection_id").fetchall()


@pytest.mark.parametrize("declared", ["before the view is made", "after it"])
def test_they_are_those_of_images(lake, declared):
    if declared == "after it":
        lake.refresh()
    lake.sql("ALTER TABLE boxes ADD COLUMN size AS (octet_length(image) + x)")
    report = lake.refresh()
    stored = dict(lake.sql("SELECT image_id, octet_length(image) FROM images").fetchall())
    assert sizes(lake) == [(i, None if stored[i] is None else stored[i] + x) for x, i in enumerate([1, 2, 3, 4] * 2)]
    assert "2 of 8 rows have no picture" in report.stages[-1].message
    assert "image" not in tables.open_table(lake.location, "boxes").schema.names
    assert lake.refresh().stages[0].mode == "no_op"


def test_a_changed_picture_is_computed_again_alone(lake):
    lake.sql("ALTER TABLE boxes ADD COLUMN size AS (octet_length(image))")
    lake.refresh()
    before = dict(sizes(lake))
    lake.ingest(images({2: encoded(20, 40)}))
    stages = {s.target: s for s in lake.refresh().stages}
    assert stages["boxes.size"].rows == 2
    after = dict(sizes(lake))
    assert after[2] != before[2] == len(encoded(20, 9))
    assert (after[1], after[3], after[4]) == (before[1], before[3], None)


def test_pictures_in_a_folder_are_read_there(tmp_path):
    (tmp_path / "pictures").mkdir()
    for shade in range(3):
        (tmp_path / "pictures" / f"{shade}.png").write_bytes(encoded(shade, 5 + shade))
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(tmp_path / "pictures")
    lake.sql("CREATE MATERIALIZED VIEW keys WITH (key = 'image_id') AS SELECT image_id, sha256, key FROM images")
    lake.sql("ALTER TABLE keys ADD COLUMN size AS (octet_length(image))")
    (tmp_path / "pictures" / "2.png").unlink()
    stages = {s.target: s for s in lake.refresh().stages}
    assert stages["keys.size"].errors == 1
    assert lake.sql("SELECT key, size FROM keys ORDER BY key").fetchall() == [
        ("0.png", len(encoded(0, 5))),
        ("1.png", len(encoded(1, 6))),
        ("2.png", None),
    ]


def test_without_the_digest_there_is_no_picture(lake):
    lake.sql(
        "CREATE MATERIALIZED VIEW bare WITH (key = 'detection_id') AS SELECT detection_id, image_id FROM detections"
    )
    with pytest.raises(NotFoundError, match="no column 'image'") as raised:
        lake.sql("ALTER TABLE bare ADD COLUMN size AS (octet_length(image))")
    assert "selects image_id and sha256 of images" in raised.value.hint


def test_no_column_takes_their_place(lake):
    lake.sql("ALTER TABLE boxes ADD COLUMN size AS (octet_length(image))")
    with pytest.raises(SqlError) as raised:
        lake.sql("ALTER TABLE boxes ADD COLUMN image AS (CAST('' AS BLOB))")
    assert raised.value.code == "E3199"
    lake.sql(
        "CREATE MATERIALIZED VIEW texts WITH (key = 'i') AS SELECT image_id AS i, CAST(image_id AS VARCHAR) AS image_id, sha256 FROM images"
    )
    with pytest.raises(SqlError) as raised:
        lake.sql("ALTER TABLE texts ADD COLUMN size AS (octet_length(image))")
    assert raised.value.code == "E3198"


def test_another_digest_is_an_error_of_its_row(lake):
    lake.sql(
        "CREATE MATERIALIZED VIEW other WITH (key = 'image_id') AS SELECT image_id, md5(sha256) AS sha256 FROM images"
    )
    lake.sql("ALTER TABLE other ADD COLUMN size AS (coalesce(octet_length(image), 0))")
    report = lake.refresh("other.size")
    assert [s.errors for s in report.stages if s.target == "other.size"] == [3]
    assert "sha256 is not that of image" in str(lake.sql("SELECT message FROM meta.errors LIMIT 1").fetchall())


def test_lineage_leads_to_the_picture(lake):
    lake.sql("ALTER TABLE boxes ADD COLUMN size AS (octet_length(image))")
    lake.refresh()
    assert "images.image" in str(lake.lineage("boxes.size"))

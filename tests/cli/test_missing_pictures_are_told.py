"""A column that reads pictures says how many rows have none, when it is declared and when it is computed."""

from __future__ import annotations

import pytest
from image_files import image_bytes
from PIL import Image

from counterbalance.__main__ import main
from counterbalance.engine.store.pictures import HELP


@pytest.fixture
def picture() -> bytes:
    return image_bytes(Image.new("RGB", (4, 4), (200, 30, 30)))


def test_no_row_has_one_then_some_then_all(disk_lake, build, picture, capsys):
    disk_lake.ingest({"images": build.images(image_id=[1, 2, 3], uri=["a", "b", "c"])})
    assert main(["sql", disk_lake.uri, "-c", "ALTER TABLE images ADD COLUMN g AS (color_grid(image))"]) == 0
    told = f"note: no row of images has a picture: images.g will be NULL; {HELP}\n"
    assert capsys.readouterr().err == told

    def refreshed() -> list[tuple[str, int, int, str]]:
        report = disk_lake.refresh(executor="inline", batch_size=2)
        return [(s.target, s.rows, s.errors, s.message) for s in report.stages if s.rows]

    assert refreshed() == [("images.g", 3, 0, f"3 of 3 rows have no picture: {HELP}")]
    disk_lake.ingest({"images": build.images(image_id=[2], image=[picture], sha256=["00"])})
    assert refreshed() == [("images.g", 1, 0, "")]
    disk_lake.ingest({"images": build.images(image_id=[4, 5], image=[None, picture])})
    assert refreshed() == [("images.g", 2, 0, f"1 of 2 rows have no picture: {HELP}")]
    assert disk_lake.sql("SELECT image_id FROM images WHERE g IS NOT NULL ORDER BY ALL").fetchall() == [(2,), (5,)]


def test_some_stored_pictures_are_no_reason_for_a_note(disk_lake, build, picture):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], image=[None, picture])})
    declared = disk_lake.session().sql("ALTER TABLE images ADD COLUMN g AS (color_grid(image))")
    assert declared.notes == []

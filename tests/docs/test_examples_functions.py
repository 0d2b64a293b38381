"""The example of a user's own functions does what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from PIL import Image

import counterbalance as cb
from counterbalance.engine.functions import load_file

if TYPE_CHECKING:
    from pathlib import Path


def test_it_runs_in_queries_and_columns(tmp_path: Path, project_root: Path) -> None:
    file = str(project_root / "examples" / "functions" / "my_udfs.py")
    assert load_file(file) == ["exclamations", "shouting", "brightness"]
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (20, 10), (255, 255, 255)).save(tmp_path / "pictures" / "white.png")
    Image.new("RGB", (30, 10), (0, 0, 0)).save(tmp_path / "pictures" / "black.png")
    lake = cb.connect(tmp_path / "my.lake")
    lake.ingest(str(tmp_path / "pictures"), format="imagefolder", store_images=True)
    images = {"image_id": [1, 2], "key": ["bytes are missing", "damaged"], "image": [None, b"none"]}
    lake.ingest({"images": pa.table({**images, "image": pa.array(images["image"], pa.binary())})})
    assert lake.sql("SELECT count(*) FROM images").fetchall() == [(4,)]
    lake.add_column("images", "look", "brightness(image)")
    report = lake.refresh(udfs=file)
    assert [(s.rows, s.errors) for s in report.stages] == [(4, 1)], report
    seen = lake.sql("SELECT key, look.mean, look.width FROM images ORDER BY key").fetchall()
    assert seen == [
        ("black.png", 0.0, 30),
        ("bytes are missing", None, None),
        ("damaged", None, None),
        ("white.png", 1.0, 20),
    ]
    message = lake.sql("SELECT key, message FROM meta.errors WHERE column_name = 'look'").fetchall()
    assert message == [("2", "the picture cannot be read")]
    shares = lake.sql("SELECT shouting('AbÇd'), shouting('…'), shouting(NULL)").fetchall()[0]
    assert shares == (pytest.approx(0.5), None, None)
    assert lake.sql("SELECT exclamations('a! b!'), exclamations(NULL)").fetchall() == [(2, None)]

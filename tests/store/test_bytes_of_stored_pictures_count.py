"""The size of a table holds its pictures, which lie in files beside the columns."""

from __future__ import annotations

import numpy as np
from PIL import Image

import counterbalance as cb


def test_images(tmp_path):
    (tmp_path / "pictures").mkdir()
    for number in range(3):
        noise = np.random.default_rng(number).integers(0, 255, (300, 300, 3), np.uint8)
        Image.fromarray(noise).save(tmp_path / "pictures" / f"{number}.png")
    lake = cb.connect(tmp_path / "a.lake")
    lake.ingest(str(tmp_path / "pictures"), "imagefolder", store_images=True)
    on_disk = sum(f.stat().st_size for f in (tmp_path / "a.lake" / "images.lance" / "data").rglob("*") if f.is_file())
    (told,) = lake.sql("SELECT bytes FROM meta.tables WHERE name = 'images'").fetchall()
    assert told[0] == on_disk > 3 * 250_000

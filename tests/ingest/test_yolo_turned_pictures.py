"""Boxes of YOLO are of the picture as it is seen; a lake has them in the picture as it is stored."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageOps

import counterbalance as cb


@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_box_is_where_the_mark_is(tmp_path, orientation):
    root = tmp_path / "set"
    root.mkdir()
    stored = np.zeros((48, 64, 3), np.uint8)
    stored[8:16, 40:60] = 255
    picture = Image.fromarray(stored)
    exif = picture.getexif()
    exif[0x0112] = orientation
    picture.save(root / "a.png", exif=exif)
    seen = np.asarray(ImageOps.exif_transpose(Image.open(root / "a.png")))[..., 0] > 0
    down, across = np.flatnonzero(seen.any(axis=1)), np.flatnonzero(seen.any(axis=0))
    height, width = seen.shape
    box = ((across[0] + across[-1] + 1) / 2 / width, (down[0] + down[-1] + 1) / 2 / height)
    size = len(across) / width, len(down) / height
    (root / "a.txt").write_text(" ".join(map(str, (0, *box, *size))))
    (root / "classes.txt").write_text("mark\n")
    lake = cb.connect(tmp_path / "l.lake")
    lake.ingest(str(root))
    (found,) = lake.sql("SELECT x, y, width, height FROM detections").fetchall()
    assert np.allclose(found, (40, 8, 20, 8), atol=1e-3)

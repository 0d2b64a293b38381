"""genswap with donors: faces that were given, such as those of a folder that was ingested, and no picture's own."""

from __future__ import annotations

import numpy as np
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb

FACES = {
    20: ("male", (200, 40, 40)),
    21: ("male", (40, 200, 40)),
    22: ("female", (40, 40, 200)),
    23: ("female", (9, 9, 9)),
}


def png(pixels):
    return image_bytes(Image.fromarray(np.asarray(pixels, np.uint8)))


@pytest.fixture
def folder(tmp_path):
    """Faces as published: a folder a label, a picture a face."""
    for number, (label, color) in FACES.items():
        (tmp_path / "faces" / label).mkdir(parents=True, exist_ok=True)
        noise = np.random.default_rng(number).integers(0, 30, (24, 24, 3))
        (tmp_path / "faces" / label / f"{number}.png").write_bytes(png(noise + color))
    return tmp_path / "faces"


@pytest.mark.thorough
def test_faces_of_a_folder_are_put_in(tmp_path, build, folder):
    lake = cb.connect(tmp_path / "swap.lake")
    ids, texts = [1, 2, 3], ["a man", "a man", "a woman"]
    pictures = [png(np.random.default_rng(i).integers(0, 256, (60, 60, 3))) for i in ids]
    one = [1.0] * len(ids)
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids], image=pictures),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "detections": build.detections(
                detection_id=ids, image_id=ids, category=["face"] * 3, x=[15 * v for v in one], y=[10 * v for v in one],
                width=[30 * v for v in one], height=[30 * v for v in one],
            ),
        }
    )  # fmt: skip
    lake.ingest(folder, format="imagefolder", store_images=True)
    donors = "(SELECT image_id AS face_id, CASE WHEN key LIKE '%female%' THEN 'female' ELSE 'male' END AS label, image AS face FROM images WHERE key LIKE '%.png')"
    lake.recipe("genswap", {"donors": donors}, refresh={"executor": "inline"})
    label_of = dict(lake.sql(f"SELECT face_id, label FROM {donors} AS d").fetchall())
    assert len(label_of) == len(FACES)
    rows = lake.sql("SELECT image_id, label, face_of, text FROM genswap_set ORDER BY ALL").fetchall()
    assert [r[:2] for r in rows] == [(i, label) for i in ids for label in ("female", "male")]
    assert all(label_of[face] == label for _, label, face, _ in rows)
    assert {text for _, _, _, text in rows} == {"a man", "a woman"}
    assert len({face for _, _, face, _ in rows}) > 2

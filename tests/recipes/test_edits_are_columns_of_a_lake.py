"""Edits as rows of a request view with a generated picture: resumed, incremental, with errors, and stale by their weights."""

from __future__ import annotations

import shutil

import lance
import numpy as np
import pyarrow as pa
import pytest
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.catalog.lineage import lineage
from counterbalance.udfs.models.weights import digest

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

REQUESTS = """
CREATE MATERIALIZED VIEW requests WITH (key = 'edit_id') AS
SELECT
  CAST(md5_number_lower(concat(image_id, ':', guidance)) >> 1 AS BIGINT) AS edit_id,
  image_id, guidance, CASE WHEN image_id = 3 THEN 400.0 ELSE 10.0 END AS x, image_id AS seed, list_first([image]) AS image
FROM images CROSS JOIN (VALUES (7.5), (15.0)) AS g (guidance)
"""


@pytest.fixture
def checkpoint(tiny_diffusion, tmp_path):
    made = tiny_diffusion("StableDiffusionInstructPix2PixPipeline", channels=8)
    return shutil.copytree(made, tmp_path / "model")


@pytest.fixture
def lake(disk_lake, checkpoint):
    ingest(disk_lake, {1: picture(1), 2: picture(2), 3: picture(3), 4: b"GIF89a no picture"})
    disk_lake.sql(REQUESTS)
    disk_lake.sql(
        "ALTER TABLE requests ADD COLUMN edited AS (instruct_pix2pix("
        f"image, x, 5.0, 40.0, 40.0, 'a woman', guidance, 1.5, 1, seed, model := '{checkpoint}', size := 64))"
    )
    return disk_lake


def picture(seed):
    return image_bytes(Image.fromarray(np.random.default_rng(seed).integers(0, 256, (60, 60, 3), np.uint8)))


def ingest(lake, pictures):
    lake.ingest({"images": pa.table({"image_id": list(pictures), "image": pa.array(pictures.values(), pa.binary())})})


def edits(lake):
    """As they are stored: a plain SELECT shows no pictures."""
    stored = lance.dataset(lake.location.table("requests")).to_table(columns=["image_id", "guidance", "edited"])
    return {(row["image_id"], row["guidance"]): row["edited"] for row in stored.to_pylist()}


def test_refreshed_in_parts(lake, checkpoint, tmp_path):
    def stop(progress):
        if progress.stage == "requests.edited" and progress.done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        lake.refresh(executor="inline", batch_size=1, progress=stop)
    stage = lake.refresh(executor="inline").stages[-1]
    assert stage.target == "requests.edited"
    assert 0 < stage.rows < 8
    found = edits(lake)
    assert {key for key, data in found.items() if data is None} == {(i, g) for i in (3, 4) for g in (7.5, 15.0)}
    errors = lake.sql("SELECT message FROM meta.errors WHERE column_name = 'edited'").fetchall()
    assert sorted(m.split()[0] for (m,) in errors) == ["GIF", "GIF", "no", "no"]
    assert lake.refresh(executor="inline").mode == "no_op"

    ingest(lake, {5: picture(5)})
    assert lake.refresh(executor="inline").stages[-1].rows == 2
    later = edits(lake)
    assert {key: later[key] for key in found} == found
    assert len({data for data in later.values() if data}) == 6

    said = lake.sql(
        "SELECT DISTINCT synthetic_source(edited).weights FROM requests WHERE edited IS NOT NULL"
    ).fetchall()
    assert said == [(digest(checkpoint),)]
    reached = {(r["relation"], r["column"]) for r in lineage(lake.location, "requests.edited").to_pylist()}
    assert {("images", "image"), ("images", "image_id")} <= reached


def test_other_weights_are_other_pictures(lake, checkpoint, tiny_diffusion):
    lake.refresh(executor="inline")
    before = edits(lake)
    other = tiny_diffusion("StableDiffusionInstructPix2PixPipeline", channels=8, seed=1)
    shutil.copytree(other, checkpoint, dirs_exist_ok=True)
    (stage,) = (s for s in lake.refresh(dry_run=True).stages if s.target == "requests.edited")
    assert "weights of instruct_pix2pix changed" in stage.reason
    lake.refresh(executor="inline")
    after = edits(lake)
    assert all(after[key] != before[key] for key in before if before[key])
    assert cb.connect(lake.uri).refresh(executor="inline").mode == "no_op"

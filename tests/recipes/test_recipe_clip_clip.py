"""clip_clip: the dimensions that tell the label are left out of the vectors of images and texts, and no others."""

from __future__ import annotations

import numpy as np
from sklearn.feature_selection import mutual_info_classif

IMAGES = 120
NOISE = "(md5_number_lower(concat('{0}', {1})) % 1000) / 1000.0"


def vectors(rows, key):
    """A view whose dimensions 1 and 4 of six tell whether the image's number is even."""
    cells = [
        f"{NOISE.format(i, key)} + {2 if i == 1 else 5} * (image_id % 2)" if i in (1, 4) else NOISE.format(i, key)
        for i in range(6)
    ]
    return f"SELECT {key}, image_id, [{', '.join(cells)}]::FLOAT[6] AS embedding FROM {rows}"


def test_telling_dimensions_are_left_out(disk_lake, build):
    ids = list(range(IMAGES))
    said = ["a man and a dog" if i % 2 else "a woman and a cat" if i % 10 else "a dog" for i in ids]
    images = build.images(image_id=ids, key=[str(i) for i in ids])
    disk_lake.ingest({"images": images, "captions": build.captions(caption_id=ids, image_id=ids, text=said)})
    disk_lake.create_materialized_view(
        "looks", vectors("images", "image_id").replace("image_id, image_id", "image_id"), "image_id"
    )
    disk_lake.create_materialized_view("says", vectors("captions", "caption_id"), "caption_id")
    disk_lake.refresh(executor="inline")
    given = {"images": "looks", "fit": "(SELECT image_id, embedding FROM looks WHERE image_id < 100)", "texts": "says"}
    done = disk_lake.recipe("clip_clip", {**given, "count": 2}, refresh={"executor": "inline"})

    chosen = [d for (d,) in disk_lake.sql("SELECT dimension FROM clip_clip_dimensions ORDER BY 1").fetchall()]
    known = [i for i in ids if i < 100 and "man" in said[i]]
    looks = np.array([v for (v,) in disk_lake.sql("SELECT embedding FROM looks ORDER BY image_id").fetchall()])
    told = mutual_info_classif(looks[known], [said[i] for i in known], random_state=0)
    assert chosen == sorted(np.argsort(-told)[:2].tolist()) == [1, 4]
    for view, source, key in (("clip_clip_images", "looks", "image_id"), ("clip_clip_texts", "says", "caption_id")):
        kept, all_of = (
            np.array([v for (v,) in disk_lake.sql(f"SELECT embedding FROM {name} ORDER BY {key}").fetchall()])
            for name in (view, source)
        )
        np.testing.assert_array_equal(kept, np.delete(all_of, chosen, axis=1))
    assert done.results["made"].to_pylist() == [
        {"vectors": v, "count": IMAGES, "length": 4} for v in ("images", "texts")
    ]
    hits = "top_k((SELECT caption_id, image_id, embedding FROM clip_clip_texts), clip_clip_images, 'vector', 5)"
    assert disk_lake.sql(f"SELECT count(*) FROM {hits}").fetchall() == [(5 * IMAGES,)]

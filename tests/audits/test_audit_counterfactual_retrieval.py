"""counterfactual_retrieval: recall both ways, in loops with numpy; how it differs from the originals, and what is hidden."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def rows(vectors, **columns):
    return pa.table({**columns, "embedding": vectors.tolist()})


def of(draw, texts_each, images, noise):
    """Texts near their images: (texts, images) as tables, and which image each text is of."""
    pictures = unit(draw.normal(size=(images, 8)))
    owner = np.repeat(np.arange(images), texts_each)
    texts = unit(pictures[owner] + noise * draw.normal(size=(len(owner), 8)))
    ids = np.arange(len(owner)) + 1000
    table = rows(texts, text_id=ids, image_id=owner + 100, source_id=owner + 100)
    return table, rows(pictures, image_id=np.arange(images) + 100), owner, texts, pictures


@pytest.fixture(scope="module")
def sets():
    draw = np.random.default_rng(5)
    return of(draw, 1, 90, 0.7), of(draw, 3, 40, 0.4)


def run(session, made, real, **options):
    given = {"texts": made[0], "images": made[1], "original_texts": real[0], "original_images": real[1]}
    found = session.audit("counterfactual_retrieval", **given, **{"min_count": 1, **options}).to_arrow().to_pylist()
    return {(r["direction"], r["k"]): r for r in found}


def by_hand(owner, texts, pictures, k):
    """Shares of images that find a text of theirs among the first k, and of texts that find their image."""
    scores = pictures @ texts.T
    forth = [any(owner[t] == image for t in np.argsort(-scores[image])[:k]) for image in range(len(pictures))]
    back = [owner[text] in np.argsort(-scores[:, text])[:k] for text in range(len(texts))]
    return np.array(forth), np.array(back)


def test_agrees_with_loops(session, sets):
    made, real = sets
    found = run(session, made, real)
    assert found.keys() == {(way, k) for way in ("text", "image") for k in (1, 5, 10)}
    for k in (1, 5, 10):
        for way, one, other in zip(("text", "image"), by_hand(*made[2:], k), by_hand(*real[2:], k), strict=True):
            row = found[way, k]
            assert (row["count"], row["n"], row["images"]) == (one.sum(), 90, 90)
            assert (row["count_original"], row["n_original"], row["images_original"]) == (other.sum(), len(other), 40)
            assert row["value"] == pytest.approx(one.mean())
            assert (row["low"], row["high"]) == pytest.approx(proportion_confint(one.sum(), 90, method="wilson"))
            assert row["difference"] == pytest.approx(one.mean() - other.mean())
            assert row["change"] == pytest.approx(100 * (one.mean() / other.mean() - 1))
    newcombe = confint_proportions_2indep(
        found["text", 1]["count"], 90, found["text", 1]["count_original"], 40, method="newcomb", compare="diff"
    )
    assert (found["text", 1]["difference_low"], found["text", 1]["difference_high"]) == pytest.approx(newcombe)
    alone = proportion_confint(found["image", 1]["count_original"], 120, method="wilson")
    assert found["image", 1]["original_low"] < alone[0]
    assert found["image", 1]["original_high"] > alone[1], "three texts of an image tell less than three images"


def test_hits_of_any_model(session):
    """Four pictures in two pairs; the first text of each finds its own picture second, the others do at once."""
    texts = pa.table({"text_id": [1, 2, 3, 4], "image_id": [11, 12, 13, 14], "source_id": [1, 1, 2, 2]})
    image_hits = [(1, 12, 1), (1, 11, 2), (2, 12, 1), (3, 14, 1), (3, 13, 2), (4, 14, 1)]
    text_hits = [(11, 1, 1), (12, 2, 1), (13, 3, 1), (14, 3, 1)]
    made = {
        name: pa.table(dict(zip(("query_id", "item_id", "rank"), zip(*hits, strict=True), strict=True))).append_column(
            "score", pa.array([0.5] * len(hits))
        )
        for name, hits in (("image_hits", image_hits), ("text_hits", text_hits))
    }
    given = {"texts": texts, "original_texts": texts, **made}
    given |= {f"original_{name}": table for name, table in made.items()}
    found = session.audit("counterfactual_retrieval", **given, k=[1, 2], min_count=0).to_arrow().to_pylist()
    assert [(r["direction"], r["k"], r["value"], r["change"]) for r in found] == [
        ("image", 1, 0.5, 0), ("image", 2, 1.0, 0), ("text", 1, 0.75, 0), ("text", 2, 0.75, 0),
    ]  # fmt: skip


def test_few_are_hidden(session, sets):
    made, real = sets
    for row in run(session, made, real, min_count=50).values():
        assert (row["suppressed"], row["value"], row["original"], row["difference"], row["change"]) == (
            True,
            *[None] * 4,
        )

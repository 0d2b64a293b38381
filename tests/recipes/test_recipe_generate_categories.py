"""The recipe generate_categories from words to shares, on tiny models of the real architectures; more attempts add only their own."""

from __future__ import annotations

import importlib.util
import json

import pytest
from function_calls import called

from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.recipes.model import StepError

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")
open_clip = pytest.importorskip("open_clip")
if importlib.util.find_spec("ultralytics") is None:  # importing it changes the process, unless our module does it
    pytest.skip("ultralytics is not installed", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")]

PROMPTS = {
    "doctor": "A picture of a doctor",
    "artist": "A picture of an artist",
    "angry": "A picture of an angry person",
}
PURPOSE = "a test of the recipe"


def classifier(folder):
    from safetensors.torch import save_file

    vision = {"image_size": 32, "layers": 1, "width": 16, "head_width": 8, "patch_size": 16}
    text = {"context_length": 4, "vocab_size": 8, "width": 16, "heads": 2, "layers": 1}
    folder.mkdir()
    torch.manual_seed(3)
    tower, head = open_clip.CLIP(16, vision, text).visual.eval(), torch.nn.Linear(16, 2)
    state = {f"tower.{k}": v.contiguous() for k, v in tower.state_dict().items()}
    save_file({**state, "head.weight": head.weight.data, "head.bias": head.bias.data}, folder / "model.safetensors")
    config = {
        "format": "counterbalance classifier 1",
        "attribute": "perceived_gender",
        "classes": ["female", "male"],
        "architecture": {"name": "tiny", "embed_dim": 16, "quick_gelu": False, "vision_cfg": vision},
        "preprocessing": {
            "size": [32, 32], "mean": [0.5] * 3, "std": [0.5] * 3, "interpolation": "bicubic", "resize_mode": "squash",
            "fill_color": 0,
        },
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))


@pytest.fixture(scope="module")
def given(tmp_path_factory, tiny_diffusion, tiny_detector, tiny_safety):
    """Parameters that name the tiny models."""
    folder = tmp_path_factory.mktemp("models")
    classifier(folder / "gender")
    return {
        "categories": "wanted",
        "checkpoint": str(folder / "gender"),
        "detector": tiny_detector,
        "nsfw_model": tiny_safety,
        "max_nsfw": 1.1,
        "model": str(tiny_diffusion("StableDiffusionPipeline")),
        "size": 64,
        "steps": 1,
        "attempts": 2,
        "min_side": 1,
        "min_count": 1,
    }


@pytest.fixture
def wanted(disk_lake, build):
    """A lake with categories."""
    disk_lake.ingest({"images": build.images(image_id=[1])})
    words = "('doctor', 'noun'), ('artist', NULL), ('angry', 'adjective'), (' ', 'noun')"
    disk_lake.sql(
        "CREATE MATERIALIZED VIEW wanted WITH (key = 'category') AS "
        f"SELECT * FROM (VALUES {words}) AS w (category, kind)"
    )
    disk_lake.refresh("wanted")
    return disk_lake


def run(lake, given, **more):
    return lake.recipe("generate_categories", given, refresh={"executor": "inline"}, **more)


def threshold(lake, given):
    """A score that leaves exactly one person in at least one of the pictures: between its best two boxes."""
    pictures = [p for (p,) in lake.sql("SELECT list_first([image]) FROM generated_pictures").fetchall()]
    constants = {"model": given["detector"], "score": 0.001, "iou": 0.7, "size": 640}
    found = called("detect_people", constants, pictures)
    best = [
        [*(box["score"] for box in people), 0.001, 0.001][:2] for people in getattr(found, "values", found).to_pylist()
    ]
    first, second = max(best, key=lambda pair: pair[0] - pair[1])
    assert first > second
    return (first + second) / 2


@pytest.mark.thorough
def test_from_words_to_shares(wanted, given):
    lake = wanted
    run(lake, given, until="generate")
    asked = lake.sql("SELECT category, place, prompt, seed FROM generated_pictures ORDER BY ALL").fetchall()
    assert [(c, n, p) for c, n, p, _ in asked] == [(c, n, PROMPTS[c]) for c in sorted(PROMPTS) for n in (1, 2)]
    assert len({seed for *_, seed in asked}) == 6
    given = {**given, "score": threshold(lake, given)}

    with pytest.raises(StepError, match="step label of generate_categories"):
        run(lake, given)
    done = run(lake, given, sensitive=PURPOSE)
    people = dict(lake.sql("SELECT image_id, len(people) FROM generated_pictures").fetchall())
    alone = {i for i, n in people.items() if n == 1}
    assert alone
    assert {i for (i,) in lake.sql("SELECT image_id FROM generated_persons").fetchall()} == alone
    counts = done.results["counts"].to_pylist()
    assert {(c["pictures"], c["made"]) for c in counts} == {(2, 2)}
    assert sum(c["accepted"] for c in counts) == len(alone)
    assert sum(c["flagged"] for c in counts) == 0

    with pytest.raises(SensitiveError):
        lake.sql("SELECT * FROM generated_labels")
    labels = dict(lake.sql("SELECT image_id, label FROM generated_labels", sensitive=PURPOSE).fetchall())
    assert set(labels) == alone
    assert set(labels.values()) <= {"female", "male"}
    kinds = dict(lake.sql("SELECT image_id, category FROM generated_persons").fetchall())
    for row in done.results["ratio"].to_pylist():
        own = [label for i, label in labels.items() if kinds[i] == row["category"]]
        assert (row["n"], row["value"]) == (len(own), own.count("female") / len(own))

    before = lake.sql("SELECT image_id, sha256(list_first([image])) FROM generated_pictures").fetchall()
    scores = dict(lake.sql("SELECT image_id, nsfw FROM generated_pictures").fetchall())
    limit = max(scores[i] for i in alone)  # of those that were accepted, this one at least is flagged now
    more = run(lake, {**given, "attempts": 3, "most": 1, "max_nsfw": limit}, sensitive=PURPOSE)
    after = dict(lake.sql("SELECT image_id, sha256(list_first([image])) FROM generated_pictures").fetchall())
    assert len(after) == 9
    assert all(after[i] == digest for i, digest in before)
    assert all(row["n"] <= 1 for row in more.results["ratio"].to_pylist())
    scores = dict(lake.sql("SELECT image_id, nsfw FROM generated_pictures").fetchall())
    assert sum(c["flagged"] for c in more.results["counts"].to_pylist()) == sum(s >= limit for s in scores.values()) > 0
    kept = lake.sql("SELECT image_id, nsfw FROM generated_persons").fetchall()
    assert all(scores[i] == score < limit for i, score in kept)


@pytest.mark.thorough
def test_a_multimodal_model_labels_in_the_place_of_the_classifier(wanted, given, tiny_asker, tmp_path):
    """Its answers that are no clear label take no place among those that count."""
    asker = str(tiny_asker(tmp_path / "asker"))
    given = {**given, "labeller": "model", "checkpoint": asker, "attempts": 4}
    run(wanted, given, until="generate")
    given["score"] = threshold(wanted, given)
    done = run(wanted, given, sensitive=PURPOSE)
    boxes = wanted.sql(
        "SELECT image_id, category, crop(image, x, y, width, height) FROM generated_persons", sensitive=PURPOSE
    )
    kinds = {image: (category, crop) for image, category, crop in boxes.fetchall()}
    labels = dict(wanted.sql("SELECT image_id, label FROM generated_labels", sensitive=PURPOSE).fetchall())
    constants = {"attribute": "perceived_gender", "checkpoint": asker, "labeller": "model"}
    said = called("label_person", constants, [crop for _, crop in kinds.values()]).values.to_pylist()
    assert labels == {image: one["label"] for image, one in zip(kinds, said, strict=True)}
    for row in done.results["ratio"].to_pylist():
        own = [label for i, label in labels.items() if kinds[i][0] == row["category"]]
        clear = [label for label in own if label in {"female", "male"}]
        assert (row["n"] or 0) == len(clear)


def test_the_papers_preset():
    from counterbalance.engine.recipes.files import recipes
    from counterbalance.engine.recipes.values import literals

    recipe = recipes()["generate_categories"]
    given = literals(recipe, {"preset": "paper"})
    assert (given["labeller"], given["checkpoint"]) == ("'model'", "'OpenGVLab/InternVL3-2B-hf'")
    assert given["prompt"] == "'A picture of a {category}'"  # also before a vowel, as it is printed
    assert literals(recipe, {})["labeller"] == "'classifier'"
    assert literals(recipe, {})["checkpoint"] is None

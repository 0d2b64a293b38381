"""nsfw_score: what a classifier of transformers says, called directly; nsfw_flagged lets nothing pass that nobody looked at."""

from __future__ import annotations

import io
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

import counterbalance as cb
from counterbalance.engine.errors import FunctionError, NotFoundError, RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

FIVE = ["drawings", "Hentai", "neutral", "PORN", "sexy"]


def png(size, seed):
    pixels = np.random.default_rng(seed).integers(0, 255, (5, 5, 3), np.uint8)
    return image_bytes(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC))


PICTURES = [png(size, i) for i, size in enumerate([(40, 30), (30, 40), (64, 64), (3, 50), (50, 1), (9, 3)])]


def classifier(folder, labels, **options):
    """A small ViT with its processor, saved."""
    torch.manual_seed(1)
    layers = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
    config = transformers.ViTConfig(image_size=32, patch_size=8, **layers, id2label=dict(enumerate(labels)), **options)
    made = transformers.ViTForImageClassification(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(8 if weight.ndim > 1 else 1)
    made.save_pretrained(folder)
    processor = transformers.ViTImageProcessor(size={"height": 32, "width": 32})
    processor.save_pretrained(folder)
    return made, processor


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    return str(folder), *classifier(folder, ["normal", "nsfw"])


def run(model, images):
    found = called("nsfw_score", {"model": model}, images)
    return found.values.to_pylist(), found.errors


def direct(model, processor, places):
    scores = []
    for data in PICTURES:
        picture = Image.open(io.BytesIO(data)).convert("RGB")
        with torch.inference_mode():
            logits = model(**processor(picture, return_tensors="pt")).logits[0]
        scores.append(sum(logits.softmax(-1)[p].item() for p in places))
    return scores


def test_scores_are_those_of_transformers(two):
    folder, model, processor = two
    found, errors = run(folder, PICTURES)
    assert not errors
    assert found == pytest.approx(direct(model, processor, [1]), abs=1e-5)
    assert max(found) - min(found) > 0.1


def test_labels_by_their_names(tmp_path):
    model, processor = classifier(tmp_path, FIVE)
    assert run(str(tmp_path), PICTURES)[0] == pytest.approx(direct(model, processor, [1, 3, 4]), abs=1e-5)


def test_rows_without_a_picture(two):
    values, errors = run(two[0], [None, b"no picture", PICTURES[0], PICTURES[0][:60]])
    assert values[0] is values[1] is values[3] is None
    assert values[2] == pytest.approx(run(two[0], PICTURES)[0][0], abs=1e-6)
    assert set(errors) == {1, 3}
    assert run(two[0], [None]) == ([None], {})


@pytest.mark.parametrize(
    ("labels", "options", "code"),
    [
        (["safe", "unsafe"], {}, "E3611"),
        (["nsfw", "porn"], {}, "E3611"),
        (["normal", "nsfw"], {"problem_type": "multi_label_classification"}, "E3536"),
    ],
)
def test_models_that_cannot_tell(tmp_path, labels, options, code):
    classifier(tmp_path, labels, **options)
    with pytest.raises(RequestError) as caught:
        run(str(tmp_path), PICTURES)
    assert caught.value.code == code
    assert code == "E3536" or labels[0] in caught.value.message


def test_models_of_another_kind(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    with pytest.raises(RequestError, match="not a model for image classification"):
        run(str(tmp_path), PICTURES)
    with pytest.raises(NotFoundError, match="no weights"):
        run("nobody/nothing", PICTURES)


def test_what_nobody_looked_at_is_flagged():
    flagged = function("nsfw_flagged")
    score = pa.array([0.0, 0.49, 0.5, 0.9, None, math.nan], pa.float32())
    assert flagged.open({"threshold": 0.5})([score]).to_pylist() == [False, False, True, True, True, True]
    assert flagged.open({"threshold": 0.0})([score]).to_pylist() == [True] * 6
    assert flagged.open({"threshold": 1.0})([score]).to_pylist() == [False] * 4 + [True] * 2
    for wrong in (-0.1, 1.1, math.nan):
        with pytest.raises(FunctionError) as caught:
            flagged.open({"threshold": wrong})([score])
        assert caught.value.code == "E8116"


def test_in_a_lake_a_broken_picture_is_told_and_flagged(two, tmp_path):
    lake = cb.connect(tmp_path / "scored.lake")
    rows = {"image_id": [1, 2, 3], "image": pa.array([PICTURES[0], PICTURES[1][:60], None], pa.binary())}
    lake.ingest({"images": pa.table(rows)})
    lake.sql(f"ALTER TABLE images ADD COLUMN nsfw_by_model AS (nsfw_score(image, model := '{two[0]}'))")
    lake.refresh(executor="inline")
    score = run(two[0], PICTURES)[0][0]
    found = lake.sql(
        "SELECT image_id, nsfw_by_model, nsfw_flagged(nsfw_by_model, threshold := 1.0) FROM images ORDER BY 1"
    )
    assert found.fetchall() == [(1, pytest.approx(score, abs=1e-6), False), (2, None, True), (3, None, True)]
    assert lake.sql('SELECT "key" FROM meta.errors').fetchall() == [("2",)]

"""clip_score is the cosine of both vectors; classify_zero_shot is open_clip's own zero-shot classifier."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import RequestError

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")


def picture(seed):
    pixels = np.random.default_rng(seed).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    return image_bytes(Image.fromarray(pixels // (1 + seed % 3)))


@pytest.fixture(scope="module")
def direct(tiny_clip):
    """A folder, and what open_clip alone makes of pictures and texts with it."""
    folder = tiny_clip(seed=5)
    model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
    tokenize = open_clip.get_tokenizer(f"local-dir:{folder}")
    model.eval()

    def images(pictures):
        with torch.inference_mode():
            tensors = torch.stack([transform(Image.open(io.BytesIO(p))) for p in pictures])
            return model.encode_image(tensors, normalize=True)

    return folder, model, tokenize, images


def test_score_is_the_cosine(direct):
    folder, model, tokenize, images = direct
    pictures, texts = [picture(i) for i in range(5)], ["a dog", "a cat", "a dog", "", "a man and a woman"]
    found = called("clip_score", {"model": str(folder)}, pa.array(pictures, pa.binary()), pa.array(texts))
    with torch.inference_mode():
        expected = (images(pictures) * model.encode_text(tokenize(texts), normalize=True)).sum(1)
    assert found.values.type == pa.float32()
    assert found.values.to_numpy() == pytest.approx(expected.numpy(), abs=1e-6)


def test_score_of_nothing(direct):
    """NULL where either is NULL, even beside a picture that cannot be read."""
    pictures = pa.array([None, picture(0), b"no picture", b"no picture"], pa.binary())
    found = called("clip_score", {"model": str(direct[0])}, pictures, pa.array(["a", None, "b", None]))
    assert found.values.null_count == 4
    assert set(found.errors) == {2}


def test_labels_as_open_clip_finds_them(direct):
    folder, model, tokenize, images = direct
    labels, templates = ["dog", "cat", "traffic light"], ["a photo of a {}.", "a drawing of a {}"]
    pictures = [picture(i) for i in range(6)]
    constants = {"labels": labels, "templates": templates, "model": str(folder)}
    found = called("classify_zero_shot", constants, pa.array([*pictures, None], pa.binary())).values.to_pylist()
    classes = open_clip.build_zero_shot_classifier(model, tokenize, labels, templates)
    with torch.inference_mode():
        expected = (model.logit_scale.exp() * images(pictures) @ classes).softmax(1).numpy()
    assert found.pop() is None
    assert np.array([r["scores"] for r in found]) == pytest.approx(expected, abs=1e-5)
    assert [r["label"] for r in found] == [labels[i] for i in expected.argmax(1)]
    assert [r["score"] for r in found] == pytest.approx(expected.max(1), abs=1e-5)


@pytest.mark.parametrize(
    ("labels", "templates", "said"),
    [
        ([], ["{}"], "labels"),
        ("dog", ["{}"], "labels"),
        (["dog", ""], ["{}"], "labels"),
        (["dog", "dog"], ["{}"], "twice"),
        (["dog"], [], "templates"),
        (["dog"], ["a photo"], "no {} for the label"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(lake, direct, labels, templates, said):
    lists = [repr(v) if isinstance(v, str) else "[" + ", ".join(map(repr, v)) + "]" for v in (labels, templates)]
    with pytest.raises(RequestError, match=said) as caught:
        lake.add_column("images", "kind", f"classify_zero_shot(image, {lists[0]}, {lists[1]}, '{direct[0]}')")
    assert caught.value.code == "E3051"

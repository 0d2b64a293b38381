"""embed_image and embed_text give what open_clip gives for the same weights, picture by picture and text by text."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

torch = pytest.importorskip("torch")
open_clip = pytest.importorskip("open_clip")


def picture(width, height, seed=0, kind="PNG"):
    """Waves with noise on them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:height, :width]
    waves = 127 + 90 * np.sin(x[..., None] / (5 + np.arange(3)) + y[..., None] / 9)
    return image_bytes(Image.fromarray(np.clip(waves + rng.normal(0, 20, waves.shape), 0, 255).astype(np.uint8)), kind)


def matrix(values):
    return np.array(values.to_pylist(), np.float32)


class Direct:
    """open_clip without us."""

    def __init__(self, folder):
        self.model, _, self.transform = open_clip.create_model_and_transforms(f"local-dir:{folder}")
        self.model.eval()
        self.tokenize = open_clip.get_tokenizer(f"local-dir:{folder}")

    def images(self, pictures):
        with torch.inference_mode():
            tensors = torch.stack([self.transform(Image.open(io.BytesIO(p))) for p in pictures])
            return self.model.encode_image(tensors, normalize=True).numpy()

    def texts(self, texts):
        with torch.inference_mode():
            return self.model.encode_text(self.tokenize(texts), normalize=True).numpy()


SIZES = [(64, 48), (48, 64), (33, 200), (200, 33), (32, 32), (31, 30), (7, 5), (1, 40), (227, 149)]
PREPARATIONS = [
    {},
    {"resize_mode": "squash", "interpolation": "bilinear", "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.4, 0.3]},
    {"resize_mode": "longest", "fill_color": 77},
]


@pytest.mark.parametrize("preprocess", PREPARATIONS, ids=["shortest", "squash", "longest"])
@pytest.mark.parametrize("size", [32, [24, 40]], ids=["square", "oblong"])
def test_pictures_are_prepared_to_the_bit(tiny_clip, preprocess, size):
    from counterbalance.udfs.models.clip_model import Clip

    folder = tiny_clip(preprocess=preprocess, image_size=size)
    clip, direct = Clip(str(folder), "cpu"), Direct(folder)
    for number, (width, height) in enumerate(SIZES):
        opened = Image.open(io.BytesIO(picture(width, height, number)))
        ours = clip.preparation.tensor(torch.from_numpy(clip.preparation(opened)[None].copy()))[0]
        assert torch.equal(ours, direct.transform(opened)), (width, height)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_vectors_of_pictures(tiny_clip, kind):
    folder = tiny_clip()
    pictures = [picture(w, h, i, kind) for i, (w, h) in enumerate(SIZES)]
    found = called("embed_image", {"model": str(folder), "drop": None}, pa.array(pictures, pa.binary()))
    assert found.values.type == pa.list_(pa.float32(), 16)
    assert matrix(found.values) == pytest.approx(Direct(folder).images(pictures), abs=1e-6)


def test_vectors_of_texts_cut_at_the_context(tiny_clip):
    folder = tiny_clip()
    texts = ["a doctor", "", "A  Doctor ", "un café près de la gare", "two dogs run on the grass " * 9, "two dogs"]
    found = matrix(called("embed_text", {"model": str(folder), "drop": None}, pa.array(texts)).values)
    assert found == pytest.approx(Direct(folder).texts(texts), abs=1e-6)
    cut = " ".join((texts[4] * 3).split()[:14])  # 16 tokens less begin and end; each of these words is one
    assert found[4] == pytest.approx(Direct(folder).texts([cut])[0], abs=1e-6)


def test_a_row_does_not_depend_on_those_beside_it(tiny_clip):
    folder = tiny_clip()
    pictures = [picture(40 + i, 30, i) for i in range(70)]  # more than two batches
    texts = [f"picture number {i}" for i in range(140)]
    for name, values in (("embed_image", pa.array(pictures, pa.binary())), ("embed_text", pa.array(texts))):
        constants = {"model": str(folder), "drop": None}
        whole = called(name, constants, values).values
        again = called(name, constants, values).values
        assert whole.equals(again)
        alone = matrix(called(name, constants, values.slice(69, 1)).values)
        assert matrix(whole)[69:70] == pytest.approx(alone, abs=1e-6)


def test_nulls_and_unreadable_pictures(tiny_clip):
    good = picture(64, 48)
    rows = pa.array([None, good, b"GIF89a but no picture", b"", good], pa.binary())
    found = called("embed_image", {"model": str(tiny_clip()), "drop": None}, rows)
    assert set(found.errors) == {2, 3}
    assert found.values.is_valid().to_pylist() == [False, True, False, False, True]
    assert found.values[1] == found.values[4]
    none = called("embed_text", {"model": str(tiny_clip()), "drop": None}, pa.nulls(3, pa.string()))
    assert none.values.null_count == 3


def test_a_needle_of_a_picture_is_refused(tiny_clip):
    """60,000 x 1 pixels would be 1.9 million x 32 when its short side is 32."""
    found = called(
        "embed_image", {"model": str(tiny_clip()), "drop": None}, pa.array([picture(60_000, 1)], pa.binary())
    )
    assert "too long and thin" in found.errors[0]


def test_dropped_dimensions(tiny_clip):
    """CLIP-clip: gone, and of length 1 again."""
    folder, drop = tiny_clip(), [0, 7, 15]
    pictures = [picture(64, 48, i) for i in range(4)]
    constants = {"model": str(folder), "drop": drop}
    found = called("embed_image", constants, pa.array(pictures, pa.binary())).values
    kept = np.delete(Direct(folder).images(pictures), drop, axis=1)
    assert found.type == pa.list_(pa.float32(), 13)
    assert matrix(found) == pytest.approx(kept / np.linalg.norm(kept, axis=1, keepdims=True), abs=1e-6)
    texts = matrix(called("embed_text", constants, pa.array(["a dog"])).values)
    kept = np.delete(Direct(folder).texts(["a dog"]), drop, axis=1)
    assert texts == pytest.approx(kept / np.linalg.norm(kept), abs=1e-6)


def test_weights_as_plain_tensors_of_a_training(tiny_clip, tmp_path):
    """A checkpoint as open_clip's training writes it, read with weights_only."""
    source = tiny_clip(seed=3)
    from safetensors.torch import load_file

    state = {f"module.{name}": value for name, value in load_file(source / "open_clip_model.safetensors").items()}
    torch.save({"epoch": 1, "name": "tiny", "state_dict": state}, tmp_path / "epoch_1.pt")
    (tmp_path / "open_clip_config.json").write_text((source / "open_clip_config.json").read_text())
    rows = pa.array([picture(64, 48)], pa.binary())
    one, other = (called("embed_image", {"model": str(f), "drop": None}, rows).values for f in (source, tmp_path))
    assert one.equals(other)


def test_a_pickle_is_not_run(tiny_clip, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    torch.save({"state_dict": Trap()}, tmp_path / "model.pt")
    (tmp_path / "open_clip_config.json").write_text((tiny_clip() / "open_clip_config.json").read_text())
    with pytest.raises(Exception, match=r"model\.pt cannot be loaded"):
        called("embed_text", {"model": str(tmp_path), "drop": None}, pa.array(["x"]))
    assert not (tmp_path / "sprung").exists()


def test_weights_of_another_architecture(tiny_clip, tmp_path):
    source = tiny_clip()
    described = json.loads((source / "open_clip_config.json").read_text())
    described["model_cfg"]["vision_cfg"]["layers"] = 3
    (tmp_path / "open_clip_config.json").write_text(json.dumps(described))
    (tmp_path / "open_clip_model.safetensors").write_bytes((source / "open_clip_model.safetensors").read_bytes())
    with pytest.raises(Exception, match="cannot be loaded") as caught:
        called("embed_text", {"model": str(tmp_path), "drop": None}, pa.array(["x"]))
    assert caught.value.code == "E3546"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")
def test_on_a_gpu_nearly_as_on_a_cpu(tiny_clip):
    """Pictures come from processes and matrices are bfloat16 there; row 7 cannot be read on either."""
    pictures = [picture(40 + i % 9, 30, i) for i in range(1100)]
    pictures[7] = b"no picture"
    rows, found = pa.array(pictures, pa.binary()), {}
    for device in ("cpu", "cuda:0"):
        found[device] = called("embed_image", {"model": str(tiny_clip()), "drop": None}, rows, device=device)
    one, other = found.values()
    assert set(one.errors) == set(other.errors) == {7}
    keep = [i for i in range(len(rows)) if i != 7]
    cosines = (matrix(one.values.take(keep)) * matrix(other.values.take(keep))).sum(1)
    assert cosines.min() > 0.99

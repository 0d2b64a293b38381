"""Candidates of a source encode its picture once and each text once, and are the pictures that each makes for itself."""

from __future__ import annotations

import importlib
import io

import numpy as np
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

from counterbalance.udfs.models import diffusion_model, encoded

diffusers = pytest.importorskip("diffusers")
transformers = pytest.importorskip("transformers")

SEEDS = (3, 4, 5)
TEXTS = ("a man", "a woman")


@pytest.fixture(scope="module")
def painter(tiny_diffusion):
    return tiny_diffusion("StableDiffusionInpaintPipeline", channels=9)


@pytest.fixture(scope="module")
def editor(tiny_diffusion):
    return tiny_diffusion("StableDiffusionInstructPix2PixPipeline", channels=8)


@pytest.fixture
def asked(monkeypatch):
    """How many texts and pictures the encoders were given, and how many pictures were decoded."""
    counts = {"texts": 0, "pictures": 0, "decoded": 0}

    def counted(owner, name, what, rows):
        plain = getattr(owner, name)

        def call(*given, **how):
            counts[what] += rows(*given)
            return plain(*given, **how)

        monkeypatch.setattr(owner, name, call)

    counted(transformers.CLIPTextModel, "forward", "texts", lambda model, ids, *_: len(ids))
    counted(diffusers.AutoencoderKL, "_encode", "pictures", lambda model, x: len(x))
    for name in ("inpaint", "instruct_pix2pix"):
        module = importlib.import_module(f"counterbalance.udfs.models.{name}")
        counted(module, "decode", "decoded", lambda data: 1)
    return counts


def encoded_picture(seed):
    noise = np.random.default_rng(seed).integers(0, 256, (7, 9, 3), np.uint8)
    return image_bytes(Image.fromarray(noise).resize((80, 64), Image.Resampling.BICUBIC))


def mask():
    white = Image.new("L", (80, 64))
    white.paste(255, (20, 10, 60, 50))
    return image_bytes(white)


def candidates(sources=2):
    """Every source, text, guidance and seed."""
    return [(s, t, g, seed) for s in range(sources) for t in TEXTS for g in (7.5, 9.5) for seed in SEEDS]


def made(name, folder, rows):
    """Bytes of the candidates."""
    own = {
        "inpaint": lambda s, t, g, seed: (encoded_picture(s), mask(), t, g, 2, seed),
        "instruct_pix2pix": lambda s, t, g, seed: (encoded_picture(s), 8.0, 4.0, 60.0, 50.0, t, g, 1.5, 2, seed),
    }[name]
    result = called(name, {"model": str(folder), "size": 64}, *zip(*(own(*row) for row in rows), strict=True))
    assert result.errors == {}
    return result.values.to_pylist()


@pytest.mark.parametrize(("name", "decoded"), [("inpaint", 4), ("instruct_pix2pix", 2)])  # masks are pictures, too
def test_each_text_and_each_picture_is_encoded_once(request, asked, name, decoded):
    folder = request.getfixturevalue({"inpaint": "painter", "instruct_pix2pix": "editor"}[name])
    assert len(set(made(name, folder, candidates()))) == len(candidates())
    assert asked == {"texts": len(TEXTS) + 1, "pictures": 2, "decoded": decoded}  # and the text that says nothing


@pytest.mark.parametrize("name", ["inpaint", "instruct_pix2pix"])
def test_they_are_the_pictures_that_each_makes_for_itself(request, asked, monkeypatch, name):
    """To a level of 255: kernels of some processors round otherwise where several are encoded at once."""
    folder = request.getfixturevalue({"inpaint": "painter", "instruct_pix2pix": "editor"}[name])
    rows = candidates(sources=1)
    together = made(name, folder, rows)
    before = asked["pictures"]
    monkeypatch.setattr(diffusion_model, "encode_once", lambda pipeline: None)
    alone = made(name, folder, rows)
    for one, other in zip(alone, together, strict=True):
        levels = [np.asarray(Image.open(io.BytesIO(picture))).astype(int) for picture in (one, other)]
        assert np.abs(levels[0] - levels[1]).max() <= 1
        assert (levels[0] != levels[1]).mean() < 0.01
    assert asked["pictures"] - before == len(rows)


def test_what_is_kept_has_an_end():
    torch = pytest.importorskip("torch")
    kept, calls = encoded.Kept(most=100), []

    def of(key):
        return kept.of(key, lambda: calls.append(key) or {"x": (torch.zeros(5, dtype=torch.float64),)})  # 40 bytes

    for key in "aabacbd":  # the longest unused of three goes
        of(key)
    assert calls == ["a", "b", "c", "b", "d"]

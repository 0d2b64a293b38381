"""generate, inpaint and instruct_pix2pix run what diffusers' auto pipelines know: as diffusers does, by seed, and nothing outside."""

from __future__ import annotations

import io

import numpy as np
import pytest
from function_calls import called
from image_files import image_bytes
from PIL import Image

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

DEV, SCHNELL = {"guidance_embeds": True}, {"guidance_embeds": False}
TRUE = {"negative_prompt": " ", "true_cfg_scale": 4.0}
"""What diffusers is told where the guidance is not distilled."""
DRAWN = [
    ("StableDiffusion3Pipeline", {}, {"guidance_scale": 4.0}),
    ("FluxPipeline", DEV, {"guidance_scale": 4.0}),
    ("FluxPipeline", SCHNELL, TRUE),
    ("QwenImagePipeline", {}, TRUE),
]
PAINTED = [
    ("StableDiffusion3Pipeline", {}, "StableDiffusion3InpaintPipeline", {"guidance_scale": 4.0, "strength": 1.0}),
    ("FluxPipeline", DEV, "FluxInpaintPipeline", {"guidance_scale": 4.0, "strength": 1.0}),
    ("FluxFillPipeline", DEV, "FluxFillPipeline", {"guidance_scale": 4.0}),
    (
        "FluxKontextPipeline",
        DEV,
        "FluxKontextInpaintPipeline",
        {"guidance_scale": 4.0, "_auto_resize": False, "max_area": 8192},
    ),
    ("QwenImagePipeline", {}, "QwenImageInpaintPipeline", TRUE | {"strength": 1.0}),
]
EDITED = [
    ("FluxKontextPipeline", DEV, {"guidance_scale": 4.0, "_auto_resize": False, "max_area": 8192}),
    ("QwenImageEditPipeline", {}, TRUE),
]
SOURCE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (8, 16, 3), np.uint8)).resize((128, 64))
MASK = Image.new("L", (128, 64))
MASK.paste(255, (16, 16, 80, 48))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Checkpoints by class and configuration, each made once."""
    import transformer_pipelines

    made = {}

    def make(kind, network):
        key = kind, *network.items()
        if key not in made:
            made[key] = transformer_pipelines.save(tmp_path_factory.mktemp("family"), kind, **network)
        return made[key]

    return make


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def pictures_of(name, folder, *rows, **constants):
    result = called(name, {"model": str(folder), **constants}, *zip(*rows, strict=True))
    assert result.errors == {}
    return [pixels(v) for v in result.values.to_pylist()]


def direct(kind, folder, prompt, seed, steps=2, **how):
    pipeline = getattr(diffusers, kind).from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    noise = torch.Generator("cpu").manual_seed(seed)
    made = pipeline(prompt=prompt, generator=noise, num_inference_steps=steps, width=128, height=64, **how).images[0]
    return np.asarray(made).astype(int)


@pytest.mark.parametrize(("kind", "network", "how"), DRAWN)
def test_pictures_are_drawn_as_diffusers_draws_them(tiny, kind, network, how):
    folder = tiny(kind, network)
    rows = [("a man on a dog", 4.0, 2, 5), ("a cat", 4.0, 2, 5), ("a man on a dog", 4.0, 2, 6)]
    one, other, seeded = pictures_of("generate", folder, *rows, width=128, height=64)
    assert np.abs(one - direct(kind, folder, rows[0][0], 5, **how)).max() <= 1
    assert np.abs(one - other).max() > 1
    assert np.abs(one - seeded).max() > 5


@pytest.mark.parametrize(("kind", "network", "painter", "how"), PAINTED)
def test_masks_are_painted_and_the_rest_stays(tiny, kind, network, painter, how):
    folder = tiny(kind, network)
    row = (image_bytes(SOURCE), image_bytes(MASK), "a cat", 4.0, 2, 5)
    found, seeded = pictures_of("inpaint", folder, row, (*row[:-1], 6), size=128)
    white = np.asarray(MASK) > 0
    np.testing.assert_array_equal(found[~white], np.asarray(SOURCE)[~white])
    wanted = direct(painter, folder, "a cat", 5, image=SOURCE, mask_image=MASK, **how)
    assert np.abs(found - wanted)[white].max() <= 1
    assert np.abs(found - seeded)[white].max() > 5


@pytest.mark.parametrize(("kind", "network", "how"), EDITED)
def test_boxes_are_edited_and_the_rest_stays(tiny, kind, network, how, monkeypatch):
    if kind.startswith("Qwen"):  # it looks at a million pixels, for a minute
        qwen = "diffusers.pipelines.qwenimage.pipeline_qwenimage_edit.calculate_dimensions"
        monkeypatch.setattr(qwen, lambda area, ratio: (128, 64, None))
    folder = tiny(kind, network)
    wide = Image.new("RGB", (200, 80), "red")
    wide.paste(SOURCE, (30, 10))
    row = image_bytes(wide), 30, 10, 128, 64, "a cat", 4.0, 1.5, 1, 5
    found = pictures_of("instruct_pix2pix", folder, row, size=128)[0]
    inside = np.zeros((80, 200), bool)
    inside[10:74, 30:158] = True
    np.testing.assert_array_equal(found[~inside], np.asarray(wide)[~inside])
    wanted = direct(kind, folder, "a cat", 5, steps=1, image=SOURCE, **how)
    assert np.abs(found[10:74, 30:158] - wanted).max() <= 1


def test_prompt_to_prompt_refuses_a_transformer(tiny):
    with pytest.raises(RequestError) as error:
        function("prompt_to_prompt").open(
            {"model": str(tiny("FluxPipeline", DEV)), "attention": "cross", "size": 64}, "cpu"
        )
    assert error.value.code == "E3601"


def test_an_instruction_is_nothing_for_a_pipeline_that_starts_from_pictures(tiny):
    with pytest.raises(RequestError) as error:
        function("instruct_pix2pix").open({"model": str(tiny("FluxPipeline", DEV)), "size": 64}, "cpu")
    assert error.value.code == "E3601"

"""generate makes the pictures that diffusers' own pipelines make, row by row, from files that cannot run anything."""

from __future__ import annotations

import io
import json
import shutil

import numpy as np
import pytest
from function_calls import called
from PIL import Image

from counterbalance.engine.errors import CounterbalanceError, FunctionError, NotFoundError, RequestError

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")


@pytest.fixture(scope="module")
def checkpoint(tiny_diffusion):
    return tiny_diffusion("StableDiffusionPipeline")


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def made(folder, *rows, width=64, height=64, **more):
    """Result of rows of (prompt, guidance, steps, seed)."""
    constants = {"model": str(folder), "width": width, "height": height, **more}
    return called("generate", constants, *zip(*rows, strict=True))


def direct(folder, prompt, guidance, steps, seed, width=64, height=64, kind="StableDiffusionPipeline"):
    pipeline = getattr(diffusers, kind).from_pretrained(folder)
    pipeline.set_progress_bar_config(disable=True)
    noise = torch.Generator("cpu").manual_seed(seed)
    return np.asarray(
        pipeline(
            prompt, guidance_scale=guidance, num_inference_steps=steps, generator=noise, width=width, height=height
        ).images[0]
    ).astype(int)


def test_as_diffusers_makes_it(checkpoint):
    result = made(checkpoint, ("a man on a dog", 7.5, 2, 5), width=72, height=64)
    assert result.errors == {}
    found = pixels(result.values[0].as_py())
    wanted = direct(checkpoint, "a man on a dog", 7.5, 2, 5, width=72)
    assert found.shape == (64, 72, 3)
    np.testing.assert_array_equal(found, wanted)
    assert found.std() > 5


def test_stable_diffusion_xl(tiny_diffusion):
    folder = tiny_diffusion("StableDiffusionXLPipeline")
    found = pixels(made(folder, ("a cat", 5.0, 2, 3)).values[0].as_py())
    np.testing.assert_array_equal(found, direct(folder, "a cat", 5.0, 2, 3, kind="StableDiffusionXLPipeline"))


def test_rows_with_settings_of_their_own_share_a_batch(checkpoint):
    rows = [
        ("a man", 7.5, 2, 1),
        ("a woman", 15.0, 2, 1),
        ("a dog", 7.5, 3, 9),
        ("a cat", 7.5, 2, -4),
        ("a cat", 1.0, 2, 8),
    ]
    together = [pixels(v) for v in made(checkpoint, *rows).values.to_pylist()]
    for row, found in list(zip(rows, together, strict=True))[::2]:
        alone = pixels(made(checkpoint, row).values[0].as_py())
        assert np.abs(found - alone).max() <= 1
    for i, one in enumerate(together):
        assert all(np.abs(one - other).max() > 5 for other in together[i + 1 :])


def test_the_same_again_is_the_same_bytes(checkpoint):
    rows = [("a man", 7.5, 2, 1), ("a woman", 7.5, 2, 1)]
    assert made(checkpoint, *rows).values == made(checkpoint, *rows).values


def test_null_gives_null_and_what_cannot_be_fails_alone(checkpoint):
    rows = [("a man", 7.5, 1, 1), (None, 7.5, 1, 1), ("a man", None, 1, 1), ("a man", float("nan"), 1, 1), ("a man", 0.5, 1, 1),
            ("a man", 7.5, 0, 1), ("a man", 7.5, 1001, 1), ("", 7.5, 1, 1)]  # fmt: skip
    result = made(checkpoint, *rows)
    assert [v.is_valid for v in result.values] == [True] + 6 * [False] + [True]
    assert sorted(result.errors) == [3, 4, 5, 6]
    assert "guidance" in result.errors[3]
    assert "1 to 1000" in result.errors[6]


@pytest.mark.parametrize("flags", [True, False])
def test_a_flagged_picture_is_an_error_and_not_a_black_one(tiny_diffusion, flags):
    folder = tiny_diffusion("StableDiffusionPipeline", flags=flags)
    result = made(folder, ("a man", 7.5, 1, 1))
    assert result.values[0].is_valid is not flags
    assert [m.partition(":")[0] for m in result.errors.values()] == ["nsfw"] * flags


def test_without_safety_no_checker_is_loaded(tiny_diffusion, monkeypatch):
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker

    folder = tiny_diffusion("StableDiffusionPipeline", flags=True)
    monkeypatch.setattr(StableDiffusionSafetyChecker, "__init__", None)
    result = made(folder, ("a man", 7.5, 1, 1), safety=False)
    assert result.errors == {}
    assert pixels(result.values[0].as_py()).std() > 5


def test_numbers_that_are_none_are_an_error(tiny_diffusion):
    from safetensors.torch import load_file, save_file

    folder = tiny_diffusion("StableDiffusionPipeline")
    file = folder / "vae" / "diffusion_pytorch_model.safetensors"
    weights = load_file(file)
    weights["decoder.conv_in.bias"][0] = float("inf")
    save_file(weights, file)
    result = made(folder, ("a man", 7.5, 1, 1))
    assert not result.values[0].is_valid
    assert "overflow" in result.errors[0]


@pytest.fixture
def copy(checkpoint, tmp_path):
    """A checkpoint to spoil."""
    return shutil.copytree(checkpoint, tmp_path / "model")


def index(folder, **changes):
    file = folder / "model_index.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_weights_that_could_run_something_are_not_read(copy):
    from safetensors.torch import load_file

    file = copy / "unet" / "diffusion_pytorch_model.safetensors"
    torch.save(load_file(file), copy / "unet" / "diffusion_pytorch_model.bin")
    file.unlink()
    with pytest.raises(RequestError, match="cannot be loaded") as error:
        made(copy, ("a man", 7.5, 1, 1))
    assert (error.value.code, "safetensors" in error.value.hint) == ("E3546", True)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"_class_name": "StableDiffusionInstructPix2PixPipeline"}, "E3601"),
        ({"_class_name": None}, "E3601"),
        ({"unet": ["os", "UNet2DConditionModel"]}, "E3602"),
        ({"vae": ["my_code", "AutoencoderKL"]}, "E3602"),
    ],
)
def test_what_a_checkpoint_may_name(copy, change, code):
    index(copy, **change)
    with pytest.raises(RequestError) as error:
        made(copy, ("a man", 7.5, 1, 1))
    assert error.value.code == code


def test_a_folder_that_is_no_checkpoint(tmp_path):
    with pytest.raises(CounterbalanceError, match=r"model_index\.json") as error:
        made(tmp_path, ("a man", 7.5, 1, 1))
    assert error.value.code == "E3520"


def test_a_name_that_is_nowhere_is_not_fetched():
    with pytest.raises(NotFoundError) as error:
        made("nobody/no-such-model", ("a man", 7.5, 1, 1))
    assert error.value.code == "E1102"


@pytest.mark.parametrize("width", [0, 63, 70, 4096])
def test_sides_that_cannot_be_made(checkpoint, width):
    with pytest.raises(FunctionError) as error:
        made(checkpoint, ("a man", 7.5, 1, 1), width=width)
    assert error.value.code == "E8116"

"""A LoRA is added to the weights of a checkpoint, by as much as is said; what is none, or another's, is refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from function_calls import called
from PIL import Image

from counterbalance.engine.errors import FunctionError, RequestError
from counterbalance.engine.functions import function

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")
peft = pytest.importorskip("peft")

RANK, ALPHA = 2, 4
KIND = "StableDiffusionPipeline"


@pytest.fixture(scope="module")
def folder(tiny_diffusion):
    return tiny_diffusion(KIND)


@pytest.fixture(scope="module")
def lora(folder, tmp_path_factory):
    """A folder with a LoRA for queries of the network, large enough to be seen."""
    network = diffusers.UNet2DConditionModel.from_pretrained(folder / "unet")
    network.add_adapter(peft.LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=["to_q", "to_v"]))
    with torch.random.fork_rng():
        torch.manual_seed(1)
        for name, weights in network.named_parameters():
            if "lora_" in name:
                weights.data = torch.randn(weights.shape)
    layers = peft.get_peft_model_state_dict(network)
    target = tmp_path_factory.mktemp("lora")
    config = {"unet_lora_adapter_metadata": network.peft_config["default"].to_dict()}
    diffusers.StableDiffusionPipeline.save_lora_weights(target, unet_lora_layers=layers, **config)
    return target


def made(folder, **constants):
    constants = {"model": str(folder), "width": 64, "height": 64, **constants}
    result = called("generate", constants, ["a man on a dog"], [7.5], [2], [5])
    assert result.errors == {}
    return result.values


def pixels(values):
    return np.asarray(Image.open(io.BytesIO(values[0].as_py())).convert("RGB")).astype(int)


@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_products_of_its_matrices_are_added(folder, lora, weight, tmp_path):
    from safetensors.torch import load_file

    tensors = load_file(lora / "pytorch_lora_weights.safetensors")
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(folder)
    layers = dict(pipeline.unet.named_modules())
    names = {name.removeprefix("unet.").partition(".lora")[0] for name in tensors}
    for name in names:
        down, up = (
            next(t for n, t in tensors.items() if f"{name}.lora" in n and part in n) for part in ("lora_A", "lora_B")
        )
        layers[name].weight.data += weight * ALPHA / RANK * (up @ down)
    pipeline.save_pretrained(tmp_path / "added")
    found = pixels(made(folder, lora=str(lora), lora_weight=weight))
    assert names
    assert np.abs(found - pixels(made(tmp_path / "added"))).max() <= 1
    assert np.abs(found - pixels(made(folder))).max() > 2


def test_the_picture_and_the_fingerprint_say_so(folder, lora):
    source = function("synthetic_source").open({})([made(folder, lora=str(lora), lora_weight=0.5)]).values[0].as_py()
    assert json.loads(source["settings"])["lora_weight"] == 0.5
    digest = function("generate").digest
    assert digest({"model": str(folder), "lora": str(lora)}) != digest({"model": str(folder)})


def test_that_of_another_network_is_refused(tiny_diffusion, lora):
    other = tiny_diffusion("StableDiffusionXLPipeline")
    with pytest.raises(RequestError) as error:
        made(other, lora=str(lora))
    assert error.value.code == "E3546"


def test_a_folder_without_one_is_refused(folder, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.safetensors").write_bytes(b"")
    with pytest.raises(RequestError) as error:
        made(folder, lora=str(tmp_path))
    assert error.value.code == "E3520"
    with pytest.raises(RequestError) as error:
        made(folder, lora=str(tmp_path / "one.safetensors"))
    assert error.value.code == "E3545"


def test_a_weight_that_is_no_number_is_refused(folder, lora):
    with pytest.raises(FunctionError) as error:
        made(folder, lora=str(lora), lora_weight=float("nan"))
    assert error.value.code == "E8116"

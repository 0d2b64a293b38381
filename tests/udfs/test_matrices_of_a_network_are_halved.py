"""On a GPU the matrices of a diffusion network are bfloat16: half the memory, and what mixed precision makes of float32."""

from __future__ import annotations

import pytest

from counterbalance.udfs.models.diffusion_model import halve

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")


@pytest.mark.parametrize("kind", ["StableDiffusionPipeline", "StableDiffusionXLPipeline"])
def test_the_same_bits_in_half_the_memory(tiny_diffusion, kind):
    unet = diffusers.UNet2DConditionModel.from_pretrained(tiny_diffusion(kind), subfolder="unet")
    generator = torch.Generator().manual_seed(1)
    latents, texts = (
        torch.randn(*size, generator=generator) for size in ((3, 4, 8, 8), (3, 77, unet.config.cross_attention_dim))
    )
    more = {"text_embeds": texts[:, 0, :32], "time_ids": torch.full((3, 6), 64.0)} if "XL" in kind else {}

    def predicted():
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
            return unet(latents, 501, texts, added_cond_kwargs=more).sample

    def memory():
        return sum(weight.nbytes for weight in unet.parameters())

    wanted, before = predicted(), memory()
    halve(unet)
    assert torch.equal(predicted(), wanted)
    assert memory() < 0.52 * before

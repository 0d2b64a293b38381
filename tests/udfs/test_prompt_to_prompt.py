"""prompt_to_prompt: two pictures of one noise, the second with the first one's attention for a share of the steps."""

from __future__ import annotations

import io
import json

import numpy as np
import pyarrow as pa
import pytest
from function_calls import called
from PIL import Image
from repeats import again

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.functions import function
from counterbalance.udfs.models.alignment import refined, replaced

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

MAN, WOMAN = "a man on a dog", "a woman on a dog"


@pytest.fixture(scope="module")
def checkpoint(tiny_diffusion):
    return tiny_diffusion("StableDiffusionPipeline")


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def result_of(folder, *rows, attention="cross", **constants):
    """Of rows of (prompt_a, prompt_b, p, seed, guidance, steps)."""
    given = {"model": str(folder), "attention": attention, "size": 64, **constants}
    return called("prompt_to_prompt", given, *zip(*rows, strict=True))


def pairs(folder, *rows, attention="cross", **constants):
    result = result_of(folder, *rows, attention=attention, **constants)
    assert result.errors == {}
    return [(pixels(v["image_a"]), pixels(v["image_b"])) for v in result.values.to_pylist()]


def generated(folder, prompt, guidance, steps, seed):
    constants = {"model": str(folder), "width": 64, "height": 64}
    return pixels(called("generate", constants, [prompt], [guidance], [steps], [seed]).values[0].as_py())


class Written:
    """Attention as the papers write it down, by sums over all pairs; pictures are (plain a, plain b, prompted a, prompted b).

    Until a step, the maps of b are those of a: all of them in self-attention; in cross-attention the prompted ones, with
    their columns moved as the rule says.
    """

    def __init__(self, until, rule, kind):
        self.until, self.rule, self.kind, self.step = until, rule, kind, 0

    def __call__(self, attn, hidden_states, encoder_hidden_states=None, attention_mask=None, temb=None):
        kind = "self" if encoder_hidden_states is None else "cross"
        context = hidden_states if kind == "self" else encoder_hidden_states
        query, key, value = (
            layer(x).unflatten(-1, (attn.heads, -1))
            for layer, x in ((attn.to_q, hidden_states), (attn.to_k, context), (attn.to_v, context))
        )
        maps = (torch.einsum("bqhd,bkhd->bhqk", query, key) / query.shape[-1] ** 0.5).softmax(-1)
        if kind == self.kind and self.step < self.until:
            for a, b in ((0, 1), (2, 3)) if kind == "self" else ((2, 3),):
                maps[b] = maps[a] if kind == "self" else self.rule(maps[a], maps[b])
        return attn.to_out[0](torch.einsum("bhqk,bkhd->bqhd", maps, value).flatten(2))


def written_down(folder, row, rule=None, kind="cross"):
    """A pair by the equations: DDIM and guidance by hand, attention as above."""
    one, two, share, seed, guidance, steps = row
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(folder)
    unet, scheduler = pipeline.unet, pipeline.scheduler
    until = sum(i / (steps - 1) < share for i in range(steps)) if kind == "self" else int(share * (steps + 1))
    attention = Written(until, rule, kind)
    unet.set_attn_processor(attention)
    with torch.inference_mode():
        tokens = pipeline.tokenizer(["", "", one, two], padding="max_length", max_length=77, return_tensors="pt")
        prompts = pipeline.text_encoder(tokens.input_ids)[0]
        latents = torch.randn((1, 4, 8, 8), generator=torch.Generator().manual_seed(seed)).repeat(2, 1, 1, 1)
        scheduler.set_timesteps(steps)
        for attention.step, time in enumerate(scheduler.timesteps):
            plain, prompted = unet(torch.cat([latents, latents]), time, prompts).sample.chunk(2)
            noise = plain + guidance * (prompted - plain)
            level = scheduler.alphas_cumprod[time]
            before = time - 1000 // steps
            lower = scheduler.alphas_cumprod[before] if before >= 0 else scheduler.final_alpha_cumprod
            clean = (latents - (1 - level) ** 0.5 * noise) / level**0.5
            latents = lower**0.5 * clean + (1 - lower) ** 0.5 * noise
        found = pipeline.vae.decode(latents / pipeline.vae.config.scaling_factor).sample
    return [((p / 2 + 0.5).clamp(0, 1) * 255).round().permute(1, 2, 0).numpy().astype(int) for p in found]


def close(found, wanted):
    assert all(np.abs(f - w).max() <= 1 for f, w in zip(found, wanted, strict=True))


def same_places(first, own):
    return first


def one_token_for_three(first, own):
    """'a cat on ...' -> 'a xyz on ...': the cat's attention in three parts, what follows two places later."""
    moved = torch.zeros_like(first)
    moved[..., :2] = first[..., :2]
    moved[..., 2:5] = first[..., 2:3] / 3
    moved[..., 5:] = first[..., 3:-2]
    moved[..., -1] += first[..., -2:].sum(-1)
    return moved


def two_more_words(first, own):
    """'a man ...' -> 'a cat a man ...': 'cat' and the second 'a' keep their own, the rest stands two places later."""
    moved = own.clone()
    moved[..., :2] = first[..., :2]
    moved[..., 4:] = first[..., 2:-2]
    return moved


def test_a_seed_is_enough(lake, checkpoint):
    call = f"prompt_to_prompt('{MAN}', '{WOMAN}', 0.5, 5, steps := 2, size := 64, model := '{checkpoint}')"
    ((pair,),) = lake.sql(f"SELECT {call}").fetchall()
    wanted = pairs(checkpoint, (MAN, WOMAN, 0.5, 5, 7.5, 2))[0]
    close([pixels(pair["image_a"]), pixels(pair["image_b"])], wanted)


@pytest.mark.parametrize("attention", ["cross", "self"])
def test_without_a_share_both_are_plain_pictures_of_the_same_noise(checkpoint, attention):
    ((one, two),) = pairs(checkpoint, (MAN, WOMAN, 0.0, 5, 7.5, 3), attention=attention)
    close((one, two), [generated(checkpoint, prompt, 7.5, 3, 5) for prompt in (MAN, WOMAN)])
    assert np.abs(one - two).max() > 5


@pytest.mark.parametrize("share", [0.5, *again(1.0)])
@pytest.mark.parametrize(
    ("one", "two", "rule"),
    [
        (MAN, WOMAN, same_places),
        ("a cat on a dog", "a xyz on a dog", one_token_for_three),
        (MAN, "a cat a man on a dog", two_more_words),
    ],
)
def test_words_keep_their_places(checkpoint, one, two, rule, share):
    row = (one, two, share, 5, 7.5, 3)
    ((first, second),) = pairs(checkpoint, row)
    wanted = written_down(checkpoint, row, rule)
    close((first, second), wanted)
    assert np.abs(second - generated(checkpoint, two, 7.5, 3, 5)).max() > 3


@pytest.mark.parametrize("share", [0.5, *again(1.0)])
def test_places_keep_their_places(checkpoint, share):
    row = (MAN, WOMAN, share, 5, 7.5, 3)
    ((first, second),) = pairs(checkpoint, row, attention="self")
    close((first, second), written_down(checkpoint, row, kind="self"))
    assert np.abs(second - generated(checkpoint, WOMAN, 7.5, 3, 5)).max() > 3


def ancestral(folder, row, vae):
    """A pair by InstructPix2Pix's equations: Euler's steps, new noise after each but the last, guidance, self-attention."""
    one, two, share, seed, guidance, steps = row
    pipeline = diffusers.StableDiffusionPipeline.from_pretrained(folder)
    attention = Written(sum(i / (steps - 1) < share for i in range(steps)), None, "self")
    pipeline.unet.set_attn_processor(attention)
    levels = pipeline.scheduler.alphas_cumprod.double()
    times = torch.linspace(999, 0, steps, dtype=torch.float64)
    every = np.interp(times, np.arange(1000), ((1 - levels) / levels).sqrt())
    draw = torch.Generator().manual_seed(seed)
    with torch.inference_mode():
        tokens = pipeline.tokenizer(["", "", one, two], padding="max_length", max_length=77, return_tensors="pt")
        prompts = pipeline.text_encoder(tokens.input_ids)[0]
        latents = torch.randn((1, 4, 8, 8), generator=draw).repeat(2, 1, 1, 1) * every[0]
        for attention.step, (time, now, then) in enumerate(zip(times, every, [*every[1:], 0.0], strict=True)):
            scaled = latents / (now**2 + 1) ** 0.5
            plain, prompted = pipeline.unet(torch.cat([scaled, scaled]), time.float(), prompts).sample.chunk(2)
            up = min(then, (then**2 * (now**2 - then**2) / now**2) ** 0.5)
            latents = latents + (plain + guidance * (prompted - plain)) * ((then**2 - up**2) ** 0.5 - now)
            latents = latents + torch.randn((1, 4, 8, 8), generator=draw) * up
        decoder = diffusers.AutoencoderKL.from_pretrained(vae)
        found = decoder.decode(latents / decoder.config.scaling_factor).sample
    return [((p / 2 + 0.5).clamp(0, 1) * 255).round().permute(1, 2, 0).numpy().astype(int) for p in found]


def test_the_steps_and_the_autoencoder_of_instructpix2pix(checkpoint, tiny_diffusion):
    vae = str(tiny_diffusion("StableDiffusionPipeline", seed=1) / "vae")
    row = (MAN, WOMAN, 0.6, 5, 9.5, 4)
    result = result_of(checkpoint, row, attention="self", sampler="euler_ancestral", vae=vae)
    (made,) = result.values.to_pylist()
    close([pixels(made["image_a"]), pixels(made["image_b"])], ancestral(checkpoint, row, vae))
    told = function("synthetic_source").open({})([pa.array([made["image_b"]])]).values[0].as_py()
    settings = {"attention": "self", "sampler": "euler_ancestral", "vae": vae}
    assert json.loads(told["settings"]).items() >= settings.items()
    digest = function("prompt_to_prompt").digest
    one, other = (digest({"model": str(checkpoint), **more}) for more in ({}, {"vae": vae}))
    assert told["weights"] == other != one
    close(pairs(checkpoint, row)[0], pairs(checkpoint, row, vae=str(checkpoint / "vae"))[0])


def test_without_guidance(checkpoint):
    rows = [(MAN, WOMAN, share, 5, 1.0, 2) for share in (0.0, 1.0)]
    (one, plain), (same, shared) = pairs(checkpoint, *rows)
    close([one, plain], [generated(checkpoint, prompt, 1.0, 2, 5) for prompt in (MAN, WOMAN)])
    assert np.abs(one - same).max() == 0
    assert np.abs(plain - shared).max() > 1


def test_the_first_picture_does_not_depend_on_the_share(checkpoint):
    (one, _), (two, _) = pairs(checkpoint, (MAN, WOMAN, 0.4, 5, 7.5, 3), (MAN, "a dog", 1.0, 5, 7.5, 3))
    assert np.abs(one - two).max() == 0


def test_rows_with_settings_of_their_own_share_a_batch(checkpoint):
    rows = [(MAN, WOMAN, 0.2, 1, 7.5, 3), (MAN, WOMAN, 0.9, 1, 7.5, 3), ("a cat", "a dog on a cat", 0.6, 2, 7.5, 3),
            (MAN, WOMAN, 0.6, 1, 12.0, 3), (WOMAN, MAN, 0.6, 1, 7.5, 2)]  # fmt: skip
    together = pairs(checkpoint, *rows)
    for row, found in list(zip(rows, together, strict=True))[::2]:
        close(found, pairs(checkpoint, row)[0])
    assert np.abs(together[0][1] - together[1][1]).max() > 3


def test_what_cannot_be_fails_alone(checkpoint):
    rows = [(MAN, WOMAN, p, 1, 7.5, 1) for p in (-0.1, 1.1, float("nan"), None, 0.5)] + [(MAN, WOMAN, 0.5, 1, 7.5, 0)]
    result = result_of(checkpoint, *rows)
    assert sorted(result.errors) == [0, 1, 2, 5]
    assert [v.is_valid for v in result.values] == [False, False, False, False, True, False]


def test_a_pair_that_is_flagged_is_an_error(tiny_diffusion):
    result = result_of(tiny_diffusion("StableDiffusionPipeline", flags=True), (MAN, WOMAN, 0.5, 1, 7.5, 1))
    assert not result.values[0].is_valid
    assert result.errors[0].startswith("nsfw")


def test_stable_diffusion_xl(tiny_diffusion):
    folder = tiny_diffusion("StableDiffusionXLPipeline")
    (one, plain), (same, shared) = pairs(folder, *((MAN, WOMAN, p, 5, 7.5, 2) for p in (0.0, 1.0)))
    assert np.abs(one - same).max() == 0
    assert np.abs(one - shared).mean() < np.abs(one - plain).mean()


@pytest.mark.parametrize("given", [{"attention": "crosss"}, {"sampler": "euler_ancestrall"}])
def test_no_such_attention_or_sampler(checkpoint, given):
    with pytest.raises(FunctionError, match="did you mean") as error:
        result_of(checkpoint, (MAN, WOMAN, 0.5, 1, 7.5, 1), **given)
    assert error.value.code == "E8116"


@pytest.mark.parametrize(
    ("first", "second"), [([1, 1, 1], [1, 3, 1]), ([2, 1], [1, 1]), ([30, 60], [60, 30]), ([], [])]
)
def test_replaced_words_lose_no_attention(first, second):
    matrix, kept = replaced(first, second, 77)
    np.testing.assert_allclose(matrix.sum(1), 1, atol=1e-6)
    assert matrix.shape == (77, 77)
    assert kept.tolist() == [1.0] * 77


def test_prompts_beyond_the_context_are_aligned_as_far_as_it_reaches():
    matrix, kept = refined(range(90), [500, *range(90)], 77)
    assert matrix[:76, 1:].trace() == 76
    assert kept.tolist() == [0.0] + [1.0] * 76

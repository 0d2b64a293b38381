"""Diffusion pipelines of the real architectures, so small that a picture takes milliseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def save(folder: Path, kind: str, channels: int = 4, seed: int = 0, flags: bool | None = None) -> Path:
    """A checkpoint of a class of diffusers in a folder, weights by seed; ``flags`` adds a safety checker that flags every picture, or none."""
    import diffusers
    import torch
    from transformers import CLIPImageProcessor

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        parts = _diffusion_parts(folder, channels, large="XL" in kind)
        if "XL" in kind:
            parts["add_watermarker"] = False
        elif flags is None:
            parts |= {"safety_checker": None, "feature_extractor": None, "requires_safety_checker": False}
        else:
            processor = CLIPImageProcessor(size=32, crop_size=32)
            parts |= {"safety_checker": _safety_checker(flags), "feature_extractor": processor}
        getattr(diffusers, kind)(**parts).save_pretrained(folder / "model")
    return folder / "model"


def _clip_tokenizer(folder: Path) -> Any:
    """A CLIP tokenizer that knows letters and the words man, woman, dog, cat and on; any other word is its letters."""
    import json

    from transformers import CLIPTokenizer

    letters = [chr(code) for code in range(33, 127)]
    merges = ["m a", "ma n</w>", "w o", "wo man</w>", "d o", "do g</w>", "c a", "ca t</w>", "o n</w>"]
    words = [*letters, *(letter + "</w>" for letter in letters), *dict.fromkeys(m.replace(" ", "") for m in merges)]
    known = {word: number for number, word in enumerate([*words, "<|startoftext|>", "<|endoftext|>"])}
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(known))
    (folder / "merges.txt").write_text("#version: 0.2\n" + "\n".join(merges))
    return CLIPTokenizer.from_pretrained(folder, model_max_length=77)


def _diffusion_parts(folder: Path, channels: int, large: bool) -> dict[str, Any]:
    """Parts of a diffusion pipeline with random weights: pictures are made at an eighth of their sides."""
    import diffusers
    import transformers

    tokenizer = _clip_tokenizer(folder / "tokenizer")
    text = transformers.CLIPTextConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=37, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=77, projection_dim=32, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    more = {"addition_embed_type": "text_time", "addition_time_embed_dim": 8, "transformer_layers_per_block": (1, 1)}
    unet = diffusers.UNet2DConditionModel(
        sample_size=8, in_channels=channels, out_channels=4, block_out_channels=(16, 32), layers_per_block=1,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
        cross_attention_dim=64 if large else 32, attention_head_dim=4, norm_num_groups=4,
        **({**more, "projection_class_embeddings_input_dim": 6 * 8 + 32} if large else {}),
    )  # fmt: skip
    for name, weights in unet.named_parameters():
        weights.data *= 4 if ".attn" in name and ".to_" in name else 1  # or prompts would hardly matter
    vae = diffusers.AutoencoderKL(
        block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=4, latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
    )  # fmt: skip
    scheduler = diffusers.DDIMScheduler(
        beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear", clip_sample=False, steps_offset=1
    )
    parts = {"unet": unet, "vae": vae, "scheduler": scheduler, "tokenizer": tokenizer}
    parts["text_encoder"] = transformers.CLIPTextModel(text)
    if large:
        parts |= {"tokenizer_2": tokenizer, "text_encoder_2": transformers.CLIPTextModelWithProjection(text)}
    return parts


def _safety_checker(flags: bool) -> Any:
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig, CLIPTextConfig, CLIPVisionConfig

    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision = CLIPVisionConfig(**small, image_size=32, patch_size=16)
    config = CLIPConfig(
        text_config=CLIPTextConfig(**small).to_dict(), vision_config=vision.to_dict(), projection_dim=16
    )
    checker = StableDiffusionSafetyChecker(config)
    checker.concept_embeds_weights.data.fill_(-2 if flags else 2)  # a threshold below, or above, every cosine
    checker.special_care_embeds_weights.data.fill_(2)
    return checker

"""Diffusion pipelines whose networks are transformers (Stable Diffusion 3, FLUX, Qwen-Image), of the real classes and tiny."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

SMALL = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2, "num_hidden_layers": 2}


def save(folder: Path, kind: str, seed: int = 0, **network: Any) -> Path:
    """A checkpoint of a class of diffusers in a folder, weights by seed; ``network`` goes into the config of its transformer."""
    import diffusers
    import torch

    parts_of = {"Stable": _stable_diffusion_3, "Flux": _flux, "Qwen": _qwen}
    make = next(make for name, make in parts_of.items() if kind.startswith(name))
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        parts = make(folder, kind, network)
        parts["scheduler"] = diffusers.FlowMatchEulerDiscreteScheduler()
        for name, weights in parts["transformer"].named_parameters():
            weights.data *= (
                4 if "context" in name or ".to_" in name or "txt" in name else 1
            )  # or prompts would not matter
        getattr(diffusers, kind)(**parts).save_pretrained(folder / "model")
    return folder / "model"


def _autoencoder(channels: int) -> Any:
    import diffusers

    return diffusers.AutoencoderKL(
        block_out_channels=(4, 4, 8, 8), layers_per_block=1, norm_num_groups=4, latent_channels=channels,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        use_quant_conv=False, use_post_quant_conv=False, shift_factor=0.06, scaling_factor=1.5,
    )  # fmt: skip


def _clip(folder: Path, kind: str) -> tuple[Any, Any]:
    import transformers
    from pipelines import _clip_tokenizer

    tokenizer = _clip_tokenizer(folder / "clip")
    config = transformers.CLIPTextConfig(
        **SMALL, vocab_size=len(tokenizer), max_position_embeddings=77, projection_dim=16,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    return tokenizer, getattr(transformers, kind)(config)


def _t5() -> tuple[Any, Any]:
    import transformers

    letters = [(letter, -float(i)) for i, letter in enumerate("▁aeinotrsdhlcumwfgypbvk", 1)]
    tokenizer = transformers.T5Tokenizer([("<pad>", 0.0), ("</s>", 0.0), ("<unk>", -99.0), *letters], extra_ids=0)
    config = transformers.T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2, decoder_start_token_id=0
    )
    return tokenizer, transformers.T5EncoderModel(config)


def _stable_diffusion_3(folder: Path, kind: str, network: dict[str, Any]) -> dict[str, Any]:
    import diffusers

    tokenizer, encoder = _clip(folder, "CLIPTextModelWithProjection")
    large, t5 = _t5()
    transformer = diffusers.SD3Transformer2DModel(
        sample_size=32, patch_size=2, in_channels=16, out_channels=16, num_layers=1, attention_head_dim=8,
        num_attention_heads=4, caption_projection_dim=32, joint_attention_dim=32, pooled_projection_dim=32, **network,
    )  # fmt: skip
    return {"transformer": transformer, "vae": _autoencoder(16), "tokenizer": tokenizer, "tokenizer_2": tokenizer,
            "tokenizer_3": large, "text_encoder": encoder, "text_encoder_2": encoder, "text_encoder_3": t5}  # fmt: skip


def _flux(folder: Path, kind: str, network: dict[str, Any]) -> dict[str, Any]:
    import diffusers

    tokenizer, encoder = _clip(folder, "CLIPTextModel")
    large, t5 = _t5()
    channels = 16  # four latents of two by two pixels; Fill sees the picture and 64 pixels of the mask a latent, too
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1, in_channels=channels * 2 + 256 if "Fill" in kind else channels, out_channels=channels, num_layers=1,
        num_single_layers=1, attention_head_dim=16, num_attention_heads=2, joint_attention_dim=32,
        pooled_projection_dim=16, axes_dims_rope=(4, 4, 8), **network,
    )  # fmt: skip
    return {"transformer": transformer, "vae": _autoencoder(4), "tokenizer": tokenizer, "tokenizer_2": large,
            "text_encoder": encoder, "text_encoder_2": t5}  # fmt: skip


def _qwen(folder: Path, kind: str, network: dict[str, Any]) -> dict[str, Any]:
    import diffusers
    import transformers
    from tokenizers import pre_tokenizers

    marks = [
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|image_pad|>",
        "<|video_pad|>",
    ]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: number for number, word in enumerate([*letters, *marks])}
    tokenizer = transformers.Qwen2Tokenizer(vocab=words, merges=[], additional_special_tokens=marks[1:])
    config = transformers.Qwen2_5_VLConfig(
        text_config={**SMALL, "num_key_value_heads": 2, "vocab_size": len(words),
                     "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e6}},
        vision_config={"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2, "out_hidden_size": 16,
                       "fullatt_block_indexes": [0]},
        image_token_id=words["<|image_pad|>"], video_token_id=words["<|video_pad|>"],
        vision_start_token_id=words["<|vision_start|>"], vision_end_token_id=words["<|vision_end|>"],
    )  # fmt: skip
    transformer = diffusers.QwenImageTransformer2DModel(
        patch_size=2, in_channels=16, out_channels=4, num_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=16, guidance_embeds=False, axes_dims_rope=(8, 4, 4), **network,
    )  # fmt: skip
    vae = diffusers.AutoencoderKLQwenImage(
        base_dim=8, z_dim=4, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True],
        latents_mean=[0.0] * 4, latents_std=[1.0] * 4,
    )  # fmt: skip
    parts = {"transformer": transformer, "vae": vae, "tokenizer": tokenizer}
    parts["text_encoder"] = transformers.Qwen2_5_VLForConditionalGeneration(config)
    if "Edit" in kind:
        sees = transformers.Qwen2VLImageProcessor(min_pixels=56 * 56, max_pixels=56 * 56)
        parts["processor"] = transformers.Qwen2VLProcessor(
            sees, tokenizer, transformers.Qwen2VLVideoProcessor(), chat_template="{{ messages }}"
        )
    return parts

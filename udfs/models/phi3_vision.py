"""Phi-3-vision and Phi-3.5-vision (``phi3_v``) out of transformers' own parts, as their published weights have them.

Those checkpoints bring code along, which is never run. Here the decoder is transformers' Phi3, the vision tower is made of
its CLIP layers, and what lies between is written anew: vectors of two by two patches are joined, those of all crops are put
together line by line with a learned separator after each (``sub_GN``), then comes another one (``glb_GN``) and the view of
the whole picture, and two layers bring all to the decoder's width. Names of parameters are those of the checkpoints.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from counterbalance.udfs.models.phi3_pictures import Phi3VProcessor
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Mapping

KIND: Final = "phi3_v"
_TOWER: Final = {
    "hidden_act": "quick_gelu",
    "hidden_size": 1024,
    "image_size": 336,
    "intermediate_size": 4096,
    "num_attention_heads": 16,
    "num_hidden_layers": 24,
    "patch_size": 14,
}
"""openai/clip-vit-large-patch14-336, the tower of all published checkpoints; ``img_processor`` can say otherwise."""


def register() -> None:
    """Let transformers know the architecture; a transformers that knows it by itself keeps its own."""
    transformers: Any = need("transformers", "models")
    auto: Any = need("transformers.models.auto.configuration_auto", "models")
    if KIND not in auto.CONFIG_MAPPING:
        config, model = classes()
        transformers.AutoConfig.register(KIND, config)
        transformers.AutoModelForImageTextToText.register(config, model)
        transformers.AutoProcessor.register(config, Phi3VProcessor)


def joined(crops: Any, rows: int, separator: Any) -> Any:
    """Return the vectors of crops as lines of the picture that they make up, with a separator after every line.

    Args:
        crops: Tensor (crops, patches, width), crops and patches line by line; the patches of a crop are a square of an
            even side.
        rows: Of crops.
        separator: Tensor of 4 * width numbers.

    Returns:
        Tensor (lines * (vectors of a line + 1), 4 * width); vectors of two by two patches are one.
    """
    torch: Any = need("torch", "models")
    count, patches, width = crops.shape
    side = math.isqrt(patches) // 2
    squares = crops.view(rows, count // rows, side, 2, side, 2, width)
    lines = squares.permute(0, 2, 1, 4, 3, 5, 6).reshape(rows * side, -1, 4 * width)
    return torch.cat([lines, separator.view(1, 1, -1).expand(len(lines), 1, -1)], 1).flatten(0, 1)


@cache
def classes() -> tuple[Any, Any]:
    """Return configuration and model; their bases are imported late."""
    torch: Any = need("torch", "models")
    phi3: Any = need("transformers.models.phi3.modeling_phi3", "models")
    transformers: Any = need("transformers", "models")
    pictures = _pictures()

    class Phi3VConfig(transformers.Phi3Config):  # type: ignore[misc, unused-ignore]
        """That of the decoder, with ``img_processor`` for the tower."""

        model_type = KIND

        @classmethod
        def from_dict(cls, config_dict: Mapping[str, Any], **options: Any) -> Any:
            """Return it as it is stored, but for the attention, for which the files want a library that few have, and an old name."""
            kept = {name: value for name, value in config_dict.items() if name != "_attn_implementation"}
            scaling = kept.get("rope_scaling") or {}
            if scaling.get("type") == "su":
                kept["rope_scaling"] = {**scaling, "type": "longrope"}
            return super().from_dict(kept, **options)

    class Phi3VModel(phi3.Phi3Model):  # type: ignore[misc, unused-ignore]
        """The decoder, and what makes its input of pictures."""

        def __init__(self, config: Any) -> None:
            super().__init__(config)
            self.vision_embed_tokens = pictures(config)
            self.post_init()

        def forward(
            self,
            input_ids: Any = None,
            inputs_embeds: Any = None,
            pixel_values: Any = None,
            image_sizes: Any = None,
            **options: Any,
        ) -> Any:
            """Run the decoder, with vectors of pictures where an id is negative."""
            if input_ids is not None:
                inputs_embeds = self.embed_tokens(input_ids.clamp(min=0))
                if pixel_values is not None and input_ids.shape[1] > 1:
                    places = (input_ids < 0).nonzero(as_tuple=True)
                    found = self.vision_embed_tokens(pixel_values, image_sizes)
                    inputs_embeds = inputs_embeds.index_put(places, found.to(inputs_embeds))
            return super().forward(inputs_embeds=inputs_embeds, **options)

    class Phi3VForCausalLM(phi3.Phi3ForCausalLM):  # type: ignore[misc, unused-ignore]
        """Phi-3-vision: the next token after pictures and text."""

        config_class = Phi3VConfig
        _keys_to_ignore_on_load_unexpected = (r"vision_embed_tokens\.wte\.",)

        def __init__(self, config: Any) -> None:
            phi3.Phi3PreTrainedModel.__init__(self, config)
            self.model = Phi3VModel(config)
            self.vocab_size = config.vocab_size
            self.lm_head = torch.nn.Linear(config.hidden_size, config.vocab_size, bias=False)
            self.post_init()

        def forward(
            self,
            input_ids: Any = None,
            attention_mask: Any = None,
            pixel_values: Any = None,
            image_sizes: Any = None,
            **options: Any,
        ) -> Any:
            """Run the decoder; pictures are looked at with the ids that hold their places, not with one new id."""
            pictures = {"pixel_values": pixel_values, "image_sizes": image_sizes}
            return super().forward(input_ids, attention_mask, **pictures, **options)

        def prepare_inputs_for_generation(
            self, input_ids: Any, pixel_values: Any = None, image_sizes: Any = None, **kwargs: Any
        ) -> Any:
            """Prepare as the decoder does, which begins anew where its positions get too many for the short factors."""
            found = super().prepare_inputs_for_generation(input_ids, **kwargs)
            return {**found, "pixel_values": pixel_values, "image_sizes": image_sizes}

    return Phi3VConfig, Phi3VForCausalLM


def _pictures() -> Any:
    """Return the part that makes the decoder's input of pictures, a class."""
    torch: Any = need("torch", "models")
    transformers: Any = need("transformers", "models")

    class Pictures(torch.nn.Module):  # type: ignore[misc, unused-ignore]
        """Vectors of pictures, of the decoder's width."""

        def __init__(self, config: Any) -> None:
            super().__init__()
            known = {name: value for name, value in (config.img_processor or {}).items() if name in _TOWER}
            tower = transformers.CLIPVisionConfig(**_TOWER | known)
            tower._attn_implementation = config._attn_implementation  # noqa: SLF001 - as all of transformers does
            width = 4 * tower.hidden_size
            self.img_processor = torch.nn.ModuleDict({"vision_model": _tower(tower)})
            self.img_projection = torch.nn.Sequential(
                torch.nn.Linear(width, config.hidden_size),
                torch.nn.GELU(),
                torch.nn.Linear(config.hidden_size, config.hidden_size),
            )
            self.glb_GN = torch.nn.Parameter(torch.zeros(1, 1, width))
            self.sub_GN = torch.nn.Parameter(torch.zeros(1, 1, 1, width))
            self._side = tower.image_size

        def forward(self, pixels: Any, sizes: Any) -> Any:
            """Return tensor (vectors of all pictures one after the other, width of the decoder)."""
            grids = [(height // self._side, width // self._side) for height, width in sizes.tolist()]
            counts = [1 + rows * columns for rows, columns in grids]
            real = torch.cat([picture[:count] for picture, count in zip(pixels, counts, strict=True)])
            seen = _patches(self.img_processor["vision_model"], real).split(counts)
            lines = []
            for (rows, _), crops in zip(grids, seen, strict=True):
                view = joined(crops[:1], 1, self.sub_GN)
                lines += [joined(crops[1:], rows, self.sub_GN), self.glb_GN.view(1, -1), view]
            return self.img_projection(torch.cat(lines))

    return Pictures


def _tower(config: Any) -> Any:
    """Return CLIP's vision tower by the names of a checkpoint; the last layer and what follows are there, and not used."""
    torch: Any = need("torch", "models")
    clip: Any = need("transformers.models.clip.modeling_clip", "models")
    width, patch = config.hidden_size, config.patch_size
    embeddings = torch.nn.Module()
    embeddings.class_embedding = torch.nn.Parameter(torch.zeros(width))
    embeddings.patch_embedding = torch.nn.Conv2d(3, width, patch, patch, bias=False)
    embeddings.position_embedding = torch.nn.Embedding((config.image_size // patch) ** 2 + 1, width)
    encoder = torch.nn.Module()
    encoder.layers = torch.nn.ModuleList(clip.CLIPEncoderLayer(config) for _ in range(config.num_hidden_layers))
    return torch.nn.ModuleDict(
        {
            "embeddings": embeddings,
            "pre_layrnorm": torch.nn.LayerNorm(width, config.layer_norm_eps),
            "encoder": encoder,
            "post_layernorm": torch.nn.LayerNorm(width, config.layer_norm_eps),
        }
    )


def _patches(tower: Any, pixels: Any) -> Any:
    """Return what the last layer but one makes of patches: tensor (pictures, patches, width)."""
    torch: Any = need("torch", "models")
    embeddings = tower["embeddings"]
    patches = embeddings.patch_embedding(pixels.to(embeddings.patch_embedding.weight.dtype)).flatten(2).transpose(1, 2)
    first = embeddings.class_embedding.to(patches.dtype).expand(len(patches), 1, -1)
    states = tower["pre_layrnorm"](torch.cat([first, patches], 1) + embeddings.position_embedding.weight)
    for layer in tower["encoder"].layers[:-1]:
        states = layer(states, None)
    return states[:, 1:]

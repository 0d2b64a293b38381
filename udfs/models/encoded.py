"""Encode each text and each picture once while it is asked for again: the candidates of a source share both."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

_MOST: Final = 1 << 28
"""Bytes on the device: 800 texts of Stable Diffusion 1, 16 of XL, or 2,000 pictures of 512 pixels."""


class Kept:
    """What was made last, up to so many bytes; the longest unused goes first.

    Args:
        most: Bytes of tensors.

    Example:
        >>> import torch
        >>> kept = Kept(most=16)  # two of eight bytes
        >>> [kept.of(key, lambda value=value: torch.tensor(value)).item() for key, value in zip("aabca", range(5))]
        [0, 0, 2, 3, 4]
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most, self._bytes = most, 0
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what was made of a key, or make it.

        Args:
            key: What decides it.
            make: Makes a tensor, or sequences and mappings of tensors.
        """
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key][0]
        made = make()
        size = _size(made)
        self._held[key] = made, size
        self._bytes += size
        while self._bytes > self._most and len(self._held) > 1:
            self._bytes -= self._held.popitem(last=False)[1][1]
        return made


def _size(made: Any) -> int:
    if hasattr(made, "nbytes"):
        return int(made.nbytes)
    return sum(map(_size, made.values() if hasattr(made, "values") else made))


def encode_once(pipeline: Any) -> None:
    """Let a pipeline of diffusers encode each text and each picture once while it is kept.

    The encoders themselves are asked less often, whatever the pipeline does with what they say: noise is drawn for each row as
    ever. A text is encoded alone, and so is a picture, so that neither depends on its company by a bit.

    Args:
        pipeline: With encoders of transformers and with a ``vae``; it is changed in place. Encoders that are more than that
            (language models, which see pictures too) are left as they are.
    """
    transformers: Any = need("transformers", "models")
    plain = transformers.CLIPTextModel, transformers.CLIPTextModelWithProjection, transformers.T5EncoderModel
    kept = Kept()
    for name in ("text_encoder", "text_encoder_2", "text_encoder_3"):
        encoder = getattr(pipeline, name, None)
        if isinstance(encoder, plain):
            encoder.forward = partial(_texts, encoder.forward, kept, name)
    autoencoders: Any = need("diffusers.models.autoencoders.autoencoder_kl", "models")
    if isinstance(pipeline.vae, autoencoders.AutoencoderKL):
        pipeline.vae.encode = partial(_pictures, pipeline.vae.encode, kept)


def _texts(
    forward: Callable[..., Any], kept: Kept, name: str, input_ids: Any, attention_mask: Any = None, **how: Any
) -> Any:
    """Return what a text encoder says of tokens, int64 (texts, tokens), as it says it."""
    masks = [None] * len(input_ids) if attention_mask is None else attention_mask.split(1)
    rows = [
        kept.of(
            (name, _digest(ids), None if mask is None else _digest(mask), repr(sorted(how.items()))),
            partial(forward, ids, attention_mask=mask, **how),
        )
        for ids, mask in zip(input_ids.split(1), masks, strict=True)
    ]
    return type(rows[0])(**{field: _joined([row[field] for row in rows]) for field in rows[0]})


def _joined(parts: Sequence[Any]) -> Any:
    torch: Any = need("torch", "models")
    if isinstance(parts[0], tuple):
        return tuple(map(_joined, zip(*parts, strict=True)))
    return torch.cat(tuple(parts))


def _pictures(encode: Callable[..., Any], kept: Kept, x: Any, return_dict: bool = True) -> Any:
    """Return the distributions of the latents of pictures, float32 (pictures, 3, height, width), as an autoencoder does."""
    torch: Any = need("torch", "models")
    vae: Any = need("diffusers.models.autoencoders.vae", "models")
    output: Any = need("diffusers.models.modeling_outputs", "models")
    rows = [kept.of(("vae", _digest(one)), partial(_moments, encode, one)) for one in x.split(1)]
    found = vae.DiagonalGaussianDistribution(torch.cat(rows))
    return output.AutoencoderKLOutput(latent_dist=found) if return_dict else (found,)


def _moments(encode: Callable[..., Any], one: Any) -> Any:
    return encode(one).latent_dist.parameters


def _digest(tensor: Any) -> tuple[tuple[int, ...], bytes]:
    return tuple(tensor.shape), hashlib.sha256(tensor.contiguous().cpu().numpy()).digest()

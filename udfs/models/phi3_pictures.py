"""Pictures and prompts as Phi-3-vision and Phi-3.5-vision take them: a view of the whole picture, and crops of 336 pixels.

A picture is scaled so that its longer side fills as many crops as the model allows ("HD transform" of InternLM-XComposer2,
Dong et al., 2024), its shorter side is padded with white to whole crops; the view is the padded picture made small. In a
prompt the picture takes the place of ``<|image_1|>``: one id of -1 for each vector that the model makes of it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from PIL.Image import Image

SIDE: Final = 336
"""Of a crop and of the view, in pixels."""
PICTURE: Final = "<|image_1|>"
PLACE: Final = -1
"""The id that holds the place of a picture's vectors."""
_STOPS: Final = ("<|end|>", "<|endoftext|>")
_MEAN: Final = (0.48145466, 0.4578275, 0.40821073)
_STD: Final = (0.26862954, 0.26130258, 0.27577711)
_WHITE: Final = (255, 255, 255)


def scaled(width: int, height: int, crops: int) -> tuple[int, int]:
    """Return longer and shorter side in pixels that a picture is scaled to: the longer one is as many crops as can be.

    Args:
        width: Pixels.
        height: Pixels.
        crops: At most, at least 1.

    Example:
        >>> scaled(400, 200, 4), scaled(200, 400, 4), scaled(100, 100, 4), scaled(2000, 1, 4)
        ((672, 336), (672, 336), (672, 672), (1344, 1))
    """
    ratio = max(width, height) / min(width, height)
    across = 1
    while (across + 1) * math.ceil((across + 1) / ratio) <= crops:
        across += 1
    return across * SIDE, max(1, int(across * SIDE / ratio))


def grid(width: int, height: int, crops: int) -> tuple[int, int]:
    """Return the rows and columns of crops that a picture becomes.

    Example:
        >>> grid(400, 200, 4), grid(100, 300, 16), grid(100, 100, 4), grid(900, 100, 4)
        ((1, 2), (6, 2), (2, 2), (1, 4))
    """
    longer, shorter = (math.ceil(side / SIDE) for side in scaled(width, height, crops))
    return (longer, shorter) if width < height else (shorter, longer)


def tokens(rows: int, columns: int, a_crop: int = 144) -> int:
    """Return vectors that a model makes of crops in rows and columns: those of crops and view, one a line, one between the two.

    Args:
        rows: Of crops.
        columns: Of crops.
        a_crop: Vectors of one crop, a square number.

    Example:
        >>> tokens(1, 1), tokens(2, 2), tokens(1, 4)
        (313, 757, 745)
    """
    side = math.isqrt(a_crop)
    return rows * side * (columns * side + 1) + 1 + side * (side + 1)


def padded(picture: Image, crops: int) -> Image:
    """Return the picture, scaled and padded to whole crops."""
    from PIL import Image as PillowImage

    tall = picture.width < picture.height
    if tall:  # Pillow rounds between its two passes: results are those of the published code only if it is laid flat
        picture = picture.transpose(PillowImage.Transpose.TRANSPOSE)
    longer, shorter = scaled(*picture.size, crops)
    whole = math.ceil(shorter / SIDE) * SIDE
    framed = PillowImage.new("RGB", (longer, whole), _WHITE)
    framed.paste(picture.resize((longer, shorter), PillowImage.Resampling.BILINEAR), (0, (whole - shorter) // 2))
    return framed.transpose(PillowImage.Transpose.TRANSPOSE) if tall else framed


class Phi3VProcessor:
    """Makes a model's input of pictures and prompts; its name is the one that checkpoints ask for.

    Args:
        tokenizer: Of the checkpoint.
        crops: Of a picture at most.
        a_crop: Vectors of a crop.
        mean: By channel, of values in [0, 1].
        std: By channel.
    """

    def __init__(
        self,
        tokenizer: Any,
        crops: int = 4,
        a_crop: int = 144,
        mean: Sequence[float] = _MEAN,
        std: Sequence[float] = _STD,
    ) -> None:
        self.tokenizer = tokenizer
        self._crops, self._a_crop, self._mean, self._std = crops, a_crop, mean, std

    @classmethod
    def from_pretrained(cls, path: str | Path, **_: Any) -> Phi3VProcessor:
        """Return the one of a checkpoint's folder."""
        transformers: Any = need("transformers", "models")
        config = json.loads((Path(path) / "preprocessor_config.json").read_text("utf-8"))
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True, trust_remote_code=False)
        return cls(
            tokenizer,
            config.get("num_crops", 4),
            config.get("num_img_tokens", 144),
            config.get("image_mean") or _MEAN,
            config.get("image_std") or _STD,
        )

    @property
    def chat_template(self) -> str | None:
        """Return the one of the tokenizer."""
        template: str | None = self.tokenizer.chat_template
        return template

    @property
    def stops(self) -> list[int]:
        """Return ids that end a turn."""
        known = self.tokenizer.get_vocab()
        return [known[stop] for stop in _STOPS if stop in known]

    def apply_chat_template(self, turns: Sequence[Mapping[str, Any]], *, add_generation_prompt: bool = False) -> str:
        """Return a prompt as text; the template of these checkpoints takes strings, in which a picture is a line of its own."""
        messages = [
            {**turn, "content": "".join(PICTURE + "\n" if p["type"] == "image" else p["text"] for p in turn["content"])}
            for turn in turns
        ]
        return str(
            self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=add_generation_prompt)
        )

    def __call__(
        self, images: Sequence[Sequence[Image]], text: Sequence[str], *, add_special_tokens: bool = True, **_: Any
    ) -> Any:
        """Return the input of a batch, padded on the left.

        Args:
            images: One RGB picture a row.
            text: As many prompts, of which each says once where its picture is.
            add_special_tokens: The tokenizer puts its start token before what is left and right of the picture, as the
                published code has it.

        Returns:
            Tensors: ``input_ids`` and ``attention_mask`` int64 (rows, tokens), ``pixel_values`` float32
            (rows, 1 + crops, 3, 336, 336) with the view first and zeros last, ``image_sizes`` int64 (rows, 2), the height
            and width of all crops in pixels.
        """
        transformers: Any = need("transformers", "models")
        torch: Any = need("torch", "models")
        pixels, sizes = zip(*(self._pixels(picture) for [picture] in images), strict=True)
        ids = [self._ids(*pair, add_special_tokens) for pair in zip(text, sizes, strict=True)]
        longest = max(map(len, ids))
        pad = self.tokenizer.pad_token_id
        found = {
            "input_ids": torch.tensor([[pad] * (longest - len(row)) + row for row in ids]),
            "attention_mask": torch.tensor([[0] * (longest - len(row)) + [1] * len(row) for row in ids]),
            "pixel_values": torch.stack(pixels),
            "image_sizes": torch.tensor(sizes),
        }
        return transformers.BatchFeature(found)

    def _pixels(self, picture: Image) -> tuple[Any, tuple[int, int]]:
        """Return the view and crops of a picture, and the height and width of all crops."""
        torch: Any = need("torch", "models")
        whole = torch.from_numpy(np.array(padded(picture, self._crops))).permute(2, 0, 1).contiguous()
        mean, std = (torch.tensor(values).view(3, 1, 1) for values in (self._mean, self._std))
        whole = whole.to(torch.float32).div_(255).sub_(mean).div_(std)
        _, height, width = whole.shape
        crops = whole.view(3, height // SIDE, SIDE, width // SIDE, SIDE).permute(1, 3, 0, 2, 4).flatten(0, 1)
        found = torch.zeros(1 + self._crops, 3, SIDE, SIDE)
        found[0] = torch.nn.functional.interpolate(whole[None], size=(SIDE, SIDE), mode="bicubic")[0]
        found[1 : 1 + len(crops)] = crops
        return found, (height, width)

    def _ids(self, text: str, size: tuple[int, int], special: bool) -> list[int]:
        before, found, after = text.partition(PICTURE)
        if not found:
            raise ValueError(f"no {PICTURE} in the prompt {text[:80]!r}")
        left, right = (self.tokenizer(part, add_special_tokens=special).input_ids for part in (before, after))
        return [*left, *[PLACE] * tokens(size[0] // SIDE, size[1] // SIDE, self._a_crop), *right]

    def _get_num_multimodal_tokens(self, image_sizes: Sequence[tuple[int, int]]) -> dict[str, list[int]]:
        """Return it as processors of transformers do, of (height, width)."""
        found = [tokens(*grid(width, height, self._crops), self._a_crop) for height, width in image_sizes]
        return {"num_image_tokens": found}

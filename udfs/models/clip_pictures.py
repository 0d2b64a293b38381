"""From a decoded picture to a CLIP model's input: open_clip's evaluation transform, step by step.

The steps up to eight-bit pixels need Pillow alone, so that processes which prepare pictures ahead of the device stay
light; the two steps that remain are done on the device, for a quarter of the bytes has to get there. Results have the bits
that ``open_clip.image_transform`` gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from counterbalance.engine.images import MAX_PIXELS, ImageError
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from PIL.Image import Image


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to a picture.

    Args:
        height: Of the model's input, in pixels.
        width: Of the model's input, in pixels.
        mean: By channel, of values in [0, 1].
        std: By channel.
        interpolation: ``"bicubic"`` or ``"bilinear"``.
        resize_mode: ``"shortest"`` (side, then cut), ``"longest"`` (side, then padded) or ``"squash"``.
        fill_color: Of the padding.

    Example:
        >>> from PIL import Image
        >>> Preparation(32, 32)(Image.new("RGB", (100, 50), "white")).shape
        (32, 32, 3)
    """

    height: int
    width: int
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)
    interpolation: str = "bicubic"
    resize_mode: str = "shortest"
    fill_color: int = 0

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Preparation:
        """Make one as open_clip's ``PreprocessCfg`` describes it."""
        size = config["size"]
        height, width = size if isinstance(size, list | tuple) else (size, size)
        mean, std = (tuple(map(float, config[name])) for name in ("mean", "std"))
        rest = {name: config[name] for name in ("interpolation", "resize_mode", "fill_color")}
        return cls(int(height), int(width), mean, std, **rest)

    def __call__(self, picture: Image) -> NDArray[np.uint8]:
        """Return pixels, uint8 (height, width, 3).

        Raises:
            ImageError: It is so long and thin that it cannot be resized.
        """
        from PIL.Image import Resampling

        width, height = self._resized(*picture.size)
        if width * height > MAX_PIXELS:
            raise ImageError(f"{picture.width} x {picture.height} pixels: too long and thin to be resized", "too_big")
        oblong = self.resize_mode == "shortest" and self.width != self.height
        bilinear = self.interpolation == "bilinear" and not oblong
        picture = picture.resize((width, height), Resampling.BILINEAR if bilinear else Resampling.BICUBIC)
        return np.asarray(self._cut(picture), np.uint8)

    def _resized(self, width: int, height: int) -> tuple[int, int]:
        if self.resize_mode == "squash":
            return self.width, self.height
        if self.resize_mode == "shortest" and self.width == self.height:
            long = int(self.width * max(width, height) / min(width, height))
            return (self.width, long) if width <= height else (long, self.width)
        chosen = max if self.resize_mode == "longest" else min
        ratio = chosen(height / self.height, width / self.width)
        return max(1, round(width / ratio)), max(1, round(height / ratio))

    def _cut(self, picture: Image) -> Image:
        """Return the middle, padded where it is smaller."""
        from PIL import ImageOps

        wide, high = max(0, self.width - picture.width), max(0, self.height - picture.height)
        if wide or high:
            border = (wide // 2, high // 2, (wide + 1) // 2, (high + 1) // 2)
            fill = self.fill_color if self.resize_mode == "longest" else 0
            picture = ImageOps.expand(picture, border, (fill,) * 3)
        left, top = round((picture.width - self.width) / 2), round((picture.height - self.height) / 2)
        return picture.crop((left, top, left + self.width, top + self.height))

    def tensor(self, pixels: Any) -> Any:
        """Return the model's input from pixels that are on its device.

        Args:
            pixels: Tensor, uint8 (rows, height, width, 3).

        Returns:
            Tensor, float32 (rows, 3, height, width).
        """
        torch: Any = need("torch", "models")
        values = pixels.permute(0, 3, 1, 2).contiguous().to(torch.float32).div_(255)
        mean, std = (torch.tensor(v, device=pixels.device).view(1, 3, 1, 1) for v in (self.mean, self.std))
        return values.sub_(mean).div_(std)

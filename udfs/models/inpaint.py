"""Repaint photographs under a mask: ``inpaint``. What the mask leaves out keeps the very pixels of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import ImageError, decode
from counterbalance.udfs.models.diffusion_files import fingerprint
from counterbalance.udfs.models.diffusion_model import Job
from counterbalance.udfs.models.diffusion_rows import Editor, check_settings, scaled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

DEFAULT: Final = "stabilityai/stable-diffusion-2-inpainting"
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
    ],
    version="1",
    batch_size=64,
    device="auto",
    memory="16GB",
    weights=fingerprint,
)
class inpaint(Editor):  # noqa: N801 - its name in SQL
    """A picture repainted where a mask is white, as a prompt says (Stable Diffusion inpainting): PNG bytes that say what made them.

    The picture is scaled to ``size``, painted and scaled back; every pixel that the mask leaves black stays as it is
    decoded. Checkpoints made for inpainting (nine channels) are best; a text-to-image one (four) works, too.

    Args:
        model: A folder with a checkpoint of diffusers, or a repository of the hub; weights as safetensors only.
        size: Pixels of the longer side in the network, a multiple of 64; the shorter one is the nearest multiple that keeps
            the proportions.

    Call with:
        image: Encoded picture; NULL in any argument gives NULL.
        mask: Encoded picture of the same size; what is lighter than half (128 of 255) is repainted.
        prompt: What is to be seen.
        guidance: Weight of the prompt, 1 (none) or more.
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
    ) -> tuple[Job, tuple[Image, Image]]:
        from PIL import Image as PillowImage

        check_settings(guidance, steps, self.diffusion.most_steps)
        picture = decode(image)
        white = _white(mask, picture)
        small = self.shrunk(picture)
        painted = white.resize(small.size, PillowImage.Resampling.BOX).point(
            [0] + [255] * 255
        )  # all that white touches
        return Job((prompt,), guidance, steps, seed, small.size, image=small, mask=painted), (picture, white)

    def _pasted(self, pixels: Sequence[NDArray[Any]], job: Job, picture: Image, white: Image) -> bytes:
        picture.paste(scaled(pixels[0], picture.size), mask=white)
        return self.composed(picture, job)


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

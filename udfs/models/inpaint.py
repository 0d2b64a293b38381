"""Photographs repainted under a mask: ``inpaint``. What the mask leaves out keeps the very pixels of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import ImageError, decode
from counterbalance.udfs.models.diffusion_files import fingerprint
from counterbalance.udfs.models.diffusion_model import Job
from counterbalance.udfs.models.diffusion_rows import STEP, Diffuser, check_side, complete, fault, fitted, scaled
from counterbalance.udfs.models.running import rows_of

if TYPE_CHECKING:
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
class inpaint(Diffuser):  # noqa: N801 - its name in SQL
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
        RequestError: They are no checkpoint for inpainting (E3520, E3601, E3602), or cannot be loaded (E3546).
        FunctionError: The size is out of range (E8116).

    Source:
        Rombach et al. (2022), inpainting; Hirota et al. (2024) repaint people with it to resample their groups.

    Example:
        ``inpaint(image, mask_people(image, people, fill := 'mask'), 'a photo of a woman', 7.5, 50, seed)``
    """

    task = "inpaint"

    def __init__(self, model: str, size: int) -> None:
        super().__init__(model)
        check_side("size", size, STEP)
        self._size = size

    def __call__(
        self,
        image: pa.Array,
        mask: pa.Array,
        prompt: pa.Array,
        guidance: pa.Array,
        steps: pa.Array,
        seed: pa.Array,
    ) -> Partial:
        """Repainted pictures of a batch."""
        from PIL import Image as PillowImage

        jobs: dict[int, Job] = {}
        sources: dict[int, tuple[Image, Image]] = {}
        errors: dict[int, str] = {}
        for row, data, where, text, weight, count, number in complete(image, mask, prompt, guidance, steps, seed):
            try:
                if why := fault(weight, count, self.diffusion.most_steps):
                    raise ValueError(why)  # noqa: TRY301 - told as what the picture is told for
                picture = decode(data)
                white = _white(where, picture)
            except (ImageError, ValueError) as error:
                errors[row] = str(error)
                continue
            sides = fitted(*picture.size, self._size)
            small = picture.resize(sides, PillowImage.Resampling.LANCZOS)
            painted = white.resize(sides, PillowImage.Resampling.BOX).point([0] + [255] * 255)  # all that white touches
            jobs[row] = Job((text,), weight, count, number, sides, image=small, mask=painted)
            sources[row] = picture, white
        made, failed = self.diffusion.pictures(jobs)
        found = {row: self._pasted(pixels, jobs[row], *sources[row]) for row, (pixels,) in made.items()}
        return rows_of(found, errors | failed, len(image), pa.binary())

    def _pasted(self, pixels: NDArray[Any], job: Job, picture: Image, white: Image) -> bytes:
        picture.paste(scaled(pixels, picture.size), mask=white)
        settings = {"guidance": job.guidance, "steps": job.steps}
        return self.signed(picture, provenance.COMPOSITE, job.prompts[0], job.seed, **settings)


def _white(data: bytes, picture: Image) -> Image:
    """A mask of 0 and 255.

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

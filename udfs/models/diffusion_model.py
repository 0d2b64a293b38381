"""A diffusion pipeline that is loaded: pictures from prompts, and from prompts and pictures, as diffusers makes them."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import CounterbalanceError, RequestError, first_line
from counterbalance.udfs.models.diffusion_files import FILES, PART, adapter, fingerprint, pipeline_class, takes
from counterbalance.udfs.models.encoded import encode_once
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import Budget, inference
from counterbalance.udfs.models.shared import Shared, loading
from counterbalance.udfs.models.weights import folder, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from PIL.Image import Image

    Control = Callable[[Any, Sequence["Job"]], contextlib.AbstractContextManager[None]]

_PIXELS: Final = {"cuda": 16 * 512 * 512, "cpu": 2 * 512 * 512}
"""Pixels that are made at once, to begin with."""
_ANEW: Final = 0.99
"""A pipeline whose own strength is less begins with what is to be painted over; it is told to paint anew."""


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
        strength: Share of the noise that is put into what is painted: 1 paints anew; 0 is as the pipeline likes it.
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
    strength: float = 0.0
    share: float = 0.0


class Diffusion:
    """A pipeline on a device; several threads may use it, one after the other.

    Whatever pipeline of diffusers it is, it is given what its own ``__call__`` takes. Where that has a true guidance beside
    one that is distilled into the network (FLUX, Qwen-Image), the weight of the prompt is that which the network has.

    On a CPU all is float32. On a GPU the matrices of the network are bfloat16, as their products are (``running.inference``);
    its norms, noise and latents stay float32, and so do the text encoder, which is asked once a text, and the
    autoencoder, which works on one picture at a time: eight bits of mantissa would be seen in pixels. Noise is drawn on the CPU, so that
    a seed means the same noise on every device. Networks that are transformers (Stable Diffusion 3 and later) and their
    language models are bfloat16 throughout, as they are published, and only the autoencoder is float32. Texts and pictures are encoded once while rows ask for the same
    (``encode_once``).

    Args:
        task: ``"generate"``, ``"instruct_pix2pix"`` or ``"inpaint"``.
        model: A folder, or a repository of the hub.
        device: ``"cpu"``, ``"cuda:0"`` …
        vae: A folder, or a repository of the hub, with an autoencoder that takes the place of the checkpoint's; or nothing.
        safety: ``"checked"``, or ``"unchecked"`` to leave the checkpoint's safety checker out.
        lora: A file, a folder or a repository with a LoRA that is added to the checkpoint's weights; or nothing.
        lora_weight: How much of it, as text.

    Raises:
        NotFoundError: There are no such weights (E1102, E1103).
        RequestError: They are not for this task (E3520, E3601, E3602), or cannot be loaded (E3546).
    """

    def __init__(
        self,
        task: str,
        model: str,
        device: str,
        safety: str = "checked",
        vae: str = "",
        lora: str = "",
        lora_weight: str = "1.0",
    ) -> None:
        path = folder(model, FILES)
        local = Path(model).expanduser()
        self.name = local.name if local.is_dir() else model
        self.weights = fingerprint(model, vae, lora)
        self._task, self._device = task, device
        kind = device.partition(":")[0]
        self._budget = Budget(_PIXELS[kind], grows=kind == "cuda")
        other = folder(vae, PART) if vae else None
        self.kind = pipeline_class(path, task)
        self.takes = takes(self.kind)
        added = (adapter(lora), float(lora_weight)) if lora else None
        self._pipeline = _loaded(path, self.kind, device, other, added, checked=safety == "checked")
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
    ) -> Iterator[tuple[int, list[NDArray[np.uint8]] | str]]:
        """Yield what the rows ask for, batch by batch.

        Rows of equal size, steps, guidance and strength go through the network together, as many as the device's memory holds
        (``Budget``); each draws from its own seed, so that a picture depends on the others of a batch, and on how many
        there are, only by rounding. A transformer that edits is given a row at a time: several pictures are, to some of
        them, references of one.

        Args:
            jobs: By row number.
            control: What stands around every call of the pipeline, with the jobs of that call.

        Yields:
            Row numbers, and their pictures, one a prompt, uint8 (height, width, 3); or why there are none.
        """
        groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
        for row, job in jobs.items():
            alone = -1 if job.image is None or hasattr(self._pipeline, "unet") else row
            groups[job.size, job.steps, job.guidance, job.image_guidance, job.strength, alone].append(row)
        for _, rows in sorted(groups.items()):
            asked = [jobs[row] for row in rows]
            sizes = [len(job.prompts) * job.size[0] * job.size[1] for job in asked]
            for part, made in self._budget.each(sizes, partial(self._batch, asked, control)):
                yield from zip([rows[i] for i in part], made, strict=True)

    def close(self) -> None:
        """Tell how fast it was."""
        self._meter.close()

    def _batch(
        self, asked: Sequence[Job], control: Control | None, part: NDArray[np.int64]
    ) -> list[list[NDArray[np.uint8]] | str]:
        torch: Any = need("torch", "models")
        jobs = [asked[i] for i in part]
        job = jobs[0]
        call = self._arguments(jobs)
        call["generator"] = [torch.Generator("cpu").manual_seed(job.seed) for job in jobs for _ in job.prompts]
        around = contextlib.nullcontext() if control is None else control(self._pipeline, jobs)
        work = len(call["prompt"]) * job.size[0] * job.size[1] * job.steps
        with self._turn, self._meter.batch(len(jobs), work), inference(self._device), _quiet(), around:
            made = self._pipeline(**call)
        flags = getattr(made, "nsfw_content_detected", None) or [False] * len(made.images)
        each = iter(zip(made.images, flags, strict=True))
        return [_judged([next(each) for _ in job.prompts], job) for job in jobs]

    def _arguments(self, jobs: Sequence[Job]) -> dict[str, Any]:
        """Return what the pipeline is called with, but for the noise: of what there is to say, what it takes."""
        job = jobs[0]
        prompts = [prompt for job in jobs for prompt in job.prompts]
        said: dict[str, Any] = {
            "prompt": prompts,
            "num_inference_steps": job.steps,
            "guidance_scale": job.guidance,
            "width": job.size[0],
            "height": job.size[1],
            "output_type": "np",
        }
        if "true_cfg_scale" in self.takes and not self._pipeline.transformer.config.get("guidance_embeds"):
            del said["guidance_scale"]
            said |= {"true_cfg_scale": job.guidance, "negative_prompt": [" "] * len(prompts)}  # none: no true guidance
        if job.image is not None:
            said |= {"image": [job.image for job in jobs], "image_guidance_scale": job.image_guidance}
            said |= {
                "max_area": job.size[0] * job.size[1],
                "_auto_resize": False,
            }  # FLUX Kontext: of the size asked for
        if job.mask is not None:
            said["mask_image"] = [job.mask for job in jobs]
            own = self.takes.get("strength")
            if job.strength or (own is not None and own.default < _ANEW):
                said["strength"] = job.strength or 1.0
        return {name: value for name, value in said.items() if name in self.takes}


def _judged(made: Sequence[tuple[NDArray[np.float32], bool]], job: Job) -> list[NDArray[np.uint8]] | str:
    """Return the pixels of what a row asked for, or why it gets none: what a safety checker blackened is never kept."""
    height, width = made[0][0].shape[:2]
    if job.image is None and (width, height) != job.size:
        return f"the pipeline makes {width} x {height} pixels where {job.size[0]} x {job.size[1]} are asked for"
    if any(flagged for _, flagged in made):
        return "nsfw: the checkpoint's safety checker flagged the picture"
    if not all(np.isfinite(pixels).all() for pixels, _ in made):
        return "the model made numbers that are none (overflow): no picture"
    return [(pixels * 255).round().astype(np.uint8) for pixels, _ in made]


def _loaded(
    path: Path, name: str, device: str, vae: Path | None, lora: tuple[Path, float] | None, *, checked: bool
) -> Any:
    torch: Any = need("torch", "models")
    diffusers: Any = need("diffusers", "models")
    safe: dict[str, Any] = {"use_safetensors": True, "local_files_only": True, "trust_remote_code": False}
    parts = takes(name, "__init__")
    wholly = device.startswith("cuda") and "transformer" in parts
    more: dict[str, Any] = {"torch_dtype": torch.bfloat16 if wholly else torch.float32}
    if "add_watermarker" in parts:
        more["add_watermarker"] = False  # or pixels depend on what else is installed
    if "safety_checker" in parts and not checked:
        more |= {"safety_checker": None, "requires_safety_checker": False}
    part = vae or path
    try:
        with loading(), _quiet():
            if vae is not None:
                more["vae"] = diffusers.AutoencoderKL.from_pretrained(vae, **safe)
                part = path
            pipeline = getattr(diffusers, name).from_pretrained(path, **safe, **more)
            if wholly:
                pipeline.vae.to(torch.float32)
            else:
                pipeline.to(dtype=torch.float32)
            if lora is not None:
                part = lora[0]
                _add(pipeline, *lora)
            if device.startswith("cuda") and not wholly:
                halve(pipeline.unet)
            pipeline.to(torch.device(device))
    except CounterbalanceError:
        raise
    except Exception as error:  # the libraries raise whatever they like
        raise RequestError(
            f"{part.name} cannot be loaded: {first_line(error)[:200]}",
            code="E3546",
            hint="every part of the pipeline needs its weights as .safetensors, and a LoRA is of one kind of pipeline",
        ) from error
    pipeline.set_progress_bar_config(disable=True)
    if hasattr(pipeline.vae, "enable_slicing"):
        pipeline.vae.enable_slicing()
    if device.startswith("cuda"):
        for step in ("encode", "decode"):
            setattr(pipeline.vae, step, partial(_exact, getattr(pipeline.vae, step)))
    encode_once(pipeline)
    return pipeline


def _add(pipeline: Any, lora: Path, weight: float) -> None:
    """Add a LoRA to the weights of a pipeline, in place: what it makes costs no more then.

    Raises:
        RequestError: peft is not installed (E3501).
        ValueError: The pipeline takes none, or nothing of it is for this pipeline.
    """
    need("peft", "models")
    if not hasattr(pipeline, "load_lora_weights"):
        raise ValueError(f"{type(pipeline).__name__} takes no LoRA")
    pipeline.load_lora_weights(lora.parent, weight_name=lora.name, local_files_only=True, use_safetensors=True)
    if not any(pipeline.get_list_adapters().values()):
        raise ValueError(f"nothing in it is for {type(pipeline).__name__}")
    pipeline.fuse_lora(lora_scale=weight)
    pipeline.unload_lora_weights()


def _exact(step: Callable[..., Any], x: Any, *more: Any, **how: Any) -> Any:
    """Return what an autoencoder makes in float32, whatever the network beside it computes in."""
    torch: Any = need("torch", "models")
    with torch.autocast("cuda", enabled=False):
        return step(x.float(), *more, **how)


def halve(network: Any) -> None:
    """Keep the matrices of a network as bfloat16, in place: those that autocast rounds to it before each product.

    Results are the same bit by bit under ``running.inference``; weights take half the memory, and are not rounded again for
    each batch. Other weights stay as they are: autocast computes norms in float32.

    Args:
        network: A module of torch.

    Example:
        >>> import torch
        >>> network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.LayerNorm(2))
        >>> halve(network)
        >>> [str(weight.dtype) for weight in network.parameters()]
        ['torch.bfloat16', 'torch.bfloat16', 'torch.float32', 'torch.float32']
    """
    torch: Any = need("torch", "models")
    for part in network.modules():
        if isinstance(part, (torch.nn.Linear, torch.nn.Conv2d)):
            part.to(torch.bfloat16)


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
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # of pictures that are not numbers, which are errors of their rows
            yield
    finally:
        messages.set_verbosity(level)
        if bars:
            messages.enable_progress_bar()


MODELS: Final[Shared[Diffusion]] = Shared(Diffusion)

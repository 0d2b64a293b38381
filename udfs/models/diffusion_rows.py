"""Check rows before they reach a diffusion pipeline, and make pictures of them that say what made them."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine import provenance
from counterbalance.engine.errors import FunctionError
from counterbalance.engine.images import ImageError, encode
from counterbalance.udfs.models.diffusion_model import MODELS, Diffusion
from counterbalance.udfs.models.running import rows_of
from counterbalance.udfs.models.shared import Borrower

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from numpy.typing import NDArray
    from PIL.Image import Image

    from counterbalance.engine.functions import Partial
    from counterbalance.udfs.models.diffusion_model import Job

STEP: Final = 64
"""Sides of edited pictures are multiples of it: eight pixels a latent, which the network halves three times."""
LARGEST: Final = 2048
BYTES: Final = pa.binary()
_EIGHT: Final = 8
_SOURCES: Final = 8
"""Sources that stay decoded."""
_WRITERS: Final = min(16, (os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count()) or 1)
"""Threads that write pictures; packing them holds no lock of Python."""


class Diffuser(Borrower[Diffusion]):
    """A function that makes pictures by a pipeline, which is loaded once a process.

    Args:
        model: A folder, or a repository of the hub.
        vae: Likewise, with an autoencoder that takes the place of the checkpoint's; or nothing.
        lora: A file, a folder or a repository with a LoRA; or nothing.
        lora_weight: How much of it is added.
        safety: Whether the checkpoint's safety checker looks at pictures.

    Raises:
        FunctionError: The weight is no number (E8116).
    """

    task = "generate"

    def __init__(
        self, model: str, vae: str = "", *, lora: str = "", lora_weight: float = 1.0, safety: bool = True
    ) -> None:
        if not math.isfinite(lora_weight):
            raise FunctionError(
                f"lora_weight cannot be {lora_weight:g}", code="E8116", hint="1 adds all of it, 0 nothing"
            )
        more = ("checked" if safety else "unchecked", vae, lora, repr(float(lora_weight)))
        super().__init__(MODELS, self.task, model, more=more)
        self._added = {"lora": lora, "lora_weight": lora_weight} if lora else {}

    def made(
        self,
        prepare: Callable[..., tuple[Job, tuple[Any, ...]]],
        write: Callable[..., Any],
        *arrays: pa.Array,
        returns: pa.DataType = BYTES,
        control: Callable[..., Any] | None = None,
    ) -> Partial:
        """Make the pictures of a batch; a row with a NULL is NULL.

        Args:
            prepare: Makes a job of a row's values, and what ``write`` wants beside it; what it raises as ``ValueError`` or
                ``ImageError`` is the error of the row.
            write: Makes the result of the pixels of a job's pictures, the job, and that; in threads, several at once.
            arrays: The batch.
            returns: Type of the results.
            control: Steers the pipeline, see ``Diffusion.pictures``.
        """
        jobs: dict[int, Job] = {}
        beside: dict[int, tuple[Any, ...]] = {}
        errors: dict[int, str] = {}
        for row, values in enumerate(zip(*(array.to_pylist() for array in arrays), strict=True)):
            if any(value is None for value in values):
                continue
            try:
                jobs[row], beside[row] = prepare(*values)
            except (ImageError, ValueError) as error:
                errors[row] = str(error)
        written: dict[int, Future[Any]] = {}
        with ThreadPoolExecutor(_WRITERS, "write") as threads:  # pixels become bytes while the next batch is made
            for row, made in self.loaded.pictures(jobs, control):
                if isinstance(made, str):
                    errors[row] = made
                else:
                    written[row] = threads.submit(write, made, jobs[row], *beside[row])
        found = {row: task.result() for row, task in written.items()}
        return rows_of(found, errors, len(arrays[0]), returns)

    def signed(self, picture: Image, kind: str, prompt: str, seed: int, **settings: Any) -> bytes:
        """Return PNG bytes of a picture that say where it came from.

        Args:
            picture: RGB.
            kind: ``provenance.GENERATED`` or ``COMPOSITE``.
            prompt: What made it.
            seed: Of its noise.
            settings: The other settings.
        """
        source = provenance.Provenance(
            kind,
            software=_software(),
            model=self.loaded.name,
            weights=self.loaded.weights,
            prompt=prompt,
            seed=seed,
            settings=provenance.settings(**settings, **self._added),
        )
        return encode(picture, xmp=source.packet())


class Editor(Diffuser):
    """A function that edits a part of a picture, and leaves the other pixels as they are decoded.

    Args:
        model: A folder, or a repository of the hub.
        size: Pixels of the longer side in the network.
        safety: Whether the checkpoint's safety checker looks at pictures.
        lora: A file, a folder or a repository with a LoRA; or nothing.
        lora_weight: How much of it is added.

    Raises:
        FunctionError: The size is out of range, or the weight no number (E8116).
    """

    def __init__(self, model: str, size: int, safety: bool = True, lora: str = "", lora_weight: float = 1.0) -> None:
        super().__init__(model, safety=safety, lora=lora, lora_weight=lora_weight)
        check_side("size", size, STEP)
        self._size = size
        self.opened = lru_cache(maxsize=_SOURCES)(self.open_source)

    def open_source(self, *values: Any) -> Any:
        """Decode what the candidates of a source share; ``opened`` remembers the last few."""
        raise NotImplementedError

    def shrunk(self, picture: Image) -> Image:
        """Return what is edited at the size at which it goes through the network (Lanczos)."""
        from PIL import Image as PillowImage

        return picture.resize(fitted(*picture.size, self._size), PillowImage.Resampling.LANCZOS)

    def composed(self, picture: Image, job: Job, **settings: Any) -> bytes:
        """Return an edited picture as PNG bytes that say so."""
        settings = {"guidance": job.guidance, "steps": job.steps} | settings
        return self.signed(picture, provenance.COMPOSITE, job.prompts[0], job.seed, **settings)


@cache
def _software() -> str:
    return f"counterbalance {version('counterbalance')}, diffusers {version('diffusers')}"


def check_settings(guidance: float, steps: int, most: int, image_guidance: float = 1.0) -> None:
    """Refuse settings of a row that no pipeline can use.

    Raises:
        ValueError: Says which.

    Example:
        >>> check_settings(7.5, 50, 1000)
        >>> check_settings(0.5, 50, 1000)
        Traceback (most recent call last):
        ValueError: guidance 0.5: 1 (none) or more
    """
    if not 1 <= guidance < math.inf:
        raise ValueError(f"guidance {guidance:g}: 1 (none) or more")
    if not 1 <= image_guidance < math.inf:
        raise ValueError(f"image_guidance {image_guidance:g}: 1 or more")
    if not 1 <= steps <= most:
        raise ValueError(f"{steps} steps: from 1 to {most}")


def check_side(name: str, pixels: int, multiple: int = _EIGHT) -> None:
    """Refuse a side that no pipeline can make.

    Raises:
        FunctionError: It is not a multiple, or out of range (E8116).
    """
    if not STEP <= pixels <= LARGEST or pixels % multiple:
        raise FunctionError(
            f"{name} cannot be {pixels} pixels", code="E8116", hint=f"a multiple of {multiple} from {STEP} to {LARGEST}"
        )


def fitted(width: int, height: int, size: int) -> tuple[int, int]:
    """Return the sides at which a picture goes through the network: the longer one ``size``, multiples of 64, near its proportions.

    Example:
        >>> fitted(200, 100, 512), fitted(100, 310, 512), fitted(10, 1000, 512)
        ((512, 256), (192, 512), (64, 512))
    """
    longer = max(width, height)
    return _near(width * size / longer), _near(height * size / longer)


def _near(side: float) -> int:
    return max(STEP, round(side / STEP) * STEP)


def scaled(pixels: NDArray[Any], size: tuple[int, int]) -> Image:
    """Return a picture that was made, uint8 (height, width, 3), at another width and height (Lanczos)."""
    from PIL import Image as PillowImage

    return PillowImage.fromarray(pixels).resize(size, PillowImage.Resampling.LANCZOS)

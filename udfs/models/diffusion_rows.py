"""What the diffusion functions share: rows checked before they reach a pipeline, and pictures that say what made them."""

from __future__ import annotations

import math
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import provenance
from counterbalance.engine.errors import FunctionError
from counterbalance.engine.images import encode
from counterbalance.udfs.models.diffusion_model import MODELS, Diffusion

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray
    from PIL.Image import Image

STEP: Final = 64
"""Sides of edited pictures are multiples of it: eight pixels a latent, which the network halves three times."""
LARGEST: Final = 2048
_EIGHT: Final = 8


class Diffuser:
    """A function that makes pictures by a pipeline, which is loaded once a process.

    Args:
        model: A folder, or a repository of the hub.
    """

    task = "generate"

    def __init__(self, model: str) -> None:
        self.model = model
        self._loaded: Diffusion | None = None
        self._device = ""

    def open(self, device: str) -> None:
        """Load the pipeline, or join those that use it."""
        self._loaded, self._device = MODELS.borrow(self.task, self.model, device), device

    def close(self) -> None:
        """Let it go."""
        if self._loaded is not None:
            self._loaded = None
            MODELS.give_back(self.task, self.model, self._device)

    @property
    def diffusion(self) -> Diffusion:
        """The pipeline, while it is open."""
        assert self._loaded is not None  # noqa: S101 - functions are opened before they are called
        return self._loaded

    def signed(self, picture: Image, kind: str, prompt: str, seed: int, **settings: Any) -> bytes:
        """PNG bytes of a picture with where it came from.

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
            model=self.diffusion.name,
            weights=self.diffusion.weights,
            prompt=prompt,
            seed=seed,
            settings=provenance.settings(**settings),
        )
        return encode(picture, xmp=source.packet())


@cache
def _software() -> str:
    return f"counterbalance {version('counterbalance')}, diffusers {version('diffusers')}"


def complete(*arrays: pa.Array) -> Iterator[tuple[Any, ...]]:
    """Row number and Python values of each row that has no NULL."""
    for row, values in enumerate(zip(*(array.to_pylist() for array in arrays), strict=True)):
        if all(value is not None for value in values):
            yield (row, *values)


def fault(guidance: float, steps: int, most: int, image_guidance: float = 1.0) -> str | None:
    """Why a row's settings cannot be used, or ``None``.

    Example:
        >>> fault(7.5, 50, 1000) is None
        True
        >>> fault(0.5, 50, 1000)
        'guidance 0.5: 1 (none) or more'
    """
    if not 1 <= guidance < math.inf:
        return f"guidance {guidance:g}: 1 (none) or more"
    if not 1 <= image_guidance < math.inf:
        return f"image_guidance {image_guidance:g}: 1 or more"
    if not 1 <= steps <= most:
        return f"{steps} steps: from 1 to {most}"
    return None


def check_side(name: str, pixels: int, multiple: int = _EIGHT) -> None:
    """Refuse a side that no pipeline can make.

    Raises:
        FunctionError: It is no multiple, or out of range (E8116).
    """
    if not STEP <= pixels <= LARGEST or pixels % multiple:
        raise FunctionError(
            f"{name} cannot be {pixels} pixels", code="E8116", hint=f"a multiple of {multiple} from {STEP} to {LARGEST}"
        )


def fitted(width: int, height: int, size: int) -> tuple[int, int]:
    """Sides at which a picture goes through the network: the longer one ``size``, multiples of 64, near its proportions.

    Example:
        >>> fitted(200, 100, 512), fitted(100, 310, 512), fitted(10, 1000, 512)
        ((512, 256), (192, 512), (64, 512))
    """
    longer = max(width, height)
    return _near(width * size / longer), _near(height * size / longer)


def _near(side: float) -> int:
    return max(STEP, round(side / STEP) * STEP)


def scaled(pixels: NDArray[Any], size: tuple[int, int]) -> Image:
    """A picture that was made, uint8 (height, width, 3), at another width and height (Lanczos)."""
    from PIL import Image as PillowImage

    return PillowImage.fromarray(pixels).resize(size, PillowImage.Resampling.LANCZOS)

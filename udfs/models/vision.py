"""Vision models of transformers (ViT, DINO, DINOv2 …): the vector of a picture is that of the class token, of the last layer.

A model is a folder or a repository of the hub whose ``config.json`` is of one of ``KINDS``. Pictures are prepared by its own
image processor. Code that comes with weights is never run.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.images import MAX_PIXELS, ImageError
from counterbalance.udfs.models import weights
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.clip_names import CONFIG, architectures
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import at_once, inference, taken
from counterbalance.udfs.models.shared import Shared, loading

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from PIL.Image import Image

KINDS: Final = (
    "vit",
    "vit_msn",
    "deit",
    "beit",
    "data2vec-vision",
    "dinov2",
    "dinov2_with_registers",
    "dinov3_vit",
)
"""Types of models whose first token is the class token."""
_REPOSITORY: Final = re.compile(r"[\w.-]+/[\w.-]+(@[\w.-]+)?")
_FILES: Final = (*weights.CHECKPOINT, "*.bin")
_UNUSED: Final = ("pooler.", "embeddings.mask_token")


@dataclass(frozen=True, slots=True)
class Named:
    """A model that is found.

    Args:
        model: Its folder or repository.
        width: Length of its vectors.
    """

    model: str
    width: int

    def digest(self) -> str:
        """Return the digest of all that decides its results.

        Raises:
            NotFoundError: It is not there (E1102, E1103).
        """
        return weights.digest(weights.folder(self.model, _FILES))


def named(model: str) -> Named | None:
    """Find a model, from its configuration alone; ``None`` for a name that is open_clip's, or none at all.

    Args:
        model: A folder with ``config.json``, or ``"owner/repository"``, whose owner is not an architecture of open_clip.

    Raises:
        NotFoundError: The repository is not in the cache (E1102), or cannot be fetched (E1103).
        RequestError: It is none of ``KINDS`` (E3526).

    Example:
        >>> named("ViT-B-32/laion2b_s34b_b79k") is None  # doctest: +SKIP
        True
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return None if (folder / CONFIG).is_file() else _described(model, folder / "config.json")
    owner, known = model.partition("/")[0], architectures()
    if not _REPOSITORY.fullmatch(model) or owner in {".", "..", *known} or did_you_mean(owner, known):
        return None
    return _described(model, weights.file(model, "config.json"))


def _described(model: str, file: Path) -> Named | None:
    if not file.is_file():
        return None
    try:
        config = json.loads(file.read_text("utf-8"))
        kind, width = config.get("model_type"), config.get("hidden_size")
        if kind in KINDS and type(width) is int and width > 0:
            return Named(model, width)
        reason = f"its model type is {kind!r}" if kind not in KINDS else f"hidden_size cannot be {width!r}"
    except (ValueError, AttributeError) as error:
        reason = f"{file.name} cannot be read: {str(error)[:100]}"
    raise RequestError(
        f"{model} is not a vision model with a class token: {reason}",
        code="E3526",
        hint=f"such are models of transformers of the types {', '.join(KINDS)}",
    )


class Vision:
    """A model on a device; several threads may use it, one after the other.

    Args:
        model: As ``named`` takes it.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        NotFoundError: It is not there.
        RequestError: transformers is missing, or the files do not make a model (E3546).
    """

    def __init__(self, model: str, device: str) -> None:
        self._device = device
        folder = weights.folder(model, _FILES)
        with loading(model):
            self._network, self._processor = _loaded(folder)
        self._network = self._network.to(device)
        shortest = int(dict(self._processor.size or {}).get("shortest_edge") or 0)
        self._rows = at_once(device, *taken(self._processor))
        self._ahead = Ahead(partial(_pixels, shortest=shortest), device, stack=False)
        self._meter = Meter(f"{model}, pictures", device)
        self._turn = threading.RLock()

    def close(self) -> None:
        """End what decodes pictures, and tell how fast it was."""
        self._ahead.close()
        self._meter.close()

    def expect(self, images: pa.Array) -> None:
        """Return pictures that ``images`` will be given the time after next."""
        self._ahead.expect(images, self._rows)

    def images(self, images: pa.Array) -> tuple[dict[int, NDArray[np.float32]], dict[int, str]]:
        """Return vectors (float32, not of length 1) by row number, and the reason by row number of those that cannot be read."""
        found: dict[int, NDArray[np.float32]] = {}
        errors: dict[int, str] = {}
        with self._turn:
            for batch, pictures, unread in self._ahead.batches(images, self._rows):
                errors |= unread
                if batch:
                    found |= zip(batch, self._vectors(pictures), strict=True)
        return found, errors

    def _vectors(self, pictures: list[NDArray[np.uint8]]) -> NDArray[np.float32]:
        inputs = self._processor(images=pictures, return_tensors="pt", input_data_format="channels_last")
        pixels = inputs["pixel_values"].to(self._device)
        with self._meter.batch(len(pictures)), inference(self._device):
            states = self._network(pixel_values=pixels).last_hidden_state[:, 0]
        vectors: NDArray[np.float32] = states.float().cpu().numpy()
        return vectors


MODELS: Final[Shared[Vision]] = Shared(Vision)
"""The models of this process."""


def _pixels(picture: Image, *, shortest: int) -> NDArray[np.uint8]:
    """Return a picture as an array; refused where scaling its shorter side to ``shortest`` pixels would make too many."""
    short, long = sorted(picture.size)
    if shortest * shortest * long // short > MAX_PIXELS:
        raise ImageError(f"{picture.width} x {picture.height} pixels: too long and thin to be resized", "too_big")
    return np.array(picture)


def _loaded(folder: Path) -> tuple[Any, Any]:
    """Return the network on the CPU in float32, and what prepares its input.

    Raises:
        ValueError: Weights are missing that a class token's vector needs: others than the pooler and the mask token.
    """
    torch: Any = weights.need("torch", "models")
    transformers: Any = weights.need("transformers", "models")
    safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
    processor = transformers.AutoImageProcessor.from_pretrained(folder, **safe)
    network, told = transformers.AutoModel.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True, **weights.pretrained(folder)
    )
    missing = sorted(name for name in told["missing_keys"] if not name.startswith(_UNUSED))
    if missing:
        raise ValueError(f"weights are missing: {', '.join(missing[:3])}{' …' if len(missing) > 3 else ''}")
    return network.eval(), processor

"""A CLIP model that is loaded: vectors of pictures and of texts, as open_clip computes them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from counterbalance.engine.errors import CounterbalanceError, RequestError, first_line
from counterbalance.udfs.models.ahead import Ahead
from counterbalance.udfs.models.clip_names import named
from counterbalance.udfs.models.clip_pictures import Preparation
from counterbalance.udfs.models.meter import Meter
from counterbalance.udfs.models.running import at_once, inference
from counterbalance.udfs.models.shared import Shared, loading
from counterbalance.udfs.models.weights import checked, need

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    Batch = tuple[list[int], NDArray[Any] | None, dict[int, str]]

_TOKENS: Final = {"cuda": 512 * 77, "cpu": 64 * 77}
"""Tokens of a batch; every text is padded to the length of the model's context."""
_OVERLAY: Final = ("mean", "std", "interpolation", "resize_mode")


class Clip:
    """A model on a device; several threads may use it, one after the other.

    Args:
        model: As ``clip_names.named`` takes it.
        device: ``"cpu"``, ``"cuda:0"`` …

    Raises:
        NotFoundError: It, or something it needs, is not there.
        RequestError: open_clip is missing, or the weights do not fit.
    """

    def __init__(self, model: str, device: str) -> None:
        torch: Any = need("torch", "models")
        self.device, self._kind = device, device.partition(":")[0]
        with loading():
            self.network, self._tokenize, config = _loaded(model)
        self.network = self.network.to(torch.device(device)).eval()
        self.preparation = Preparation.of(config)
        self.scale = float(self.network.logit_scale.detach().exp())
        self._rows = at_once(device, self.preparation.height, self.preparation.width)
        self._ahead = Ahead(self.preparation, device)
        self._seen, self._read = Meter(f"{model}, pictures", device), Meter(f"{model}, texts", device)
        self._turn = threading.RLock()
        self._copies: Any = torch.cuda.Stream(device) if self._kind == "cuda" else None

    def close(self) -> None:
        """End what prepares pictures, and tell how fast it was."""
        self._ahead.close()
        self._seen.close()
        self._read.close()

    def expect(self, images: pa.Array) -> None:
        """Return pictures that ``images`` will be given the time after next."""
        self._ahead.expect(images, self._rows)

    def images(self, images: pa.Array) -> tuple[dict[int, NDArray[np.float32]], dict[int, str]]:
        """Return vectors (float32, not of length 1) by row number, and the reason by row number of those that cannot be read."""
        found: dict[int, NDArray[np.float32]] = {}
        errors: dict[int, str] = {}
        with self._turn:
            for batch, pixels, unread in self.placed(self._ahead.batches(images, self._rows)):
                errors |= unread
                if pixels is not None:
                    found |= zip(batch, self.encoded(pixels), strict=True)
        return found, errors

    def placed(self, batches: Iterable[Batch]) -> Iterator[tuple[list[int], Any, dict[int, str]]]:
        """Yield pixels as tensors on the device; on a GPU one batch ahead, by a thread and a stream of their own."""
        torch: Any = need("torch", "models")
        if self._copies is None:
            for batch, pixels, unread in batches:
                yield batch, None if pixels is None else torch.from_numpy(np.require(pixels, requirements="W")), unread
            return
        source = iter(batches)
        with ThreadPoolExecutor(1) as thread:
            coming = thread.submit(self._copied, source)
            while (found := coming.result()) is not None:
                coming = thread.submit(self._copied, source)
                yield found

    def _copied(self, source: Iterator[Batch]) -> tuple[list[int], Any, dict[int, str]] | None:
        torch: Any = need("torch", "models")
        batch = next(source, None)
        if batch is None or batch[1] is None:
            return batch
        with torch.cuda.stream(self._copies):
            pinned = torch.from_numpy(np.require(batch[1], requirements="W")).pin_memory()
            there = pinned.to(self.device, non_blocking=True)
        self._copies.synchronize()
        there.record_stream(torch.cuda.default_stream(self.device))
        return batch[0], there, batch[2]

    def encoded(self, pixels: Any) -> NDArray[np.float32]:
        """Return the vectors of prepared pictures, float32 (rows, length), not of length 1.

        Args:
            pixels: Tensor on the device, uint8 (rows, height, width, 3).
        """
        with self._seen.batch(len(pixels)), inference(self.device):
            features = self.network.encode_image(self.preparation.tensor(pixels))
        return _numpy(features)

    def texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of texts, float32 (texts, length), not of length 1; a text is cut at the length of the model's context."""
        parts: list[NDArray[np.float32]] = []
        rows = max(1, _TOKENS[self._kind] // int(self._tokenize.context_length))
        for start in range(0, len(texts), rows):
            with self._turn:
                tokens = self._tokenize(list(texts[start : start + rows])).to(self.device)
                with self._read.batch(len(tokens)), inference(self.device):
                    features = self.network.encode_text(tokens)
                parts.append(_numpy(features))
        return np.concatenate(parts)


MODELS: Final[Shared[Clip]] = Shared(Clip)
"""The models of this process."""


def _numpy(features: Any) -> NDArray[np.float32]:
    found: NDArray[np.float32] = features.float().cpu().numpy()
    return found


def _loaded(model: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return the network on the CPU in float32, the tokenizer, and the preprocessing."""
    open_clip: Any = need("open_clip", "models")
    found = named(model)
    checkpoint = found.checkpoint()
    name, _, tag = model.partition("/")
    known = open_clip.get_pretrained_cfg(name, tag) if found.tag else {}
    try:
        network = open_clip.create_model(
            found.name,
            load_weights=False,
            pretrained_text=False,
            force_quick_gelu=bool(known.get("quick_gelu", False)),
            force_preprocess_cfg={n: known[n] for n in _OVERLAY if n in known},
        )
        open_clip.load_checkpoint(network, str(checked(checkpoint)), weights_only=True)
        return network, open_clip.get_tokenizer(found.name), dict(network.visual.preprocess_cfg)
    except CounterbalanceError:
        raise
    except Exception as error:
        raise _unfit(model, checkpoint, error) from error


def _unfit(model: str, checkpoint: Path, error: Exception) -> RequestError:
    lacking = "offline" in str(error).lower() or "couldn't connect" in str(error).lower()
    hint = "say --allow-download to fetch once what it needs beside its weights" if lacking else None
    damaged = "weights that were saved as safetensors, or as plain tensors, can be read"
    told = f"{model} cannot be loaded from {checkpoint}: {first_line(error)[:300]}"
    return RequestError(told, code="E3546", hint=hint or damaged)

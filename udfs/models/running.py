"""Run models: precision by device, batches by a budget, results that a seed decides."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Partial
from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from counterbalance.udfs.models.ahead import Ahead

T = TypeVar("T")
_LONGEST: Final = 1 << 20
_PIXELS: Final = {"cuda": 512 * 224 * 224, "cpu": 32 * 224 * 224}
"""Pixels of a batch of pictures of one size."""


@contextlib.contextmanager
def inference(device: str) -> Iterator[None]:
    """Work without gradients; on a GPU bfloat16 where the operation allows it, on a CPU float32 throughout."""
    torch: Any = need("torch", "models")
    mixed = device.startswith("cuda")
    with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=mixed):
        yield


def seed_of(*parts: object) -> int:
    """Return a 63-bit seed from values, the same on every machine: for what is drawn at random a row.

    Example:
        >>> seed_of(0, "a") == seed_of(0, "a") != seed_of(1, "a")
        True
    """
    import hashlib

    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "little") >> 1


def by_budget(
    sizes: Sequence[int] | NDArray[np.int64], budget: int, rows: int = _LONGEST
) -> Iterator[NDArray[np.int64]]:
    """Yield row numbers in batches of which none, padded to its longest row, is above a budget; rows of like size together.

    Args:
        sizes: Size of each row: tokens of a text, pixels of a picture.
        budget: Largest (rows x longest row) of a batch; one row alone may be above it.
        rows: Most rows of a batch.

    Yields:
        int64 row numbers; together every row once.

    Example:
        >>> [b.tolist() for b in by_budget([3, 50, 4, 2], budget=12)]
        [[3, 0, 2], [1]]
    """
    sizes = np.asarray(sizes, np.int64)
    order = np.argsort(sizes, kind="stable")
    start = 0
    for end in range(1, len(order) + 1):
        full = end < len(order) and ((end + 1 - start) * sizes[order[end]] > budget or end - start >= rows)
        if full or end == len(order):
            yield order[start:end]
            start = end


class Budget:
    """How much goes through a device at once: twice as much after each full batch, half when its memory ends, which ends the growth.

    Args:
        size: What a batch may be to begin with, in what sizes of rows are counted in (pixels, tokens).
        grows: Whether more is tried. Not on a CPU, whose memory ends with the process.

    Example:
        >>> budget = Budget(20, grows=True)
        >>> [(rows.tolist(), total) for rows, total in budget.each([10] * 7, lambda rows: 10 * len(rows))]
        [([0, 1], 20), ([2, 3, 4, 5], 40), ([6], 10)]
    """

    def __init__(self, size: int, *, grows: bool) -> None:
        self.size, self.grows = size, grows

    def each(
        self, sizes: Sequence[int], work: Callable[[NDArray[np.int64]], T]
    ) -> Iterator[tuple[NDArray[np.int64], T]]:
        """Yield the row numbers of a batch, int64, and what was made of them; together every row once.

        Args:
            sizes: Of each row.
            work: Makes something of some rows; the same of fewer, if memory ends.

        Raises:
            torch.OutOfMemoryError: There is not enough for one row.
        """
        every = np.asarray(sizes, np.int64)
        rest = np.arange(len(every))
        while len(rest):
            rows = rest[next(by_budget(every[rest], self.size))]
            made = self._tried(rows, len(rows) * int(every[rows].max()), work)
            if made is None:
                continue
            rest = np.setdiff1d(rest, rows)
            if self.grows and len(rest):
                self.size *= 2
            yield rows, made[0]

    def _tried(self, rows: NDArray[np.int64], size: int, work: Callable[[NDArray[np.int64]], T]) -> tuple[T] | None:
        torch: Any = need("torch", "models")
        try:
            return (work(rows),)
        except torch.cuda.OutOfMemoryError:
            if len(rows) == 1:
                raise
        self.size, self.grows = size // 2, False  # by now nothing holds what the failed batch had allocated
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        return None


def at_once(device: str, height: int, width: int) -> int:
    """Return the pictures of a batch by a budget of pixels.

    Args:
        device: ``"cpu"``, ``"cuda:0"`` …
        height: Of each picture as the model takes it.
        width: Likewise.

    Example:
        >>> at_once("cpu", 224, 224), at_once("cuda:0", 448, 448), at_once("cpu", 9000, 9000)
        (32, 128, 1)
    """
    return max(1, _PIXELS[device.partition(":")[0]] // (height * width))


def taken(processor: Any) -> tuple[int, int]:
    """Return the height and width of the pictures that an image processor of transformers makes.

    Example:
        >>> from types import SimpleNamespace
        >>> taken(SimpleNamespace(do_center_crop=True, crop_size={"height": 8, "width": 6}, size={"shortest_edge": 9}))
        (8, 6)
        >>> taken(SimpleNamespace(size={"shortest_edge": 9}))
        (9, 9)
    """
    cropped = getattr(processor, "do_center_crop", False)
    size = dict((processor.crop_size if cropped else processor.size) or {})
    side = size.get("shortest_edge") or size.get("longest_edge") or 224
    return int(size.get("height") or side), int(size.get("width") or side)


def vectors(
    found: Mapping[int, NDArray[np.float32]], errors: Mapping[int, str], count: int, kind: pa.DataType
) -> Partial:
    """Return vectors by row number as a fixed-size list array; rows without one are NULL."""
    width = kind.list_size
    flat = np.zeros((count, width), np.float32)
    missing = np.ones(count, bool)
    for row, vector in found.items():
        flat[row], missing[row] = vector, False
    values = pa.FixedSizeListArray.from_arrays(pa.array(flat.ravel()), width, mask=pa.array(missing))
    return Partial(values.cast(kind), errors)


def rows_of(found: Mapping[int, Any], errors: Mapping[int, str], count: int, kind: pa.DataType) -> Partial:
    """Return python values by row number as an array; rows without one are NULL."""
    return Partial(pa.array([found.get(row) for row in range(count)], kind), errors)


def of_batches(
    ahead: Ahead,
    images: pa.Array,
    rows: int,
    call: Callable[[list[NDArray[np.uint8]]], Sequence[Any]],
    kind: pa.DataType,
) -> Partial:
    """Return what a call makes of pictures, so many at once; one that cannot be read is an error of its row.

    Args:
        ahead: Of ``np.array``, not stacked.
        images: Encoded pictures, binary; NULL gives NULL.
        rows: Pictures of a call at most.
        call: Given uint8 arrays (height, width, 3), one value each.
        kind: Arrow type of a value.
    """
    found: dict[int, Any] = {}
    errors: dict[int, str] = {}
    for numbers, pictures, unread in ahead.batches(images, rows):
        errors |= unread
        if numbers:
            found.update(zip(numbers, call(pictures), strict=True))
    return rows_of(found, errors, len(images), kind)

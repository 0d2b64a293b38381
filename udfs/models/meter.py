"""Measure how fast a model runs, and which share of its device's peak that is: one line on stderr when it is closed."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from counterbalance.udfs.models.weights import need

if TYPE_CHECKING:
    from collections.abc import Iterator

PEAKS: Final = {
    "H200": 989.0,
    "H100 PCIe": 756.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L4": 121.0,
    "A10": 125.0,
    "RTX 4090": 165.0,
    "RTX 3090": 71.0,
    "V100": 125.0,
    "T4": 65.0,
}
"""Dense bfloat16 (float16 where there is none) TFLOP/s of matrix units, by part of the device's name: vendors' data sheets."""


class Meter:
    """Counts rows, device seconds and floating-point operations of a model.

    Args:
        name: Of the function.
        device: ``"cpu"``, ``"cuda:0"`` …; on a CPU nothing is printed.

    Example:
        >>> meter = Meter("embed_image", "cpu")
        >>> with meter.batch(64):
        ...     pass
        >>> meter.rows
        64
    """

    def __init__(self, name: str, device: str) -> None:
        self.name, self.device = name, device
        self.rows = self._size = 0
        self.seconds = self.operations = self._each = 0.0
        self._first: tuple[int, float] | None = None

    @contextlib.contextmanager
    def batch(self, rows: int, size: int | None = None) -> Iterator[None]:
        """Measure the model's own work on some rows.

        In the first batch operations are counted; its time, warm-up included, counts only if no other follows.

        Args:
            rows: How many.
            size: What the operations of a batch grow with, such as its tokens with padding; the rows, if it is nothing else.
        """
        if not self.device.startswith("cuda"):
            yield
            self.rows += rows
            return
        size = size or rows
        torch: Any = need("torch", "models")
        counter = _counter() if self._first is None else None
        began = time.perf_counter()
        with counter or contextlib.nullcontext():
            yield
        torch.cuda.synchronize(self.device)
        seconds = time.perf_counter() - began
        if counter is None:
            self.rows, self._size, self.seconds = self.rows + rows, self._size + size, self.seconds + seconds
            self.operations = self._each * self._size / self.rows
        else:
            self._first, self._each = (rows, seconds), counter.get_total_flops() / size
            self.operations = self._each * size / rows

    def close(self) -> None:
        """Tell."""
        if self._first is not None:
            sys.stderr.write(self.line(_device_name(self.device)) + "\n")

    def line(self, device: str) -> str:
        """Return the line that is printed.

        Args:
            device: Name of the device.

        Example:
            >>> meter = Meter("embed_image", "cuda:0")
            >>> meter.rows, meter.seconds, meter.operations = 10_000, 2.0, 8.8e9
            >>> meter.line("NVIDIA H200")
            'embed_image: 5,000 rows/s, 44.0 TFLOP/s, 4 % of the peak of NVIDIA H200'
            >>> meter.line("something new")
            'embed_image: 5,000 rows/s, 44.0 TFLOP/s on something new'
        """
        alone = self._first if not self.rows else None
        rows, seconds = alone or (self.rows, self.seconds)
        rate = rows / seconds
        done = rate * self.operations / 1e12
        peak = next((p for part, p in PEAKS.items() if part in device), None)
        share = f" on {device}" if peak is None else f", {100 * done / peak:.0f} % of the peak of {device}"
        return f"{self.name}: {rate:,.0f} rows/s, {done:,.1f} TFLOP/s{share}{', warm-up included' if alone else ''}"


def _counter() -> Any:
    from torch.utils.flop_counter import FlopCounterMode

    return FlopCounterMode(display=False)


def _device_name(device: str) -> str:
    torch: Any = need("torch", "models")
    return str(torch.cuda.get_device_name(device))

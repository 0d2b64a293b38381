"""How fast a model ran, and which share of its device's peak that is: one line on stderr when it is closed."""

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
_MEASURED: Final = 1


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
        self.rows = self._counted = 0
        self.seconds = self.operations = 0.0

    @contextlib.contextmanager
    def batch(self, rows: int) -> Iterator[None]:
        """Around the model's own work on some rows; the first batch is counted (its time is not), later ones are timed."""
        if not self.device.startswith("cuda"):
            yield
            self.rows += rows
            return
        torch: Any = need("torch", "models")
        if self._counted < _MEASURED:
            from torch.utils.flop_counter import FlopCounterMode

            with FlopCounterMode(display=False) as counter:
                yield
            self._counted += 1
            self.operations = counter.get_total_flops() / rows
            torch.cuda.synchronize(self.device)
            return
        start = time.perf_counter()
        yield
        torch.cuda.synchronize(self.device)
        self.seconds += time.perf_counter() - start
        self.rows += rows

    def close(self) -> None:
        """Tell."""
        if self.seconds and self.rows:
            sys.stderr.write(self.line(_device_name(self.device)) + "\n")

    def line(self, device: str) -> str:
        """What is told.

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
        rate = self.rows / self.seconds
        done = rate * self.operations / 1e12
        peak = next((p for part, p in PEAKS.items() if part in device), None)
        share = f" on {device}" if peak is None else f", {100 * done / peak:.0f} % of the peak of {device}"
        return f"{self.name}: {rate:,.0f} rows/s, {done:,.1f} TFLOP/s{share}"


def _device_name(device: str) -> str:
    torch: Any = need("torch", "models")
    return str(torch.cuda.get_device_name(device))

"""Where blocked products run: numpy's BLAS, or torch on a GPU; both hand numpy arrays back."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from counterbalance.engine.errors import RequestError
from counterbalance.engine.executors.devices import gpus
from counterbalance.engine.executors.process_pool import cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_LOWEST: Final = float(np.finfo(np.float32).min)
Found = tuple["NDArray[np.intp]", "NDArray[np.intp]", "NDArray[np.float32]"]
"""Rows, columns and values of the cells that were found, in order of row and column."""


class Device(Protocol):
    """What exact search and k-means need of a device; matrices are float32 and stay there between calls."""

    query_rows: int
    item_rows: int
    workers: int

    def put(self, matrix: NDArray[np.float32]) -> Any:
        """Bring an array there."""

    def products(self, a: Any, b: Any, bias: Any | None) -> Any:
        """Return ``a @ b.T + bias``, queries by items; valid until the next call in this thread."""

    def leave_out(self, products: Any, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Set cells to minus infinity."""

    def kth(self, products: Any, k: int) -> NDArray[np.float32]:
        """Return the k-th largest value of every row; there are at least k columns."""

    def above(self, products: Any, bounds: NDArray[np.float32]) -> Found:
        """Return the finite cells that reach their row's bound."""

    def largest(self, products: Any) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the column and value of every row's largest cell; the first of equal ones."""

    def sums(self, points: Any, labels: NDArray[np.intp], count: int) -> NDArray[np.float64]:
        """Sum of the points of every label, labels by dimensions."""

    def exact(self, blocks: int) -> Any:
        """Return a context for so many blocks: products are whole float32, whatever the program has set."""


def device(name: str = "auto") -> Device:
    """Return the device of that name.

    Args:
        name: ``"auto"`` (a GPU when torch and one are there), ``"cpu"``, ``"cuda"`` or ``"cuda:1"``; of several, as in
            ``"cuda:0,1"``, the first.

    Raises:
        RequestError: There is no such device, or torch is not installed.

    Example:
        >>> type(device("cpu")).__name__
        'Cpu'
    """
    name = name.partition(",")[0]
    if name not in {"auto", "cpu"} and name.partition(":")[0] != "cuda":
        raise RequestError(f"no device {name!r}", code="E3461", hint="devices: auto, cpu, cuda, cuda:0 …")
    count = 0 if name == "cpu" else gpus()
    if name == "cpu" or (name == "auto" and not count):
        return Cpu()
    if name not in {"auto", "cuda", *(f"cuda:{i}" for i in range(count))} or not count:
        raise RequestError(
            f"no device {name!r}: torch sees {count} of them here"
            if count
            else f"no device {name!r} without torch and a GPU",
            code="E3462",
            hint="leave it out, or say cpu",
        )
    return Torch("cuda" if name == "auto" else name)


class _SingleThreadedBlas:
    """BLAS with one thread, from the first that enters to the last that leaves; the setting is the process's."""

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0
        self._limits: Any = None

    def enter(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if self._inside == 0:
                self._limits = threadpool_limits(1, user_api="blas")
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.restore_original_limits()


_single: Final = _SingleThreadedBlas()


class Cpu:
    """numpy; blocks fit the second cache level or so, and worker threads take turns at them."""

    query_rows = 512
    item_rows = 4096

    def __init__(self) -> None:
        self.workers = cores()
        self._own = threading.local()

    def put(self, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the array itself."""
        return matrix

    def _scratch(self, name: str, shape: tuple[int, int], kind: Any) -> Any:
        """Return a block of memory that this thread uses again and again: fresh pages cost as much as a product."""
        size = shape[0] * shape[1]
        held = getattr(self._own, name, None)
        if held is None or held.size < size:
            held = np.empty(size, kind)
            setattr(self._own, name, held)
        return held[:size].reshape(shape)

    def products(
        self, a: NDArray[np.float32], b: NDArray[np.float32], bias: NDArray[np.float32] | None
    ) -> NDArray[np.float32]:
        """Multiply into memory of this thread."""
        out: NDArray[np.float32] = self._scratch("products", (len(a), len(b)), np.float32)
        np.matmul(a, b.T, out=out)
        if bias is not None:
            out += bias
        return out

    def leave_out(self, products: NDArray[np.float32], rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Set cells in place."""
        products[rows, columns] = -np.inf

    def kth(self, products: NDArray[np.float32], k: int) -> NDArray[np.float32]:
        """Find them by partition."""
        at = products.shape[1] - k
        values: NDArray[np.float32] = np.partition(products, at, axis=1)[:, at]
        return values

    def above(self, products: NDArray[np.float32], bounds: NDArray[np.float32]) -> Found:
        """Look at eight cells of the mask together, for few of them are set."""
        mask = self._scratch("mask", products.shape, np.bool_)
        np.greater_equal(products, np.maximum(bounds, _LOWEST)[:, None], out=mask)
        flat = mask.reshape(-1)
        whole = flat.size // 8 * 8
        words = np.flatnonzero(flat[:whole].view(np.uint64))
        word, byte = np.nonzero(flat[:whole].reshape(-1, 8)[words])
        cells = np.concatenate((words[word] * 8 + byte, whole + np.flatnonzero(flat[whole:])))
        rows, columns = np.divmod(cells, max(1, products.shape[1]))
        return rows, columns, products.reshape(-1)[cells]

    def largest(self, products: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Find it by argmax."""
        columns = products.argmax(axis=1)
        return columns, products[np.arange(len(products)), columns]

    def sums(self, points: NDArray[np.float32], labels: NDArray[np.intp], count: int) -> NDArray[np.float64]:
        """Compute them as the product with a sparse matrix of ones."""
        from scipy.sparse import csr_array

        ones = csr_array((np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(count, len(labels)))
        total: NDArray[np.float64] = ones @ points.astype(np.float64)
        return total

    @contextmanager
    def exact(self, blocks: int) -> Iterator[None]:
        """Give BLAS one thread, for worker threads and those inside of BLAS would wait for each other."""
        if min(blocks, self.workers) < 2:
            yield
            return
        _single.enter()
        try:
            yield
        finally:
            _single.leave()


class Torch:
    """torch on one device; one thread feeds it."""

    query_rows = 4096
    item_rows = 65_536
    workers = 1

    def __init__(self, name: str) -> None:
        import torch

        self._torch: Any = torch
        self._device = torch.device(name)

    def put(self, matrix: NDArray[np.float32]) -> Any:
        """Return a tensor there."""
        return self._torch.from_numpy(np.require(matrix, requirements=["C", "W"])).to(self._device)

    def products(self, a: Any, b: Any, bias: Any | None) -> Any:
        """Return a tensor."""
        return a @ b.T if bias is None else self._torch.addmm(bias, a, b.T)

    def leave_out(self, products: Any, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> None:
        """Set cells in place."""
        if len(rows):
            products[self._index(rows), self._index(columns)] = -float("inf")

    def _index(self, values: NDArray[np.intp]) -> Any:
        return self._torch.from_numpy(values).to(self._device)

    def kth(self, products: Any, k: int) -> NDArray[np.float32]:
        """Find them by top-k."""
        return self._numpy(self._torch.topk(products, k, dim=1).values[:, -1])

    def above(self, products: Any, bounds: NDArray[np.float32]) -> Found:
        """Take only what is found off the device."""
        limits = self._torch.from_numpy(np.maximum(bounds, _LOWEST).astype(np.float32)).to(self._device)
        rows, columns = self._torch.nonzero(products >= limits[:, None], as_tuple=True)
        return self._numpy(rows), self._numpy(columns), self._numpy(products[rows, columns])

    def largest(self, products: Any) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Find it by max."""
        values, columns = products.max(dim=1)
        return self._numpy(columns), self._numpy(values)

    def sums(self, points: Any, labels: NDArray[np.intp], count: int) -> NDArray[np.float64]:
        """Compute them as the product with a matrix of ones, which adds in the same order every time."""
        ones = self._torch.zeros((count, len(points)), dtype=points.dtype, device=self._device)
        ones[self._index(labels), self._torch.arange(len(points), device=self._device)] = 1
        total: NDArray[np.float64] = self._numpy(ones @ points).astype(np.float64)
        return total

    def _numpy(self, tensor: Any) -> NDArray[Any]:
        array: NDArray[Any] = tensor.cpu().numpy()
        return array

    @contextmanager
    def exact(self, blocks: int) -> Iterator[None]:
        """Allow no TF32 or bfloat16 inside."""
        del blocks
        before = self._torch.get_float32_matmul_precision()
        self._torch.set_float32_matmul_precision("highest")
        try:
            with self._torch.inference_mode():
                yield
        finally:
            self._torch.set_float32_matmul_precision(before)

"""Too little memory for a batch means smaller batches: the one rule, in a refresh and in a query."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")


class Halving(Generic[R]):
    """Calls something with as many rows at once as there is memory for.

    A batch that fails is halved until what fails is a single row. After running out of memory batches stay small; a row that
    is too large even alone is its own fault, and says nothing of others.

    Args:
        size: Rows at once.
        halves: Whether a batch is halved after this error; others are passed on.
        alone: What a single row gives that failed with this error; it may raise.

    Attributes:
        size: Rows at once, by now.

    Example:
        >>> def total(start, rows):
        ...     if rows > 3:
        ...         raise MemoryError
        ...     return sum(range(start, start + rows))
        >>> calls = Halving(size=8, halves=out_of_memory, alone=lambda error: 0)
        >>> calls(0, 10, total), calls.size, calls.note
        ([1, 5, 9, 13, 17], 2, 'out of memory at 4 rows; going on with 2')
    """

    def __init__(self, size: int, halves: Callable[[Exception], bool], alone: Callable[[Exception], R]) -> None:
        self.size = self._full = size
        self._halves, self._alone = halves, alone
        self.note: str | None = None

    def __call__(self, start: int, count: int, call: Callable[[int, int], R]) -> list[R]:
        """Return what ``call(start, count)`` gives for these rows, in parts and in order.

        ``note`` then says how batches became smaller, if they did just now.
        """
        self.note = None
        return self._parts(start, count, call)

    def _parts(self, start: int, count: int, call: Callable[[int, int], R]) -> list[R]:
        size = self.size
        if count > size:
            return [
                part for low in range(0, count, size) for part in self._parts(start + low, min(size, count - low), call)
            ]
        try:
            return [call(start, count)]
        except Exception as error:  # whatever a user's function raises
            if not self._halves(error):
                raise
            memory = out_of_memory(error)
            failed = [self._alone(error)] if count == 1 else []
        # What the failed call held in memory is let go only here, where its exception is gone.
        if memory:
            self._smaller(count)
        if count == 1:
            return failed
        half = count // 2
        return self._parts(start, half, call) + self._parts(start + half, count - half, call)

    def _smaller(self, count: int) -> None:
        if count > 1:
            self.size = count // 2
            self.note = f"out of memory at {count} rows; going on with {self.size}"
        else:
            self.size, self.note = self._full, None
        _release()


def out_of_memory(error: BaseException) -> bool:
    """Tell whether memory ran out, of this machine or of its accelerator.

    Example:
        >>> out_of_memory(MemoryError()), out_of_memory(ValueError())
        (True, False)
    """
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _release() -> None:
    """Give cached accelerator memory back, where torch is in use."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()

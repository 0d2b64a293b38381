"""Work on the items of a source on every core, ahead of who takes them, in their order."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from counterbalance.engine.executors import process_pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

Item = TypeVar("Item")
Found = TypeVar("Found")

_A_CORE: Final = 4
"""Items that wait for each core: as many are in memory."""


def looked_ahead(
    items: Iterable[Item], look: Callable[[Item], Found], *, cores: int | None = None
) -> Iterator[tuple[Item, Found]]:
    """Yield every item with what ``look`` finds of it, as a plain loop would.

    Threads run ``look``: it gains where that lets go of the interpreter, as decoding a picture, a digest and reading a
    file do. What ``items`` or ``look`` raise comes after the items before it.

    Args:
        items: Taken one by one in the calling thread, a few ahead.
        look: Called once an item, in any order and at once: it must not change what it shares.
        cores: So many at once; as many as this process may use without it.

    Example:
        >>> list(looked_ahead(["a", "bc"], len))
        [('a', 1), ('bc', 2)]
    """
    cores = cores or process_pool.cores()
    if cores == 1:
        yield from ((item, look(item)) for item in items)
        return
    waiting: deque[tuple[Item, Future[Found]]] = deque()
    source, end = iter(items), None
    with ThreadPoolExecutor(cores) as pool:
        try:
            while True:
                while end is None and len(waiting) < cores * _A_CORE:
                    try:
                        item = next(source)
                    except Exception as error:  # noqa: BLE001 - it is raised when its turn has come
                        end = error
                    else:
                        waiting.append((item, pool.submit(look, item)))
                if not waiting:
                    break
                item, future = waiting.popleft()
                yield item, future.result()
        finally:
            for _, future in waiting:
                future.cancel()
    if end is not None and not isinstance(end, StopIteration):
        raise end

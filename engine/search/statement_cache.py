"""What the table functions of one statement share, so that texts which are ranked twice are made into vectors once."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

_Made = list[tuple["pa.ChunkedArray", "pa.ChunkedArray", Any]]
_made: ContextVar[_Made | None] = ContextVar("made", default=None)


@contextlib.contextmanager
def statement() -> Iterator[None]:
    """Share within this block; what was made is forgotten at its end."""
    token = _made.set([])
    try:
        yield
    finally:
        _made.reset(token)


def once(queries: pa.ChunkedArray, items: pa.ChunkedArray, make: Callable[[], Any]) -> Any:
    """Return what ``make`` gives, made once for equal texts in a statement, and every time outside of one.

    Example:
        >>> import pyarrow as pa
        >>> texts, made = pa.chunked_array([["a"]]), []
        >>> with statement():
        ...     _ = [once(texts, pa.chunked_array([["a"]]), lambda: made.append(1)) for _ in range(3)]
        >>> _ = once(texts, texts, lambda: made.append(1))
        >>> len(made)
        2
    """
    known = _made.get()
    if known is None:
        return make()
    for one, other, found in known:
        if one.equals(queries) and other.equals(items):
            return found
    found = make()
    known.append((queries, items, found))
    return found

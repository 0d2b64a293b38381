"""How large a shard may become."""

from __future__ import annotations

from dataclasses import dataclass

from counterbalance.engine import memory
from counterbalance.engine.errors import RequestError


@dataclass(frozen=True, slots=True)
class Limit:
    """Rows or bytes of a shard; ``None`` for any number."""

    rows: int | None = None
    bytes: int | None = None

    def reached(self, rows: int, size: int) -> bool:
        """Whether a shard with so many rows and bytes is full.

        Example:
            >>> Limit(rows=2).reached(2, 10), Limit(bytes=100).reached(2, 10), Limit().reached(9, 9)
            (True, False, False)
        """
        return (self.rows is not None and rows >= self.rows) or (self.bytes is not None and size >= self.bytes)


def limit(text: str | int) -> Limit:
    """A limit as a user writes it.

    Args:
        text: Rows (``10000``) or bytes (``500MB``, ``1GiB``).

    Raises:
        RequestError: It is neither, or nothing (E3676).

    Example:
        >>> limit("10000"), limit("500MB")
        (Limit(rows=10000, bytes=None), Limit(rows=None, bytes=500000000))
    """
    written = str(text).strip()
    try:
        size = int(written) if written.isdecimal() else memory.parse(written)
    except ValueError:
        size = 0
    if size < 1:
        raise RequestError(
            f"{written!r} is no size of a shard", code="E3676", hint="rows such as 10000, or bytes such as 500MB"
        )
    return Limit(rows=size) if written.isdecimal() else Limit(bytes=size)

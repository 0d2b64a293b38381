"""Let the operating system hold a query to its memory, because the database does not hold all of it.

DuckDB's own limit counts its buffers, not what functions such as ``repeat`` or a Python result take. A limit on the
process's address space turns a run-away into a clean error instead of a machine that swaps.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import re
from pathlib import Path
from typing import Final

_ROOM: Final = 512 << 20
_ROOM_A_CORE: Final = 128 << 20
"""Address space (not memory) that threads reserve for stacks and allocator arenas; queries were seen to map 0.1 GiB."""


def parse(text: str) -> int:
    """Return the bytes of a size such as ``2GB`` (powers of 1000) or ``512MiB`` (powers of 1024).

    Raises:
        ValueError: It is not a size.

    Example:
        >>> parse("2GB"), parse("1.5 MiB")
        (2000000000, 1572864)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgt])(i?)b?|b)?\s*", text, re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index((prefix or " ").lower()))


def resident(process: int) -> int:
    """Return the bytes of memory that a process and those that it started have to themselves; 0 where that is not told."""
    pages = _pages(process)
    return (pages[1] - pages[2] if pages else 0) + sum(map(resident, _children(process)))


def _children(process: int) -> list[int]:
    """Return the processes that the threads of a process started; none where that is not told."""
    children: list[int] = []
    with contextlib.suppress(OSError):  # it has just ended
        for thread in Path(f"/proc/{process}/task").iterdir():
            with contextlib.suppress(OSError):  # so has a thread of it
                children += map(int, (thread / "children").read_text(encoding="ascii").split())
    return children


def _pages(process: int | str) -> list[int]:
    """Return sizes in bytes: mapped, resident, and of the latter what lies in files or is shared."""
    try:
        return [int(n) * mmap.PAGESIZE for n in Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[:3]]
    except (OSError, ValueError):
        return []


def cap(limit: str) -> None:
    """Limit the address space of this process to what it maps, plus ``limit``, plus room for threads.

    Call it when everything is imported and the session is open. Where the system has no such limit, nothing happens.
    """
    mapped = sum(_pages("self")[:1])
    _set(mapped + parse(limit) + _ROOM + _ROOM_A_CORE * (os.cpu_count() or 1) if mapped else None)


def uncap() -> None:
    """Take the limit away."""
    _set(None)


def _set(wanted: int | None) -> None:
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        fits = wanted is not None and (hard == resource.RLIM_INFINITY or wanted < hard)
        resource.setrlimit(resource.RLIMIT_AS, (wanted if wanted is not None and fits else hard, hard))

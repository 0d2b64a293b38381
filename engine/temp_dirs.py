"""Folders that queries spill into: one a DuckDB, private, gone with it; those of killed processes go later.

A folder holds a file that its process keeps locked. The lock ends with the process, however it ends, so that the next
process that opens a session can tell whose folders nobody needs any more, also where containers share a disk.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Final

_PREFIX: Final = "counterbalance-spill-"
_ALIVE: Final = ".in-use"
_YOUNG: Final = 60.0
"""Seconds that a folder may be without its file: it is being made."""
_locked: dict[str, int] = {}


def folder() -> str:
    """Return a new folder; the first call of a process removes what killed processes left."""
    _remove_abandoned(Path(tempfile.gettempdir()))
    path = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")
    handle = _locked[path] = os.open(Path(path) / _ALIVE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return path


def remove(path: str) -> None:
    """Remove such a folder with all that is in it; a child that was forked leaves its parent's alone."""
    if not Path(path).name.startswith(f"{_PREFIX}{os.getpid()}-"):
        return
    shutil.rmtree(path, ignore_errors=True)
    handle = _locked.pop(path, None)
    if handle is not None:
        os.close(handle)


def place() -> str:
    """Return the folder that such folders are made in."""
    return tempfile.gettempdir()


def remove_all() -> None:
    """Remove those of this process, which is about to end."""
    for path in list(_locked):
        remove(path)


def remove_of(process: int) -> None:
    """Remove those of a process that was ended."""
    with contextlib.suppress(OSError):
        for path in Path(place()).glob(f"{_PREFIX}{process}-*"):
            shutil.rmtree(path, ignore_errors=True)


def most_bytes(path: str) -> str:
    """Return how much may be spilled, for DuckDB: half of what is free, so that others' disk is not filled.

    Example:
        >>> most_bytes("/").endswith("B")
        True
    """
    return f"{shutil.disk_usage(path).free // 2}B"


@cache
def _remove_abandoned(place: Path) -> None:
    with contextlib.suppress(OSError):
        for entry in list(os.scandir(place)):
            if entry.name.startswith(_PREFIX) and _is_abandoned(Path(entry.path)):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_abandoned(path: Path) -> bool:
    """Tell whether a folder is this user's, and no process holds it."""
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or time.time() - found.st_mtime < _YOUNG:
            return False
        handle = os.open(path / _ALIVE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return path.is_dir()
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    else:
        return True
    finally:
        os.close(handle)

"""Moving tables into the lake's closed folder, and keeping other users of the machine out of it.

The folder is ``sensitive`` with mode 0700: nobody else gets past it, whatever the modes of what Lance writes inside, which
are set to 0700 and 0600 after every write. A table has one place, and moves there by one rename, so that a kill leaves it in
one place or the other. It never moves back: its older versions stay as closed as they were.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import RefusedError, StorageError
from counterbalance.engine.store.location import CLOSED, ENCLOSED, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from counterbalance.engine.store.location import Location

_FOLDER: Final = 0o700
_FILE: Final = 0o600
_OTHERS: Final = 0o077
_MARK: Final = ".closed"
"""An object store has no empty folders: this object stands for one."""


def make_folder(location: Location, under: str = CLOSED) -> None:
    """Make a folder inside of the closed one, or that itself, which nobody else may enter; nothing on object stores."""
    if location.is_local:
        folder = location.path
        for part in under.split("/"):
            folder /= part
            folder.mkdir(mode=_FOLDER, exist_ok=True)
            _seal_one(folder, _FOLDER)


def lies_open(location: Location, names: Iterable[str]) -> list[str]:
    """Return those of the tables that lie where others can read them; none of a lake in memory, which no other process sees."""
    return sorted({*names} & {*location.folders()})


def refuse_move(location: Location, name: str) -> None:
    """Refuse to make something closed in a table that lies open and cannot be moved.

    Raises:
        RefusedError: It lies on an object store, where a rename is a copy.
    """
    if not location.is_local and lies_open(location, [name]):
        raise RefusedError(
            f"{name} lies open on an object store, and cannot be moved to {CLOSED}/",
            code="E3241",
            hint=f"declare a view of {name} WITH (sensitive = true), and the column on that view",
        )


def enclose(location: Location, name: str) -> bool:
    """Have a table in the closed folder, or see to it that it will be made there; returns whether it was moved.

    Raises:
        StorageError: It cannot be moved, or there are two of that name.
    """
    if location.is_memory:
        return False
    if not location.is_local:
        if not location.encloses(name):
            system, root = location.filesystem()
            system.pipe_file(f"{root}/{ENCLOSED}/{name}{SUFFIX}/{_MARK}", b"")
            location.enclosed(anew=True)
        return False
    make_folder(location, ENCLOSED)
    before, after = location.path / f"{name}{SUFFIX}", location.path / ENCLOSED / f"{name}{SUFFIX}"
    if not before.is_dir():
        after.mkdir(mode=_FOLDER, exist_ok=True)
        return False
    try:
        if after.is_dir():
            after.rmdir()  # it was marked only
        before.rename(after)
    except OSError as error:
        raise StorageError(
            f"cannot move table {name!r} of {location.uri} to {ENCLOSED}/: {error.strerror}",
            code="E6043",
            hint=f"where both {before} and {after} are there, remove the one that no session of yours has made",
        ) from error
    seal(location)
    return True


def enclose_folder(location: Location, folder: str) -> None:
    """Move a folder of a local lake, other than a table's, to the same place under the closed folder."""
    before, after = location.path / folder, location.path / CLOSED / folder
    if not before.is_dir():
        return
    make_folder(location, f"{CLOSED}/{folder}")
    for entry in before.iterdir():
        entry.rename(after / entry.name)
    before.rmdir()
    seal(location, f"{CLOSED}/{folder}")


def seal(location: Location, under: str = CLOSED) -> None:
    """Take every right of others away from what lies in the closed folder, or in a folder of it."""
    if not location.is_local:
        return
    for folder, _, files in os.walk(location.path / under):
        _seal_one(Path(folder), _FOLDER)
        for file in files:
            _seal_one(Path(folder) / file, _FILE)


def _seal_one(path: Path, mode: int) -> None:
    with contextlib.suppress(OSError):  # clean-up took it away, or it is somebody else's
        if path.lstat().st_mode & _OTHERS and not path.is_symlink():
            path.chmod(mode)

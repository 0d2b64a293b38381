"""Which versions readers are on, told to whoever removes old ones.

A session keeps a small file in ``.readers/`` of the lake while it is open. It is there, without versions, before the
session chooses them: clean-up waits for such a reader, and spares what the others read. A lake that cannot be written to
has no clean-up to fear, so a pin that fails is not an error.
"""

from __future__ import annotations

import atexit
import contextlib
import datetime as dt
import json
import os
import secrets
import socket
import threading
import weakref
from functools import cache
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterbalance.engine.store.location import Location

FOLDER: Final = ".readers"
AGE: Final = dt.timedelta(days=1)
"""How long a reader is believed in that cannot be looked at: of another machine, or of an object store."""
_memory: dict[str, dict[str, dict[str, Any]]] = {}
_open: Final[weakref.WeakSet[Pin]] = weakref.WeakSet()
_gone: Final[SimpleQueue[tuple[Location, str]]] = SimpleQueue()
"""Pins in object stores that were dropped without ``release``: garbage is collected in any thread, also in one that must
not wait for a network, such as the one that serves it."""


class Pin:
    """One reader's word; it goes with ``release``, with this object, or with the process.

    Args:
        location: The lake.
    """

    def __init__(self, location: Location) -> None:
        self._location = location
        self._name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(6)}.json"
        self._note = {"host": _host(), "pid": os.getpid(), "since": dt.datetime.now(dt.UTC).isoformat()}
        self._keep(None)
        remote = _is_remote(location)
        if remote:
            _sweep()
        self._end = weakref.finalize(self, _gone.put if remote else _remove_one, (location, self._name))
        self._end.atexit = False
        _open.add(self)

    def choose(self) -> None:
        """Say that other versions are about to be chosen: none goes until they are."""
        self._keep(None)

    def keep(self, versions: Mapping[str, int]) -> None:
        """Say which version of every table is read."""
        self._keep(dict(versions))

    def _keep(self, versions: dict[str, int] | None) -> None:
        with contextlib.suppress(Exception):  # whatever a file system may say: a reader without a pin still reads
            _write(self._location, self._name, {**self._note, "versions": versions})

    def release(self) -> None:
        """Let go: nothing is read any more."""
        if self._end.detach() is not None:
            _remove(self._location, self._name)


@atexit.register
def _release_all() -> None:
    for pin in list(_open):
        pin.release()


@cache
def _sweep() -> None:
    """Start the thread that removes dropped pins."""

    def run() -> None:
        while True:
            _remove_one(_gone.get())

    threading.Thread(target=run, name="counterbalance-pins", daemon=True).start()


def pinned(location: Location) -> tuple[dict[str, set[int]], int]:
    """Return versions by table that living readers are on, and how many readers have not said theirs yet."""
    versions: dict[str, set[int]] = {}
    undecided = 0
    for note in readers(location):
        if note.get("versions") is None:
            undecided += 1
        else:
            for table, version in note["versions"].items():
                versions.setdefault(table, set()).add(int(version))
    return versions, undecided


def readers(location: Location) -> list[dict[str, Any]]:
    """Return what living readers said: ``host``, ``pid``, ``since``, and ``versions`` by table once they chose."""
    return [note for _, note in _notes(location) if _lives(note, local=not _is_remote(location))]


def dead(location: Location) -> int:
    """Return how many pins nobody stands behind any more."""
    return len(list(_notes(location))) - len(readers(location))


def forget_dead(location: Location) -> None:
    """Remove them."""
    for name, note in list(_notes(location)):
        if not _lives(note, local=not _is_remote(location)):
            _remove(location, name)


def _is_remote(location: Location) -> bool:
    return not location.is_local and not location.is_memory


def _host() -> str:
    """Name this machine, and the numbering of processes that is valid here: a container has its own."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def _lives(note: Mapping[str, Any], *, local: bool) -> bool:
    try:
        own, pid = note["host"] == _host(), int(note["pid"])
        young = dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(note["since"]) < AGE
    except (KeyError, ValueError, TypeError):
        return False
    if not own:
        return young
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's, but alive
    return local or young


def _write(location: Location, name: str, note: dict[str, Any]) -> None:
    if location.is_memory:
        _memory.setdefault(location.root, {})[name] = note
        return
    text = json.dumps(note).encode()
    if not location.is_local:
        system, root = location.filesystem()
        system.pipe_file(f"{root}/{FOLDER}/{name}", text)
        return
    folder = location.path / FOLDER
    if not (location.path / "meta").is_dir():  # no lake, or one that was never written to from here
        return
    part = folder / f".{name}.part"
    for _ in range(5):  # the last of other readers takes the folder away
        with contextlib.suppress(FileNotFoundError):
            folder.mkdir(exist_ok=True)
            part.write_bytes(text)
            part.replace(folder / name)
            return


def _notes(location: Location) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield all pins; one that is gone by now is left out, one that says nothing stands for a dead reader."""
    if location.is_memory:
        yield from list(_memory.get(location.root, {}).items())
        return
    system, root = location.filesystem()
    system.invalidate_cache()
    folder = f"{root}/{FOLDER}"
    for path in sorted(system.ls(folder, detail=False)) if system.exists(folder) else ():
        name = path.rstrip("/").rsplit("/", 1)[-1]
        if name.startswith(".") or not name.endswith(".json"):
            continue
        try:
            note = json.loads(system.cat_file(path))
        except FileNotFoundError:
            continue
        except ValueError:
            note = {}
        yield name, note if isinstance(note, dict) else {}


def _remove_one(pin: tuple[Location, str]) -> None:
    _remove(*pin)


def _remove(location: Location, name: str) -> None:
    with contextlib.suppress(Exception):  # it is gone, or cannot be removed from here: clean-up will find it
        if location.is_memory:
            _memory.get(location.root, {}).pop(name, None)
        elif location.is_local:
            folder = location.path / FOLDER
            (folder / name).unlink(missing_ok=True)
            folder.rmdir()  # succeeds for the last reader
        else:
            system, root = location.filesystem()
            system.rm_file(f"{root}/{FOLDER}/{name}")

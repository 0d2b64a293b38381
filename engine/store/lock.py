"""One writer a lake, and one refresh.

A local lake is locked with ``flock`` on ``.lock`` in its folder: a dead process keeps nothing. On an object store the
lock is a small object created only if absent, renewed while it is held, and taken over once it has not been renewed for
``LEASE_SECONDS``. Lance's ``merge_insert`` alone does not keep keys unique between processes; this does.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import fcntl
import json
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import BusyError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.store.location import Location

NAME: Final = ".lock"
REFRESH: Final = ".refresh-lock"
TAGS: Final = ".tags-lock"
"""Held while versions are tagged, and while old ones are removed."""
LEASE_SECONDS: Final = 60.0
_memory_locks: dict[str, threading.Lock] = {}


@contextlib.contextmanager
def writer_lock(location: Location, purpose: str, *, wait: float = 1.0, name: str = NAME) -> Iterator[None]:
    """Hold the lake's writer lock, or another one of it by name.

    Args:
        location: The lake.
        purpose: What is being done; told to whoever is kept out.
        wait: Seconds to wait for another writer.
        name: Which lock: ``NAME`` for writers of tables, ``REFRESH`` for the one refresh.

    Raises:
        BusyError: Another writer holds it; the message names its process.
    """
    if location.is_memory:
        holder: Any = _memory(location, wait, name)
    elif location.is_local:
        holder = _flock(location, purpose, wait, name)
    else:
        holder = _lease(location, purpose, wait, name)
    with holder:
        yield


def writing_since(location: Location) -> dt.datetime:
    """Return when the present writer took the lock, or this moment where there is none: what began before it has ended, or was killed."""
    now = dt.datetime.now(dt.UTC)
    if location.is_memory:
        lock = _memory_locks.get(f"{location.root}/{NAME}")
        return now if lock is None or not lock.locked() else dt.datetime.min.replace(tzinfo=dt.UTC)
    if location.is_local:
        note = _flocked(location)
    else:
        system, root = location.filesystem()
        note = {} if _stale(system, f"{root}/{NAME}") else _held(system, f"{root}/{NAME}")
    return dt.datetime.fromisoformat(note["since"]) if note else now


def _flocked(location: Location) -> dict[str, Any]:
    """Return the note of whoever holds the lock of a local lake, empty when nobody does."""
    try:
        handle = os.open(location.path / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _parse(os.pread(handle, 4096, 0).decode(errors="replace"))
    else:
        return {}
    finally:
        os.close(handle)


def _note(purpose: str) -> dict[str, Any]:
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return {"pid": os.getpid(), "host": socket.gethostname(), "purpose": purpose, "since": now}


def _busy(location: Location, note: dict[str, Any]) -> BusyError:
    who = f"process {note['pid']} on {note['host']}" if note else "another process"
    doing = f" ({note['purpose']}, since {note['since']})" if note else ""
    return BusyError(
        f"{location.uri} is being written by {who}{doing}", code="E7001", hint="wait for it to finish, then try again"
    )


def _parse(text: str) -> dict[str, Any]:
    try:
        note = json.loads(text)
    except ValueError:
        return {}
    return note if isinstance(note, dict) and {"pid", "host", "purpose", "since"} <= note.keys() else {}


@contextlib.contextmanager
def _memory(location: Location, wait: float, name: str) -> Iterator[None]:
    lock = _memory_locks.setdefault(f"{location.root}/{name}", threading.Lock())
    if not lock.acquire(timeout=wait):
        raise _busy(location, {})
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _flock(location: Location, purpose: str, wait: float, name: str) -> Iterator[None]:
    made = not location.path.exists()
    handle = _locked_file(location, time.monotonic() + wait, name)
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(_note(purpose)).encode(), 0)
        yield
    finally:
        os.ftruncate(handle, 0)
        if made:
            _remove_if_bare(location, name)
        os.close(handle)


def _locked_file(location: Location, deadline: float, name: str) -> int:
    """Return the locked file; one that was removed while it was waited for is not a lock, and the next one is tried."""
    while True:
        try:
            location.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(location.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            if isinstance(error, FileNotFoundError | FileExistsError) and time.monotonic() < deadline:
                time.sleep(0.02)
                continue
            raise StorageError(f"cannot write to {location.uri}: {error.strerror}", code="E6003") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(handle).st_nlink:
                return handle
        except BlockingIOError:
            if time.monotonic() >= deadline:
                note = _parse(os.pread(handle, 4096, 0).decode(errors="replace"))
                os.close(handle)
                raise _busy(location, note) from None
            time.sleep(0.02)
        os.close(handle)


def _remove_if_bare(location: Location, name: str) -> None:
    """Leave no folder behind where nothing was written."""
    with contextlib.suppress(OSError):
        if [e.name for e in location.path.iterdir()] == [name]:
            (location.path / name).unlink()
            location.path.rmdir()


@contextlib.contextmanager
def _lease(location: Location, purpose: str, wait: float, name: str) -> Iterator[None]:
    system, root = location.filesystem()
    path = f"{root}/{name}"
    token = {**_note(purpose), "token": os.urandom(8).hex()}
    deadline = time.monotonic() + wait
    while not _take(location, system, path, token):
        note = _held(system, path)
        if _stale(system, path):
            if _held(system, path) == note:
                _remove(system, path)
        elif time.monotonic() >= deadline:
            raise _busy(location, note)
        else:
            time.sleep(0.1)
    done = threading.Event()
    renewer = threading.Thread(target=_renew, args=(system, path, token, done), daemon=True)
    renewer.start()
    try:
        yield
    finally:
        done.set()
        renewer.join()
        if _held(system, path) == token:
            _remove(system, path)


def _take(location: Location, system: Any, path: str, note: dict[str, Any]) -> bool:
    try:
        system.pipe_file(path, json.dumps(note).encode(), mode="create")
    except FileExistsError:
        return False
    except OSError as error:
        raise StorageError(f"cannot write to {location.uri}: {error}", code="E6003") from error
    return True


def _held(system: Any, path: str) -> dict[str, Any]:
    """Return the note of whoever holds the lease, empty when nobody does."""
    try:
        return _parse(system.cat_file(path).decode(errors="replace"))
    except FileNotFoundError:
        return {}


def _remove(system: Any, path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        system.rm_file(path)


def _stale(system: Any, path: str) -> bool:
    system.invalidate_cache()
    try:
        modified = system.modified(path)
    except FileNotFoundError:
        return False
    return bool((dt.datetime.now(dt.UTC) - modified).total_seconds() > LEASE_SECONDS)


def _renew(system: Any, path: str, note: dict[str, Any], done: threading.Event) -> None:
    """Renew the lease while it is ours; whoever took it over keeps it."""
    while not done.wait(LEASE_SECONDS / 4):
        with contextlib.suppress(OSError):  # the next turn tries again, three times within a lease
            if _held(system, path) == note:
                system.pipe_file(path, json.dumps(note).encode())

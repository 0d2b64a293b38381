"""A lake's folder in this user's cache, closed to others: what stood out in it, and thumbnails, bounded and rid of images that it has no more."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import platformdirs

if TYPE_CHECKING:
    from collections.abc import Collection

_BYTES: Final = 256 << 20
_FINDINGS: Final = "findings.json"
_AFTER: Final = 0.9
"""So much of what is allowed is left once something had to go."""


def folder_of(root: str) -> Path:
    """Return where thumbnails of a lake lie, by its place as ``Location.root`` tells it."""
    return Path(platformdirs.user_cache_dir("counterbalance")) / "ui" / hashlib.sha256(root.encode()).hexdigest()[:32]


def forget(root: str) -> None:
    """Remove all that is kept of a lake."""
    shutil.rmtree(folder_of(root), ignore_errors=True)


def findings(root: str, state: str) -> dict[str, Any] | None:
    """Return what stood out in a state of a lake, where it is kept."""
    with contextlib.suppress(OSError, orjson.JSONDecodeError):
        told = orjson.loads((folder_of(root) / _FINDINGS).read_bytes())
        if isinstance(told, dict) and told.get("state") == state:
            found: dict[str, Any] = told["found"]
            return found
    return None


def keep_findings(root: str, state: str, found: dict[str, Any]) -> None:
    """Keep what stands out in a state of a lake, in the place of what did in an earlier one."""
    _write(folder_of(root) / _FINDINGS, orjson.dumps({"state": state, "found": found}))


class Kept:
    """Thumbnails of one lake in files, named by image and by what they were made of. What cannot be written is not kept.

    Args:
        root: Where the lake is.
        most_bytes: Those that were not looked at for longest go beyond.
    """

    def __init__(self, root: str, most_bytes: int = _BYTES) -> None:
        self._folder, self._most = folder_of(root), most_bytes
        self._size: int | None = None
        self._lock = threading.Lock()

    def read(self, image_id: int, name: str) -> bytes | None:
        """Return a thumbnail, which is young again from now on."""
        file = self._file(image_id, name)
        try:
            data = file.read_bytes()
            os.utime(file)
        except OSError:
            return None
        return data

    def write(self, image_id: int, name: str, data: bytes) -> None:
        """Keep a thumbnail, whole or not at all."""
        if _write(self._file(image_id, name), data):
            with contextlib.suppress(OSError):
                self._bound(len(data))

    def images(self) -> set[int]:
        """Return which images have thumbnails here."""
        return {_image(name) for name, _, _ in self._files()}

    def leave_out(self, images: Collection[int]) -> None:
        """Remove the thumbnails of some images."""
        for name, _, _ in self._files():
            if _image(name) in images:
                (self._folder / name).unlink(missing_ok=True)

    def _file(self, image_id: int, name: str) -> Path:
        return self._folder / f"{image_id}.{name}.jpg"

    def _files(self) -> list[tuple[str, int, float]]:
        """Return name, bytes and time of last use of every thumbnail."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                if entry.name.endswith(".jpg"):
                    with contextlib.suppress(OSError):
                        told = entry.stat()
                        found.append((entry.name, told.st_size, told.st_mtime))
        return found

    def _bound(self, more: int) -> None:
        with self._lock:
            if self._size is None:
                self._size = sum(size for _, size, _ in self._files())
            else:
                self._size += more
            if self._size <= self._most:
                return
            files = sorted(self._files(), key=lambda f: f[2])
            self._size = sum(size for _, size, _ in files)
            for name, size, _ in files:
                if self._size <= self._most * _AFTER:
                    break
                (self._folder / name).unlink(missing_ok=True)
                self._size -= size


def _write(file: Path, data: bytes) -> bool:
    """Write a file that only this user reads, whole or not at all, and tell whether it is there."""
    part = file.with_name(f"{file.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        for folder in (file.parent.parent, file.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        part.touch(mode=0o600)
        part.write_bytes(data)
        part.replace(file)
    except OSError:
        return False
    return True


def _image(name: str) -> int:
    return int(name.partition(".")[0])

"""The folder of an export: files appear in it whole; one that fails leaves nothing, a killed one what the next one clears.

While an export runs, ``.partial`` holds what is not whole yet and the names of what is. Every name is noted there before
it appears, so that the same command can start again; nothing else is ever removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, Self

from counterbalance.engine.errors import RequestError
from counterbalance.engine.store.location import Location
from counterbalance.engine.store.lock import writer_lock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PARTIAL: Final = ".partial"
MANIFEST: Final = ".counterbalance-export.json"
"""What is there: hidden, so that no library takes it for data."""
_NAMES: Final = "names"


class Folder:
    """Hold the folder while an export writes; ``finish`` makes the export whole, an error removes it.

    Args:
        path: The folder; made where it is not there.
        overwrite: Remove what an earlier export wrote there.

    Raises:
        RequestError: It holds something (E3670), or something that no export wrote (E3671).
        BusyError: Another export is writing there.
    """

    def __init__(self, path: Path, *, overwrite: bool = False) -> None:
        self.path, self._overwrite = path, overwrite
        self._partial = path / PARTIAL
        self._tops: set[str] = set()
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._check()
        self._is_new = not self.path.exists()
        self._partial.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(writer_lock(Location(str(self._partial)), f"export to {self.path}", name="lock"))
            self._clear()
            self._names = stack.enter_context((self._partial / _NAMES).open("a", encoding="utf-8"))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._undo()
        self._stack.close()

    def _undo(self) -> None:
        """Remove what this export wrote; where that fails, the error that led here counts."""
        with contextlib.suppress(OSError):
            self._clear()
            shutil.rmtree(self._partial)
            if self._is_new:
                self.path.rmdir()

    def _check(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RequestError(f"{self.path} is a file", code="E3670", hint="name a folder")
        there = {p.name for p in self.path.iterdir()} if self.path.exists() else set()
        unfinished = PARTIAL in there
        if there and not (unfinished or self._overwrite):
            raise RequestError(
                f"{self.path} is not empty",
                code="E3670",
                hint="--overwrite replaces an earlier export; or name another folder",
            )
        foreign = sorted(there - self._own())
        if foreign:
            raise RequestError(
                f"{self.path} holds what no export wrote: {', '.join(map(repr, foreign[:3]))}",
                code="E3671",
                hint="nothing of it was touched; name another folder, or clear this one yourself",
            )

    def _own(self) -> set[str]:
        """Return names in the folder that exports wrote, those of a killed one too."""
        found = {PARTIAL, MANIFEST}
        with contextlib.suppress(OSError, ValueError):  # names that cannot be read are foreign ones, and stay
            found |= set(json.loads((self.path / MANIFEST).read_text(encoding="utf-8"))["names"])
        with contextlib.suppress(OSError):
            lines = (self._partial / _NAMES).read_text(encoding="utf-8").splitlines()
            found |= {str(json.loads(line)) for line in lines if line.endswith('"') and len(line) > 1}
        return {name for name in found if name == Path(name).name}

    def _clear(self) -> None:
        """Remove what earlier exports wrote; should this be cut short, their names are still known."""
        own = sorted(self._own() - {PARTIAL, MANIFEST})
        (self._partial / _NAMES).write_text("".join(json.dumps(n) + "\n" for n in own), encoding="utf-8")
        for name in [*own, MANIFEST]:
            _remove(self.path / name)
        for left in self._partial.iterdir():
            if left.name not in {_NAMES, "lock"}:
                _remove(left)

    def draft(self, name: str) -> Path:
        """Return where something is written before it is whole."""
        found = self._partial / "drafts" / name
        found.parent.mkdir(parents=True, exist_ok=True)
        return found

    def open(self, name: str) -> BinaryIO:
        """Return a draft to write to; it is closed with the folder, should nobody have closed it before."""
        out = self.draft(name).open("wb")
        self._stack.callback(out.close)
        return out

    def publish(self, name: str) -> None:
        """Let a draft, a file or a folder, appear under its name in one step."""
        top = name.split("/", maxsplit=1)[0]
        if top not in self._tops:
            self._tops.add(top)
            self._names.write(json.dumps(top) + "\n")
            self._names.flush()
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        self.draft(name).replace(target)

    @contextlib.contextmanager
    def file(self, name: str) -> Iterator[BinaryIO]:
        """Open a file within the folder that appears, once it is on the disk, when the block is left without an error."""
        with self.open(name) as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        self.publish(name)

    def finish(self, about: Mapping[str, Any]) -> None:
        """Say what the folder holds; from here on the export is whole."""
        text = json.dumps({"format": 1, **about, "names": sorted(self._tops)}, default=str, indent=1)
        draft = self.draft(MANIFEST)
        draft.write_text(text, encoding="utf-8")
        draft.replace(self.path / MANIFEST)
        shutil.rmtree(self._partial)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

"""Train models from a lake: steps of an optimizer, and a folder that appears whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterbalance.engine.errors import RequestError, StorageError
from counterbalance.engine.store.location import Location
from counterbalance.engine.store.lock import writer_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

T = TypeVar("T")
KEY: Final = "fingerprint"


def descend(
    batches: Iterable[T],
    loss: Callable[[T], Any],
    optimizer: Any,
    schedule: Any = None,
    *,
    adjust: Callable[[], object] = lambda: None,
) -> Iterator[float]:
    """Take a step of an optimizer for each batch; yields the loss of the batch behind it.

    Args:
        batches: What to learn from.
        loss: Gives the loss of a batch, a tensor of one number.
        optimizer: Of torch.
        schedule: Of its rate; a constant one without.
        adjust: Called between the gradients and the step.
    """
    for batch in batches:
        found = loss(batch)
        optimizer.zero_grad()
        found.backward()
        adjust()
        optimizer.step()
        if schedule is not None:
            schedule.step()
        yield found.item()


def finished(target: Path, read: Callable[[], T | None], otherwise: RequestError) -> T | None:
    """Return what a folder holds already, or None where there is none or an empty one.

    Args:
        target: The folder.
        read: Gives what it holds, or None where that is something else.
        otherwise: The error where it holds something else.
    """
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        return None
    with contextlib.suppress(RequestError, LookupError):
        found = read()
        if found is not None:
            return found
    raise otherwise


@contextlib.contextmanager
def workplace(target: Path, key: str | None = None) -> Iterator[Path]:
    """Lend a folder beside the output to one training at a time.

    Args:
        target: The output.
        key: What a training that was killed left is kept for one of the same key; without, nothing is kept.

    Raises:
        BusyError: Another training has it.
        StorageError: It cannot be written (E6003).
    """
    place = target.parent / f".{target.name}.training"
    try:
        with writer_lock(Location(str(place)), f"training of {target.name}"):
            note = place / KEY
            if key is None or not note.is_file() or note.read_text(encoding="utf-8") != key:
                _clear(place)
            if key is not None:
                note.write_text(key, encoding="utf-8")
            try:
                yield place
            finally:
                if key is None:
                    _clear(place)
        shutil.rmtree(place, ignore_errors=True)
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        hint = "free some space, or name a folder on another disk" if error.errno == 28 else "check the path"
        raise StorageError(f"cannot write {place}: {error.strerror or error}", code="E6003", hint=hint) from error


def _clear(place: Path) -> None:
    for entry in place.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        elif not entry.name.startswith(".lock"):
            entry.unlink()

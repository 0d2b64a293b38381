"""Loaded models that several functions of a process use at once: loaded when the first asks, let go after the last."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from counterbalance.engine.errors import CounterbalanceError, RequestError, first_line
from counterbalance.udfs.models.weights import as_allowed, need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

M = TypeVar("M")


@dataclass
class _Held(Generic[M]):
    model: M
    users: int = 0


class Shared(Generic[M]):
    """Models by what they are loaded from, each once a process while somebody uses it.

    Args:
        load: Loads the model of a key.

    Example:
        >>> models = Shared(lambda name, device: [name])
        >>> one, other = models.borrow("a", "cpu"), models.borrow("a", "cpu")
        >>> one is other
        True
        >>> models.give_back("a", "cpu"), models.give_back("a", "cpu")
        (None, None)
        >>> models.borrow("a", "cpu") is one
        False
    """

    def __init__(self, load: Callable[..., M]) -> None:
        self._load = load
        self._held: dict[tuple[str, ...], _Held[M]] = {}
        self._turn = threading.RLock()

    def borrow(self, *key: str) -> M:
        """Return the model of a key; give it back as often as it was borrowed."""
        with self._turn:
            if key not in self._held:
                self._held[key] = _Held(self._load(*key))
            self._held[key].users += 1
            return self._held[key].model

    def give_back(self, *key: str) -> None:
        """Give a model back; after the last one the model is closed, and its device's memory is free."""
        with self._turn:
            held = self._held[key]
            held.users -= 1
            if held.users:
                return
            del self._held[key]
        getattr(held.model, "close", lambda: None)()
        del held
        torch: Any = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.empty_cache()


class Borrower(Generic[M]):
    """A function that shares its model with others: it is borrowed while the function is open.

    Args:
        models: Where from.
        key: What its model is loaded from, before the device.
        more: The same, behind it.
    """

    def __init__(self, models: Shared[M], *key: str, more: tuple[str, ...] = ()) -> None:
        self._models, self._before, self._behind = models, key, more
        self._borrowed: M | None = None
        self.device = ""

    def open(self, device: str) -> None:
        """Load the model, or join those that use it."""
        self._borrowed, self.device = self._models.borrow(*self._before, device, *self._behind), device

    def close(self) -> None:
        """Let it go."""
        if self._borrowed is not None:
            self._borrowed = None
            self._models.give_back(*self._before, self.device, *self._behind)

    @property
    def loaded(self) -> M:
        """Return the model, while it is open."""
        assert self._borrowed is not None  # noqa: S101 - functions are opened before they are called
        return self._borrowed


@contextlib.contextmanager
def loading(name: str | None = None) -> Iterator[None]:
    """Work around a library that loads a model: no network unless that was allowed, and no chatter.

    Hugging Face's libraries draw progress bars, and open_clip speaks through the root logger.

    Args:
        name: The model, where what the library says of its files is to be told as an error of ours.

    Raises:
        RequestError: The files of ``name`` do not make a model (E3546).
    """
    bars: Any = need("huggingface_hub.utils", "models")
    root, silent = logging.getLogger(), logging.NullHandler()
    with as_allowed():
        drawn = bars.are_progress_bars_disabled()
        root.addHandler(silent)  # or logging.warning() would set up the root logger for the whole process
        root.addFilter(_nothing)
        bars.disable_progress_bars()
        try:
            with _transformers_silent():
                yield
        except CounterbalanceError:
            raise
        except Exception as error:  # what is wrong with a file, each reader says in its own way
            if name is None:
                raise
            raise RequestError(f"{name} cannot be loaded: {first_line(error)[:300]}", code="E3546") from error
        finally:
            root.removeFilter(_nothing)
            root.removeHandler(silent)
            if not drawn:
                bars.enable_progress_bars()


def _nothing(record: logging.LogRecord) -> bool:
    del record
    return False


@contextlib.contextmanager
def _transformers_silent() -> Iterator[None]:
    said: Any = need("transformers.utils.logging", "models")
    level, bars = said.get_verbosity(), said.is_progress_bar_enabled()
    said.set_verbosity_error()
    said.disable_progress_bar()
    try:
        yield
    finally:
        said.set_verbosity(level)
        if bars:
            said.enable_progress_bar()

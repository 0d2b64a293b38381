"""Progress of long work, on stderr: a bar for people, a line now and then for logs, nothing when asked.

``reporter("auto")`` looks at stderr: a terminal gets the bar, a file or a CI job gets lines.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from counterbalance.shell.errors import style

if TYPE_CHECKING:
    from types import TracebackType

MODES: Final = ("auto", "always", "never")
_EVERY_SECONDS: Final = 30.0
_EVERY_SHARE: Final = 0.1
_AT_MOST_EVERY: Final = 1.0
_MEANINGFUL: Final = 0.5
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class Event(Protocol):
    """Describe what the engine tells: ``done`` of ``total`` units of a stage, and the rows so far."""

    @property
    def stage(self) -> str:
        """Return what is being done."""

    @property
    def done(self) -> int:
        """Return units done."""

    @property
    def total(self) -> int | None:
        """Return units in all, when known."""

    @property
    def unit(self) -> str:
        """Return ``"bytes"`` or ``"rows"``."""

    @property
    def rows(self) -> int:
        """Return rows so far."""


@dataclass(frozen=True, slots=True)
class StepDone:
    """An event of work that is not the engine's; see ``Event``."""

    stage: str
    done: int
    total: int | None
    unit: str
    rows: int


class Reporter(Protocol):
    """Take events; used as a context manager around the work."""

    def __call__(self, event: Event) -> None:
        """Show one event."""

    def __enter__(self) -> Self:
        """Begin."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""


def reporter(mode: str = "auto") -> Reporter:
    """Return the reporter for this process's stderr.

    Args:
        mode: ``auto`` (bar on a terminal outside of CI, else lines), ``always`` (bar), ``never``.
    """
    if mode == "never" or style.quiet:
        return NullReporter()
    person = sys.stderr.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
    return BarReporter(force=mode == "always") if person or mode == "always" else LogReporter()


class NullReporter:
    """Say nothing."""

    def __call__(self, event: Event) -> None:
        """Ignore it."""

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""


class LogReporter(NullReporter):
    """A line for every tenth of the work or every 30 seconds, whichever comes first; nothing for what takes no second.

    Between ``with`` and its end a line comes after 30 seconds even where nothing was told meanwhile: a model may take a
    minute for a batch.
    """

    def __init__(self) -> None:
        self._last: Event | None = None
        self._turn, self._over = threading.Lock(), threading.Event()
        self._clock = threading.Thread(target=self._watch, daemon=True)
        self._stage = ""
        self._began = self._said_at = time.monotonic()
        self._said = 0.0
        self._rows = 0

    def __call__(self, event: Event) -> None:
        """Write a line when it is time for one."""
        with self._turn:
            self._last = event
            self._take(event)

    def __enter__(self) -> Self:
        """Watch the time."""
        self._clock.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write no more lines."""
        self._over.set()
        self._clock.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_SECONDS / 10):
            with self._turn:
                last = self._last
                if last is not None and (not last.total or last.done < last.total) and not self._over.is_set():
                    self._take(last)

    def _take(self, event: Event) -> None:
        now = time.monotonic()
        if event.stage != self._stage:
            self._stage, self._began, self._said_at, self._said, self._rows = event.stage, now, now, 0.0, event.rows
        share = event.done / event.total if event.total else 0.0
        if share >= 1.0 <= self._said:
            return
        grown = share - self._said >= _EVERY_SHARE or (share >= 1.0 > self._said)
        quiet_for = now - (self._began if share >= 1.0 else self._said_at)
        if quiet_for >= (_AT_MOST_EVERY if grown else _EVERY_SECONDS):
            self._said, self._said_at = share, now
            sys.stderr.write(self._line(event, now) + "\n")
            sys.stderr.flush()

    def _line(self, event: Event, now: float) -> str:
        spent = now - self._began
        of = f"{event.done / event.total:.0%} of {amount(event.total, event.unit)}" if event.total else ""
        rows = f", {event.rows:,} rows" if event.unit == "bytes" else ""
        text = f"{event.stage}: {of or amount(event.done, event.unit)}{rows} in {spent:.0f} s"
        if spent > _MEANINGFUL and event.rows - self._rows >= spent:
            text += f" ({(event.rows - self._rows) / spent:,.0f}/s)"
        if event.total and 0 < event.done < event.total:
            text += f", about {spent * (event.total - event.done) / event.done:.0f} s left"
        return text


class BarReporter(NullReporter):
    """A bar with rate and time left.

    Args:
        force: Draw it even where stderr is not a terminal.
    """

    def __init__(self, *, force: bool = False) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[share]}"),
            TextColumn("{task.fields[rows]}"),
            TimeRemainingColumn(compact=True, elapsed_when_finished=True),
        )
        console = Console(stderr=True, force_terminal=True if force else None)
        self._bar: Any = Progress(*columns, console=console, transient=True)
        self._task: Any = None
        self._stage: str | None = None
        self._began = time.monotonic()
        self._rows = 0

    def __call__(self, event: Event) -> None:
        """Move the bar; every stage has one of its own."""
        if event.stage != self._stage:
            self._stage, self._began, self._rows = event.stage, time.monotonic(), event.rows
            self._task = self._bar.add_task(event.stage, total=event.total, share="", rows="")
        spent = time.monotonic() - self._began
        rate = f" {(event.rows - self._rows) / spent:,.0f}/s" if spent > _MEANINGFUL else ""
        share = amount(event.done, event.unit)
        if event.total:
            done = share if event.unit == "bytes" else f"{event.done:,}"
            share = f"{done} of {amount(event.total, event.unit)}"
        self._bar.update(
            self._task,
            completed=event.done,
            total=event.total,
            share=share,
            rows=f"{event.rows:,} rows{rate}" if event.unit == "bytes" else rate,
        )

    def __enter__(self) -> Self:
        """Draw it."""
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take it away."""
        self._bar.stop()


def amount(number: float, unit: str) -> str:
    """Return a number of bytes or rows for eyes.

    Example:
        >>> amount(1_234_567, "bytes"), amount(1_234_567, "rows")
        ('1.2 MB', '1,234,567 rows')
    """
    if unit != "bytes":
        return f"{number:,.0f} {unit}"
    for name in _UNITS:
        if number < 1000 or name == _UNITS[-1]:
            break
        number /= 1000
    return f"{number:.0f} {name}" if name == "B" else f"{number:.1f} {name}"

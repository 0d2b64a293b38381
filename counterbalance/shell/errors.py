"""Errors as people and programs read them, always on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import traceback
from dataclasses import dataclass
from typing import Final

from counterbalance.engine.errors import (
    DAMAGED,
    CounterbalanceError,
    LimitError,
    StorageError,
    is_unreadable,
    without_sources,
)
from counterbalance.shell.text import escape, wrapped

INTERRUPTED = 130
USAGE = 2
_HANGING: Final = " " * 6


@dataclass
class Style:
    """Describe how errors are shown in this process; the command line sets it once.

    Args:
        as_json: As one JSON object instead of text.
        debug: With the traceback.
        quiet: Errors only: no notes, remarks or progress.
    """

    as_json: bool = False
    debug: bool = False
    quiet: bool = False


style = Style()


def known(error: BaseException) -> CounterbalanceError:
    """Return the error itself when it is one of ours, else the nearest of ours.

    Example:
        >>> known(MemoryError()).code, known(ZeroDivisionError("division by zero")).message
        ('E5002', 'ZeroDivisionError: division by zero')
    """
    if isinstance(error, CounterbalanceError):
        return error
    if isinstance(error, MemoryError):
        return LimitError("out of memory", code="E5002", hint="give it more with --memory, or ask for less")
    if isinstance(error, OSError) and error.errno is not None:
        where = f" {error.filename}" if error.filename is not None else ""
        hint = "check the path, its permissions and the disk"
        return StorageError(f"cannot read or write{where}: {os.strerror(error.errno)}", code="E6010", hint=hint)
    text = " ".join(str(error).split())
    name = type(error).__name__
    if is_unreadable(error):
        return StorageError(f"a table cannot be read: {without_sources(text)[:300]}", code="E6001", hint=DAMAGED)
    return CounterbalanceError(
        f"{name}: {text}" if text else name,
        hint="this was not foreseen; run it again with --debug and report what you see",
    )


def text_of(error: CounterbalanceError, *, colour: bool = False, width: int | None = None) -> str:
    """Return ``error[E1001]: message``, the SQL with a caret where there is one, and ``hint: …``; a line break at the end.

    Args:
        error: What happened.
        colour: The code in red.
        width: Columns of the terminal, if it is one.
    """
    head = f"error[{error.code}]"
    told = wrapped(f"{head}: {escape(error.message, keep=chr(10))}", width, "  ")
    lines = [told.replace(head, f"\x1b[1;31m{head}\x1b[0m", 1) if colour else told]
    if excerpt := error.excerpt():
        lines.append(_clipped(escape(excerpt.replace("\t", " "), keep="\n"), width))
    if error.hint:
        lines.append(wrapped(f"hint: {escape(error.hint, keep=chr(10))}", width, _HANGING))
    return "\n".join(lines) + "\n"


def _clipped(excerpt: str, width: int | None) -> str:
    """Return a line of SQL with its caret, cut to what fits around the caret."""
    line, _, caret = excerpt.partition("\n")
    if width is None or len(line) <= width:
        return excerpt
    head, body = line[: line.index(":") + 2], line[line.index(":") + 2 :]
    room, at = max(width - len(head) - 2, 1), max(len(caret) - 1 - len(head), 0)
    start = max(0, min(at - room // 2, len(body) - room))
    before, after = "…" * (start > 0), "…" * (start + room < len(body))
    cut = f"{head}{before}{body[start : start + room]}{after}"
    return f"{cut}\n{' ' * (len(head) + len(before) + at - start)}^" if caret else cut


def show(error: BaseException) -> int:
    """Write an error to stderr; returns the exit code it asks for."""
    ours = known(error)
    if style.debug:
        traceback.print_exception(error, file=sys.stderr)
    if style.as_json:
        sys.stderr.write(json.dumps({"error": ours.to_dict()}, ensure_ascii=True) + "\n")
    else:
        sys.stderr.write(text_of(ours, colour=colours(sys.stderr), width=_width()))
    sys.stderr.flush()
    return ours.exit_code


def note(text: str) -> None:
    """Write a remark for the reader to stderr."""
    remark(wrapped(f"note: {escape(text)}", _width(), _HANGING))


def remark(text: str) -> None:
    """Write a line on what was done to stderr, where that is wanted."""
    if not style.quiet:
        sys.stderr.write(f"{text}\n")


def hint(text: str) -> None:
    """Write what the reader can do to stderr."""
    sys.stderr.write(wrapped(f"hint: {escape(text)}", _width(), _HANGING) + "\n")


def _width() -> int | None:
    """Return columns of the terminal that stderr is, or ``None``."""
    return shutil.get_terminal_size().columns if sys.stderr.isatty() else None


def colours(stream: object) -> bool:
    """Return whether a stream wants colour: a terminal, and nobody said ``NO_COLOR`` or has a dumb one."""
    terminal = getattr(stream, "isatty", lambda: False)()
    return bool(terminal) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def usage(message: str, command: str | None = None) -> CounterbalanceError:
    """Return a mistake in the command line (E2000, exit code 2)."""
    hint = f"see: {command} --help" if command else None
    return CounterbalanceError(message, code="E2000", hint=hint)

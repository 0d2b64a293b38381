"""Write a result where it goes, in its format: one frozen record of options, one function that writes.

Rows go to stdout or a file, everything else to stderr. Formats stream: batches are written as they come, so that a
result of any length needs the memory of a few batches.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import stat
import sys
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any, Final, Protocol

from counterbalance.engine.errors import RequestError, StorageError
from counterbalance.shell import pager
from counterbalance.shell.pager import Paged

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from counterbalance.shell.stopwatch import Stopwatch

# Format to the module that writes it (function ``write``), and whether a file of it holds one result and is for programs.
_WRITERS: Final = {
    "table": ("counterbalance.shell.table", False),
    "record": ("counterbalance.shell.record", False),
    "markdown": ("counterbalance.shell.markdown", False),
    "json": ("counterbalance.shell.jsonlines", False),
    "jsonl": ("counterbalance.shell.jsonlines", False),
    "csv": ("counterbalance.shell.delimited", False),
    "tsv": ("counterbalance.shell.delimited", False),
    "parquet": ("counterbalance.shell.columnar", True),
    "arrow": ("counterbalance.shell.columnar", True),
    "xlsx": ("counterbalance.shell.workbook", True),
    "html": ("counterbalance.shell.page", True),
}
FORMATS: Final = tuple(_WRITERS)
_ROWS: Final = 40
_PAGED: Final = 1000
"""Rows of a table on a terminal, without a pager and with one."""
SUFFIXES: Final = {
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".md": "markdown",
    ".markdown": "markdown",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".xlsx": "xlsx",
    ".html": "html",
    ".htm": "html",
    ".txt": "table",
}

unfinished: Final[set[Path]] = set()
"""Files that are being written, for whoever must end the process at once."""


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """Describe how to write rows.

    Args:
        format: One of ``FORMATS``.
        path: File to write; stdout without one.
        folded: Columns that a table on a terminal names once below instead of in every row, while they hold one value.
        rows: How many rows a table on a terminal shows.
        append: Add to the file instead of replacing it; for text formats.
        pager: Words of what shows on a terminal what is longer than its screen; nothing does without them.
    """

    format: str = "table"
    path: Path | None = None
    folded: tuple[str, ...] = ("params",)
    rows: int = _ROWS
    append: bool = False
    pager: tuple[str, ...] = ()

    @property
    def for_eyes(self) -> bool:
        """Return whether a person reads the rows, so that they may be told in fewer words."""
        return self.format == "table" and self.path is None

    @property
    def binary(self) -> bool:
        """Return whether the format is not for a terminal, and holds one result."""
        return _WRITERS[self.format][1]


@dataclass(slots=True)
class Written:
    """Describe what was written.

    Args:
        rows: How many rows.
        notes: What the reader of the rows should know: columns left out, rows not shown.
        more: There are more rows than were written.
        said: What the engine said of them.
        exit_code: 0, or what a condition on them asks for.
    """

    rows: int = 0
    more: bool = False
    notes: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class Sink:
    """An open destination.

    Args:
        stream: Takes bytes.
        options: How to write.
        terminal: Whether a person looks at it.
        width: Columns of the terminal.
    """

    stream: IO[bytes]
    options: OutputOptions
    terminal: bool = False
    width: int = 80


class FormatWriter(Protocol):
    """Describe what a format's module offers as ``write``."""

    def __call__(self, reader: pa.RecordBatchReader, sink: Sink) -> Written:
        """Write all batches and say what was written."""


def format_of(path: Path) -> str | None:
    """Return the format that a file's suffix asks for, or ``None`` when it says nothing.

    Example:
        >>> from pathlib import Path
        >>> format_of(Path("a.CSV"))
        'csv'
    """
    return SUFFIXES.get(path.suffix.lower())


def no_format(path: Path) -> str:
    """Return the message that no format has a file's suffix, and which suffixes there are.

    Example:
        >>> from pathlib import Path
        >>> no_format(Path("a/rows.xls"))[:55]
        "no format is known for 'rows.xls'; known are .json .jso"
    """
    return f"no format is known for {path.name!r}; known are {' '.join(SUFFIXES)}"


def write(reader: pa.RecordBatchReader, options: OutputOptions, *, watch: Stopwatch | None = None) -> Written:
    """Write a result where the options say.

    A file appears under its name only when it is complete; what was there before stays otherwise.

    Args:
        reader: The rows.
        options: Format and place.
        watch: Paused while the destination makes us wait, so that a pager does not use up a query's time.

    Raises:
        RequestError: A binary format would go to a terminal.
        StorageError: The file cannot be written.
    """
    with destination(options, watch) as sink:
        stream = sink.stream
        written = write_to(sink, stream.until_left(reader) if isinstance(stream, Paged) else reader)
        written.more = written.more or (isinstance(stream, Paged) and stream.is_left)
    return written


def write_to(sink: Sink, reader: pa.RecordBatchReader) -> Written:
    """Write a result in the sink's format to a destination that is open."""
    writer: FormatWriter = importlib.import_module(_WRITERS[sink.options.format][0]).write
    return writer(reader, sink)


def paged(options: OutputOptions, *, on: bool) -> OutputOptions:
    """Return options by which long results are shown in a pager, where there is one, or by which none is."""
    words = pager.command() if on else ()
    return replace(options, pager=words, rows=_PAGED if words else _ROWS)


@contextlib.contextmanager
def destination(options: OutputOptions, watch: Stopwatch | None = None) -> Iterator[Sink]:
    """Open the place that the options name; see ``write``."""
    if options.path is not None:
        with _file(options.path, append=options.append) as stream:
            yield Sink(stream, options)
        return
    terminal = sys.stdout.isatty()
    if terminal and options.binary:
        raise RequestError(
            f"{options.format} is not for a terminal",
            code="E3021",
            hint=f"write a file with -o FILE.{options.format}, or choose another --format",
        )
    sys.stdout.flush()
    plain: Any = _Stdout(watch)
    if not (terminal and options.pager):
        yield Sink(plain, options, terminal, _width())
        return
    with contextlib.closing(Paged(plain, options.pager, plain.pause)) as stream:
        yield Sink(stream, options, terminal, _width())  # type: ignore[arg-type]


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((80, 24)).columns


@contextlib.contextmanager
def _file(path: Path, *, append: bool) -> Iterator[IO[bytes]]:
    target = path.expanduser()
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        if append or (target.exists() and not stat.S_ISREG(target.stat().st_mode)):
            with target.open("ab") as stream:  # for a pipe or a device there is nothing to replace
                yield stream
            return
        unfinished.add(part)
        with part.open("wb") as stream:
            yield stream
        part.replace(target)
    except BrokenPipeError:
        raise
    except OSError as error:
        if isinstance(error, StorageError) or error.errno is None:
            raise
        hint = "check the path, its permissions and the disk"
        raise StorageError(f"cannot write {path}: {os.strerror(error.errno)}", code="E6010", hint=hint) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        unfinished.discard(part)


class _Stdout:
    """Stdout as a plain stream of bytes that knows how far it is, which Arrow's writers ask for."""

    def __init__(self, watch: Stopwatch | None) -> None:
        self._stream: Any = getattr(sys.stdout, "buffer", None)
        self.pause = watch.paused if watch is not None else contextlib.nullcontext
        self._position = 0
        self.closed = False

    def write(self, data: Any) -> int:
        size = len(memoryview(data).cast("B")) if not isinstance(data, bytes) else len(data)
        with self.pause():
            if self._stream is not None:
                self._stream.write(data)
            else:
                sys.stdout.write(bytes(data).decode())
        self._position += size
        return size

    def flush(self) -> None:
        with self.pause():
            sys.stdout.flush()

    def tell(self) -> int:
        return self._position

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """Flush, and stay open: Arrow's writers close what they are given."""
        self.flush()

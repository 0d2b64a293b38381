"""Every error that counterbalance raises on purpose.

::

    CounterbalanceError
    ├── NotFoundError        E1xxx  a table, column, audit, file … that is not there
    ├── RequestError         E3xxx  what was asked cannot be done as asked
    │   ├── SqlError         E31xx  the SQL is wrong; carries line and column
    │   ├── RefusedError     E32xx  the SQL is fine, the session does not allow it
    │   └── SensitiveError   E33xx  it needs a session opened with a purpose
    ├── SourceError          E4xxx  a source is not what it says
    ├── LimitError           E5xxx  time, memory or rows ran out
    ├── FunctionError        E8xxx  a function cannot be loaded, or fails
    ├── StorageError         E6xxx  the lake cannot be read or written
    └── BusyError            E7xxx  somebody else is writing; try again

A message says what, where and why; ``hint`` says what to do, and is the last line of ``str(error)``. Codes are stable; ``docs/errors.md``
lists them.
"""

from __future__ import annotations

import difflib
import errno
import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LISTED: Final = 30
"""So many names fit into a hint."""
DAMAGED: Final = "a file may be missing or damaged: counterbalance verify LAKE shows which"
"""The hint of every error over files that cannot be read."""
UNFORESEEN: Final = "E9000"
"""The code of an error that nothing here raises on purpose: one of a function or plug-in, or a bug."""
_HERE: Final = Path(__file__).parents[1]
_PACKAGES: Final = frozenset({"site-packages", "dist-packages"})
UNTOLD: Final = "its text is hidden: it may hold closed values"
"""In the place of the text of an error of something closed."""


class CounterbalanceError(Exception):
    """Base of all errors of this package.

    Args:
        message: What went wrong, where and why, in one sentence.
        code: Stable code such as ``"E1001"``, which begins as its class says; ``UNFORESEEN`` when left out.
        hint: What the reader can do about it.

    Example:
        >>> raise_me = NotFoundError.table("captoins", ["captions", "images"])
        >>> print(raise_me)
        no table 'captoins'; did you mean 'captions'?
        hint: tables and views: captions, images
        >>> raise_me.code
        'E1001'
    """

    family: ClassVar[str] = "E9"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or UNFORESEEN
        self.hint = hint
        self.sql: str | None = None
        self.line: int | None = None
        self.column: int | None = None

    def __str__(self) -> str:
        """Return the message, its place in the SQL where that is known, and on a line of its own the hint."""
        hint = f"hint: {self.hint}" if self.hint else ""
        return "\n".join(filter(None, (self.message, self.excerpt(), hint)))

    def excerpt(self) -> str:
        r"""Return the offending line with a caret under the place, or nothing.

        Example:
            >>> print(SqlError("x", sql="select\n  nope", line=2, column=3).excerpt())
            LINE 2:   nope
                      ^
        """
        if self.sql is None or self.line is None:
            return ""
        lines = self.sql.splitlines() or [""]
        text = lines[min(self.line, len(lines)) - 1]
        head = f"LINE {self.line}: "
        if self.column is None:
            return head + text
        return f"{head}{text}\n{' ' * (len(head) + self.column - 1)}^"

    def to_dict(self) -> dict[str, Any]:
        """Return the error as JSON-ready fields: code, message, hint, retryable; line and column where it is about SQL."""
        told = {"code": self.code, "message": self.message, "hint": self.hint, "retryable": self.retryable}
        return told if self.sql is None else told | {"line": self.line, "column": self.column}

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and notebooks show: the error, under the lines that led to it but those of packages; of a bug all."""
        if self.code == UNFORESEEN:
            return traceback.format_exception(self)
        error: BaseException | None = self
        frames: list[traceback.FrameSummary] = []
        while error is not None:
            frames = [*traceback.extract_tb(error.__traceback__), *frames]
            error = error.__cause__
        own = [f for f in frames if not _is_of_package(Path(f.filename))]
        return [*traceback.format_list(own), f"{type(self).__name__} {self.code}: {self}"]


def _is_of_package(file: Path) -> bool:
    """Tell whether a file is of this package or of another that is installed, rather than the user's own."""
    return file.is_relative_to(_HERE) or not _PACKAGES.isdisjoint(file.parts)


def kind_of(error: BaseException) -> str:
    """Name the kind of an error without its text, which may quote values.

    Example:
        >>> kind_of(ValueError("invalid literal: 'female'"))
        'ValueError (its text is hidden: it may hold closed values)'
    """
    return f"{type(error).__name__} ({UNTOLD})"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or the only one with that word, or nothing.

    Example:
        >>> did_you_mean("imges", ["images", "captions"]), did_you_mean("hate", ["hate_content_rate", "sentiment"])
        ("; did you mean 'images'?", "; did you mean 'hate_content_rate'?")
    """
    written = {k.lower(): k for k in sorted(known)}
    near = difflib.get_close_matches(name.lower(), written, n=1)
    if not near:
        with_word = [k for k in written if name.lower() in k.split("_")]
        near = with_word if len(with_word) == 1 else []
    return f"; did you mean {written[near[0]]!r}?" if near else ""


def _shown(what: str, known: Sequence[str]) -> str | None:
    """Return the names there are, as long as they are few."""
    if len(known) > _LISTED:
        return "counterbalance tables LAKE lists what is stored, with --all views, audits and word lists; .tables in the shell"
    return f"{what}: {', '.join(sorted(known))}" if known else None


class NotFoundError(CounterbalanceError, LookupError):
    """Something that was named is not there."""

    family = "E1"

    __str__ = CounterbalanceError.__str__  # not that of LookupError or OSError

    @classmethod
    def table(cls, name: str, known: Iterable[str], *, other: str | None = None) -> NotFoundError:
        """Return the error that no relation has that name; ``other`` tells what has it instead."""
        known = list(known)
        near = "" if other else did_you_mean(name, known)
        return cls(f"no table {name!r}{near}", code="E1001", hint=other or _shown("tables and views", known))

    @classmethod
    def audit(cls, name: str, known: Iterable[str]) -> NotFoundError:
        """Return the error that no audit has that name."""
        known = list(known)
        near = did_you_mean(name, known)
        hint = "counterbalance audit --list lists all" if near else "audits: " + ", ".join(known)
        return cls(f"no audit {name!r}{near}", code="E1004", hint=hint)

    @classmethod
    def lake(cls, uri: str) -> NotFoundError:
        """Return the error for a folder that holds no lake; one of a similar name beside it is suggested."""
        path = Path(uri)
        if "://" not in uri and path.is_file():
            hint = "counterbalance ingest LAKE SOURCE reads a file into one"
            return cls(f"{uri} is a file, and a lake is a folder", code="E1005", hint=hint)
        beside = [] if "://" in uri else [p.parents[1].name for p in path.parent.glob("*/meta/runs.lance")]
        near = did_you_mean(path.name, beside)
        hint = "make one with: counterbalance ingest LAKE SOURCE, which tells by its content what SOURCE is"
        return cls(f"no lake at {uri}{near}", code="E1005", hint=hint)

    @classmethod
    def source(cls, uri: str) -> NotFoundError:
        """Return the error for a source of an ingest that does not exist."""
        return cls(f"no source at {uri}", code="E1006", hint="check the path; globs and brace ranges are expanded here")


class RequestError(CounterbalanceError, ValueError):
    """What was asked cannot be done as asked."""

    family = "E3"
    exit_code = 1


_NO_CODE: Final = re.compile(
    r"""
    "(?:[^"]|"")*"                                          # a name, which is code
    | (?P<other>
        \be'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*'            # texts
        | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ | \$\w+            # texts in dollars, parameters
        | --[^\n]* | /\*(?:/\*.*?\*/|.)*?\*/                # comments, also one inside of another
    )
    """,
    re.DOTALL | re.IGNORECASE | re.VERBOSE,
)


def place_of(name: str, sql: str) -> tuple[int, int] | None:
    r"""Return line and column, from 1, of the first place where a text has a name: in its code, else in its literals and comments.

    Example:
        >>> place_of("lenght", "SELECT 'lenght',\n  lenght(text) -- lenght")
        (2, 3)
        >>> place_of("b.c", "SELECT a.c, b . c"), place_of("x", "SELECT y")
        ((1, 13), None)
    """
    parts = r"\s*\.\s*".join(rf'"{re.escape(part)}"|{re.escape(part)}'.join(("(?:", ")")) for part in name.split("."))
    form = re.compile(rf"(?<!\w){parts}(?!\w)", re.IGNORECASE)
    code = _NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m["other"] else m[0], sql)
    found = form.search(code) or form.search(sql)
    if found is None:
        return None
    before = sql[: found.start()]
    return before.count("\n") + 1, found.start() - before.rfind("\n")


class SqlError(RequestError):
    """The SQL is wrong.

    Args:
        message: What is wrong.
        sql: The text, for the excerpt.
        line: 1-based line, if known.
        column: 1-based column, if known.
    """

    family = "E31"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        hint: str | None = None,
        sql: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.sql, self.line, self.column = sql, line, column


class RefusedError(RequestError):
    """The statement is understood, but a session does not run it (it is read-only and closed)."""

    family = "E32"


class SensitiveError(RequestError):
    """It reads perceived-demographic labels; such a session is opened with a purpose."""

    family = "E33"


class SourceError(CounterbalanceError, ValueError):
    """A source is not what it says: wrong format, truncated, unreadable."""

    family = "E4"


class LimitError(CounterbalanceError):
    """Time, memory or rows ran out."""

    family = "E5"


class FunctionError(CounterbalanceError):
    """A function cannot be loaded, fails for everything, or failed where it must not."""

    family = "E8"


class StorageError(CounterbalanceError, OSError):
    """The lake cannot be read or written."""

    family = "E6"

    __str__ = CounterbalanceError.__str__  # not that of LookupError or OSError


_OF_PYTHON: Final = re.compile(r"(?:executing the UDF|failed): KeyboardInterrupt\b|^KeyboardInterrupt$", re.MULTILINE)
_UNREADABLE: Final = re.compile(
    r"LanceError|Encountered corrupt file|External error: |Invalid user input: |reading the stream registered|Task was aborted"
)
_UNWRITTEN: Final = re.compile(r"No space left|conflict", re.IGNORECASE)


def first_line(error: BaseException) -> str:
    """Return the first line of what an error says; its type where it says nothing."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def typed_line(error: BaseException) -> str:
    """Return the type of an error, and the first line of what it says."""
    kind = type(error).__name__
    return f"{kind}: {first_line(error)}" if str(error).strip() else kind


def disk_hint(error: OSError) -> str:
    """Return what to do where something cannot be written."""
    is_full = error.errno == errno.ENOSPC or "No space left" in str(error)
    return "the disk is full" if is_full else "check the path, its permissions and the disk"


def without_sources(text: str) -> str:
    """Leave out where in Lance's own sources an error was raised.

    Example:
        >>> without_sources("Not found: a.lance, /home/runner/lance/rust/src/reader.rs:335:56")
        'Not found: a.lance'
    """
    return re.sub(r", /\S+\.rs:[\d:]+", "", text)


def is_panic(error: BaseException) -> bool:
    """Tell whether code in Rust gave up, as Lance's does over damaged files; such an error is no ``Exception``."""
    return type(error).__name__ == "PanicException"


def is_ctrl_c(error: BaseException) -> bool:
    """Tell whether DuckDB ended a query because of Ctrl-C.

    It tells of it as a plain ``RuntimeError``, or as an error of its own about what Python raised in a function or a table.

    Example:
        >>> is_ctrl_c(RuntimeError("Query interrupted")), is_ctrl_c(RuntimeError("no such file"))
        (True, False)
    """
    if type(error) is RuntimeError:
        return str(error) == "Query interrupted"
    return type(error).__name__ == "InvalidInputException" and _OF_PYTHON.search(str(error)) is not None


def is_unreadable(error: BaseException) -> bool:
    """Tell whether Lance, or Arrow and DuckDB on its behalf, could not make sense of a file.

    Example:
        >>> is_unreadable(OSError("LanceError(IO): not found")), is_unreadable(OSError(28, "No space left on device"))
        (True, False)
    """
    if isinstance(error, CounterbalanceError):
        return False
    text = str(error)
    of_lance = isinstance(error, Exception) and _UNREADABLE.search(text) and not _UNWRITTEN.search(text)
    return is_panic(error) or bool(of_lance)


class BusyError(CounterbalanceError):
    """Somebody else is writing to the lake; the same call may go through later."""

    family = "E7"
    exit_code = 75
    retryable = True

"""DuckDB's and Arrow's errors as errors of this package, with the place in the user's own text."""

from __future__ import annotations

import re
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from counterbalance.engine.batch_backoff import out_of_memory
from counterbalance.engine.errors import (
    DAMAGED,
    CounterbalanceError,
    LimitError,
    NotFoundError,
    SqlError,
    StorageError,
    did_you_mean,
    is_ctrl_c,
    is_unreadable,
    place_of,
    without_sources,
)
from counterbalance.engine.recipes import files
from counterbalance.engine.sql.call_syntax import known_as
from counterbalance.engine.sql.diagnostics import hints
from counterbalance.engine.store import pictures

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

_NAMED = re.compile(
    r"[\"'`]([^\"'`]+)[\"'`]|with name (\w+)|function (\w+)\(|name (\w+) does not|(\w+) would read itself|(?:have|a row:) (\w+) = "
)
_NO_COLUMN = re.compile(
    r"^Referenced column .* not found in FROM|does not have a column named|list not found in FROM|not exist on (left|right) side"
)
_OWNED = re.compile(r"(?:Table|list) \"([^\"~]+)[^\"]*\" does not have a column named \"([^\"]+)\"")
_FEW: Final = 4
"""So many signatures fit into a hint."""
_LINE = re.compile(r"LINE (\d+): ?(.*)\n( *)\^")


def translate(
    error: BaseException,
    sql: str,
    *,
    same_text: bool,
    names: Iterable[str] = (),
    columns: Mapping[str, Iterable[str]] | None = None,
    answered: Mapping[str, str] | None = None,
    bytes_: Container[str] = (),
    seconds: float | None = None,
) -> CounterbalanceError:
    """Return the error that the user should see.

    Args:
        error: What DuckDB, Arrow or Lance raised.
        sql: What the user wrote.
        same_text: DuckDB ran just that text, so its line and column hold.
        names: Known columns, functions and relations, for a suggestion.
        columns: Columns of each relation, for the same.
        answered: By stored column the call that it was read for: of the column the user wrote nothing.
        bytes_: Columns of bytes, which queries see only where they name them.
        seconds: The time limit that was set.

    Raises:
        KeyboardInterrupt: That is what it was.
    """
    import duckdb

    if isinstance(error, CounterbalanceError):
        return error
    if is_ctrl_c(error):
        raise KeyboardInterrupt from error
    text = _calls(_plain(str(error), sql), sql, answered or {})
    if isinstance(error, duckdb.InterruptException) or "INTERRUPT" in text or "Interrupted" in text:
        if seconds is None:
            return LimitError("cancelled", code="E5004")
        return LimitError(
            f"the query ran longer than {seconds:g} s", code="E5001", hint="narrow it, or raise --timeout"
        )
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError) or text.startswith("Out of Memory Error"):
        return LimitError(
            f"the query needs more memory than it may have: {_first(text)}",
            code="E5002",
            hint="narrow it, or raise --memory",
        )
    if isinstance(error, duckdb.IOException | OSError) or is_unreadable(error):
        return _unreadable(text)
    if isinstance(error, duckdb.Error):
        return _sql_error(error, text, sql, same_text=same_text, names=names, columns=columns or {}, bytes_=bytes_)
    return CounterbalanceError(f"{type(error).__name__}: {_first(text)}", hint="run with --debug and report it")


def of_function(name: str, error: BaseException) -> CounterbalanceError:
    """Return what a Python function raised, with the function's name.

    Example:
        >>> print(of_function("vader", ValueError("no lexicon")).message)
        vader() failed: ValueError: no lexicon
    """
    if isinstance(error, CounterbalanceError):
        return error
    if error.__cause__ is not None and not isinstance(error.__cause__, Exception):
        error = error.__cause__  # an error was made of it, see functions.Opened
    text = " ".join(str(error).split())
    told = (f"{type(error).__name__}: {text}" if text else type(error).__name__)[:400]
    failed: CounterbalanceError = SqlError(
        f"{name}() failed: {told}", code="E3132", hint="the traceback is shown with --debug; it is the function's own"
    )
    if out_of_memory(error):  # with one row, for larger batches are halved
        failed = LimitError(
            f"{name}() ran out of memory for a single row: {told}",
            code="E5003",
            hint="give it more with --memory, if that is set; else leave the row out, take a smaller model, or look what else holds memory",
        )
    failed.__cause__ = error
    return failed


def is_of_function(error: BaseException) -> bool:
    """Tell whether DuckDB says that a Python function raised something."""
    return "occurred while executing the UDF" in str(error)


def located(error: CounterbalanceError, sql: str) -> CounterbalanceError:
    """Return the error with the place of what it names in the user's text: the value of a parameter, its name, the call, else what it quotes.

    Example:
        >>> error = SqlError("'k' of f() must be integer, not 'x'")
        >>> print(located(error, "FROM f(a, k := 'x')").excerpt())
        LINE 1: FROM f(a, k := 'x')
                               ^
    """
    if not isinstance(error, SqlError | NotFoundError) or error.sql is not None:
        return error
    if isinstance(error, NotFoundError):
        quoted = re.search(r"'([^']+)'", error.message)
        place = place_of(quoted[1], sql) if quoted else None
        if place is not None:
            error.sql, (error.line, error.column) = sql, place
        return error
    error.sql = sql
    named = re.search(r"(\w+)\(\)", error.message)
    call = re.search(rf"(?<!\w){named[1]}(?!\w)", sql, re.IGNORECASE) if named else None
    if call is not None:
        at = call.start()
        told = re.search(r"parameter '(\w+)'|'(\w+)' of |got '(\w+)' twice", error.message)
        if told is not None:
            form = rf"(?<![\w$]){told[told.lastindex or 0]}(?!\w)\s*(?::=|=>|=)\s*(?=(\S))"
            given = re.compile(form, re.IGNORECASE).search(sql, call.end())
            at = at if given is None else given.start(1) if told[2] else given.start()
        error.line, error.column = sql.count("\n", 0, at) + 1, at - sql.rfind("\n", 0, at)
    else:
        error.line, error.column = _find(error.message, sql)
    return error


def point(error: SqlError, name: str, sql: str) -> None:
    """Let an error point at the first place where the text has a name."""
    error.sql = sql
    error.line, error.column = _find(repr(name), sql)


def _unreadable(text: str) -> StorageError:
    if pictures.TOLD in text:
        why = text[text.index(pictures.TOLD) :]
        return pictures.unread(re.sub(r"\. Detail: .*$", "", _first(why)))
    table = re.search(r"registered as '([^']+)'", text)
    reason = re.sub(r"^.*failed: |\. Detail: .*$", "", _first(without_sources(text)))
    what = f"table {table[1].partition('~')[0]!r} cannot be read: " if table else ""
    return StorageError(what + reason, code="E6001", hint=f"{DAMAGED}; if it was cleaned up, open a new session")


_CODES: dict[str, str] = {
    "ParserException": "E3102",
    "SyntaxException": "E3102",
    "BinderException": "E3103",
    "CatalogException": "E3104",
    "ConversionException": "E3105",
    "OutOfRangeException": "E3106",
    "InvalidInputException": "E3107",
    "TypeMismatchException": "E3105",
}


def _sql_error(
    error: Exception,
    text: str,
    sql: str,
    *,
    same_text: bool,
    names: Iterable[str],
    columns: Mapping[str, Iterable[str]],
    bytes_: Container[str],
) -> SqlError:
    import duckdb

    place = _LINE.search(text)
    message = _first(text)
    line = column = None
    if same_text and place is not None:
        line = int(place[1])
        shown = place[2]
        start = sql.splitlines()[line - 1].find(shown.strip(". ")) if line <= len(sql.splitlines()) else -1
        lead = len(shown) - len(shown.lstrip(". "))
        offset = len(place[3]) - len(f"LINE {line}: ") - lead
        column = max(1, (max(start, 0)) + offset + 1)
    if column is None:
        line, column = _find(message, sql)
    function = re.search(r'Scalar Function with name "?(\w+)"? does not exist', message)
    if function is not None:
        near = did_you_mean(function[1], {*names, *re.findall(r'"(\w+)"', text.partition("Did you mean")[2])})
        other = known_as(function[1])
        told = f"no function {function[1]!r}{'' if other else near}"
        return SqlError(told, code="E3104", hint=other or hints.FUNCTIONS, sql=sql, line=line, column=column)
    owner = re.match(r'Referenced table "([^"]+)" not found', message)
    if owner is not None:
        there = re.findall(r'"([^"~]+)', text.partition("Candidate tables:")[2].partition("\n")[0])
        near = did_you_mean(owner[1], there)
        hint = f"FROM has {', '.join(there)}" if there and not near else None
        told = f"no table {owner[1]!r} in FROM{near}"
        return SqlError(told, code="E3103", hint=hint, sql=sql, line=line, column=column)
    is_of_names = not isinstance(error, duckdb.ConversionException)  # that quotes a value
    is_plain = is_of_names and not any(t in text for t in ("Candidate", "must appear in", "syntax error"))
    suggestion = _suggest(message, names) if is_plain else ""
    absent = re.search(r'[Cc]olumn (?:named )?"([^"]+)"', message)
    better = None
    if absent and isinstance(error, duckdb.BinderException):
        better = hints.of_bytes(absent[1]) if absent[1] in bytes_ else hints.of_double_quotes(absent[1], sql)
        if _NO_COLUMN.search(message):
            message, suggestion = _no_column(absent[1], text, sql, columns, better)
        is_of_one = " in " in message  # no function or relation is a column of some table
        better = better or (None if suggestion or is_of_one else known_as(absent[1])) or files.made_by(absent[1])
    return SqlError(
        message + suggestion,
        code=_CODES.get(type(error).__name__, "E3100"),
        hint=better or (None if suggestion else _hint(text)),
        sql=sql,
        line=line,
        column=column,
    )


def _no_column(
    name: str, text: str, sql: str, columns: Mapping[str, Iterable[str]], better: str | None
) -> tuple[str, str]:
    """Return what is said of a column that is not there, and the column that was meant."""
    table = re.search(r'(?:Table|list) "([^"~]+)', text)
    found = re.search(r"Candidate bindings: (.*)", text)
    known = re.findall(r'"(?:[^".]+\.)?([^"]+)"', found[1]) if found else []
    if not known:
        alias = rf"\s+(?:AS\s+)?{re.escape(table[1])}" if table and table[1] not in columns else ""
        of = [table[1]] if table and not alias else columns
        read = [r for r in of if re.search(rf"(?<!\w){re.escape(r)}{alias}(?!\w)", sql, re.IGNORECASE)]
        known = [c for relation in read for c in columns[relation]]
    where = f" in {table[1]}" if table else ""
    is_other = name.lower() in {c.lower() for c in known}  # an expression has the name of the table that these are of
    return f"no column {name!r}{where}", "" if better or is_other else did_you_mean(name, known)


def _suggest(message: str, names: Iterable[str]) -> str:
    match = _NAMED.search(message)
    name = next(g for g in match.groups() if g).lower() if match else ""
    known = {n.lower() for n in names}
    return did_you_mean(name, known) if name and name not in known else ""


def _find(message: str, sql: str) -> tuple[int | None, int | None]:
    """Return line and column of the first name that the message quotes, as the user wrote it."""
    named = [next(g for g in m.groups() if g).partition("(")[0].rsplit(".", 1)[-1] for m in _NAMED.finditer(message)]
    owned = _OWNED.search(message)
    for name in ([f"{owned[1]}.{owned[2]}", owned[2]] if owned else []) + named:
        if place := place_of(name, sql):
            return place
    return None, None


def _hint(text: str) -> str | None:
    lines = [line.strip() for line in text.splitlines()[1:]]
    for number, line in enumerate(lines):
        if line.startswith("Candidate functions:"):
            return _taken([*takewhile(bool, lines[number + 1 :])])
        if line.startswith("Candidate bindings: "):
            return line.replace("Candidate bindings", "columns like it", 1)
        if line.startswith(("Did you mean", "Candidate")):
            return line
    return None


def _taken(signatures: list[str]) -> str:
    """Return what a function takes where that is soon said, as DuckDB lists it."""
    if not 0 < len(signatures) <= _FEW or signatures[0][0] == '"':  # so begins one of an operator
        return "a cast may help, such as TRY_CAST(x AS DOUBLE)"
    return "it takes " + "; ".join(re.sub(r'"|, /|\bcol\d+ (?=[A-Z])', "", s) for s in signatures)


def _calls(text: str, sql: str, answered: Mapping[str, str]) -> str:
    """Return the message with calls in the place of the stored columns that answer them, where the user named no such column."""
    for column, call in answered.items():
        if not re.search(rf"(?<!\w){re.escape(column)}(?!\w)", sql, re.IGNORECASE):
            shown = f'"{call}"'.replace("\\", r"\\")
            text = re.sub(rf'(?:column )?"(?:[^"]+\.)?{re.escape(column)}"', shown, text)
    return text


def _plain(text: str, sql: str) -> str:
    """Return the message without DuckDB's own places, and with functions and expressions under the names that were written."""
    text = re.sub(r"\n\s*at .*", "", text)
    text = re.sub(r"(?<=\w)__[0-9a-f]{8}(?=\()", "", text)
    return re.sub(r"\b(\w+?)__0(?:_\d+)?\b", lambda m: m[0] if m[0] in sql else m[1], text)


def _first(text: str) -> str:
    line = text.strip().splitlines()[0] if text.strip() else "no message"
    return re.sub(r"^(\w+ )?(Error|Exception): ", "", line)[:400]

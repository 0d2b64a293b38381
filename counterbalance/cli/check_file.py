"""Read a file of checks: what is asked of a lake, and which rows of the answer must not be there."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_MOST: Final = 1_000_000
LEVELS: Final = ("error", "warning")
_KEYS: Final = ("name", "audit", "sql", "parameters", "fail_if", "level")
_HEAD: Final = re.compile(r"^[ \t]*\[\[[ \t]*check[ \t]*\]\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Check:
    """A check.

    Args:
        name: What is shown.
        fail_if: SQL over the rows of the answer; each row that meets it is a failure.
        audit: The audit that is run; ``None`` where there is a query.
        sql: The query; ``None`` where there is an audit.
        parameters: Of the audit, or values of the query's ``$names``.
        level: ``"error"``, or ``"warning"``, which does not fail the run.
        line: Where it begins in the file, from 1.
    """

    name: str
    fail_if: str
    audit: str | None = None
    sql: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    level: str = "error"
    line: int = 1


def read(path: Path) -> list[Check]:
    """Return the checks of a file in TOML: tables ``[[check]]`` with ``audit`` or ``sql``, and ``fail_if``.

    Raises:
        NotFoundError: There is no such file (E1056).
        RequestError: It is no such file (E3053).
    """
    try:
        if not path.is_file() and path.exists():
            raise _wrong(path, 1, "is no file")
        with path.open("rb") as file:
            data = file.read(_MOST + 1)
        if len(data) > _MOST:
            raise _wrong(path, 1, f"has more than {_MOST:,} bytes")
        text = data.decode()
    except FileNotFoundError as error:
        hint = "write one: [[check]] with audit or sql, and fail_if; counterbalance check --help shows an example"
        raise NotFoundError(f"no file of checks at {path}", code="E1056", hint=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        raise _wrong(path, 1, f"cannot be read: {error}") from error
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _wrong(path, 1, f"is not TOML: {error}") from error
    if unknown := [k for k in found if k != "check"]:
        raise _wrong(path, 1, f"has a key {unknown[0]!r}{did_you_mean(unknown[0], ['check'])}")
    tables = found.get("check")
    if not isinstance(tables, list) or not tables:
        raise _wrong(path, 1, "has no checks")
    lines = [text.count("\n", 0, m.start()) + 1 for m in _HEAD.finditer(text)]
    lines += [1] * (len(tables) - len(lines))
    checks = [_check(table, path, line) for table, line in zip(tables, lines, strict=False)]
    _refuse_twice(checks, path)
    return checks


def _check(table: Any, path: Path, line: int) -> Check:
    if not isinstance(table, dict):
        raise _wrong(path, line, "a check is a table")
    if unknown := [k for k in table if k not in _KEYS]:
        raise _wrong(path, line, f"a check has no {unknown[0]!r}{did_you_mean(unknown[0], _KEYS)}")
    for key in ("name", "audit", "sql", "fail_if", "level"):
        if key in table and not (isinstance(table[key], str) and table[key].strip()):
            raise _wrong(path, line, f"{key} is a text")
    if ("audit" in table) == ("sql" in table):
        raise _wrong(path, line, "a check has either audit or sql")
    if "fail_if" not in table:
        raise _wrong(path, line, "a check has fail_if, a condition in SQL")
    if table.get("level", LEVELS[0]) not in LEVELS:
        raise _wrong(path, line, f"level is {' or '.join(LEVELS)}")
    if not isinstance(table.get("parameters", {}), dict):
        raise _wrong(path, line, "parameters is a table: parameters = {groups = 'caption_gender'}")
    asked = table.get("audit") or " ".join(table["sql"].split())[:60]
    return Check(
        name=table.get("name") or f"{asked}: {table['fail_if']}",
        line=line,
        **{k: table[k] for k in _GIVEN & table.keys()},
    )


_GIVEN: Final = frozenset(_KEYS) - {"name"}


def _refuse_twice(checks: Sequence[Check], path: Path) -> None:
    """Refuse names that stand twice: reports of the field take them for one."""
    seen: set[str] = set()
    for check in checks:
        if check.name in seen:
            raise _wrong(path, check.line, f"there are two checks of the name {check.name!r}")
        seen.add(check.name)


def _wrong(path: Path, line: int, message: str) -> RequestError:
    hint = "[[check]] has name, audit or sql, parameters, fail_if and level (error or warning)"
    return RequestError(f"{path}, line {line}: {message}", code="E3053", hint=hint)

"""Read front matter: TOML in a comment at the start of an SQL file.

::

    /*--- toml
    answers = "How many."
    ---*/
    SELECT count(*) AS n FROM images

Everything is checked, and every error says the file and the line.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine.errors import RequestError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

OPEN: Final = "/*--- toml"
CLOSE: Final = "---*/"
_CODE: Final = "E3030"
_PLACE: Final = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")
_TABLE: Final = re.compile(r"\s*\[\[?\s*([\w.\-\"' ]+?)\s*\]\]?\s*(?:#.*)?$")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The front matter of a file, and what comes after it.

    Args:
        file: Name of the file, for errors.
        values: What the TOML says.
        header: Lines of the TOML; the first is line 2 of the file.
        body: The rest of the file.
    """

    file: str
    values: dict[str, Any]
    header: tuple[str, ...]
    body: str

    def place(self, *path: str) -> str:
        r"""Return ``file:line`` of a key, or of the nearest table around it that has a line of its own.

        Args:
            path: Names of tables, then of the key; ``cells`` tables are counted from 0: ``("cells", "1", "count")``.

        Example:
            >>> front = split('/*--- toml\nanswers = "x"\n[params.k]\ntype = "integer"\n---*/\nSELECT 1', "a.sql")
            >>> front.place("params", "k", "type"), front.place("params", "k", "default"), front.place("source")
            ('a.sql:4', 'a.sql:3', 'a.sql:1')
        """
        known = dict(_keys(self.header))
        lines = (known[path[:length]] for length in range(len(path), 0, -1) if path[:length] in known)
        return f"{self.file}:{next(lines, 1)}"

    def line_of_body(self, offset: int) -> str:
        """Return ``file:line`` of an offset into the body."""
        return f"{self.file}:{len(self.header) + 3 + self.body.count(chr(10), 0, offset)}"


def split(text: str, file: str) -> FrontMatter:
    r"""Read the front matter of a file.

    Raises:
        RequestError: There is none, it is never closed, or it is no TOML.

    Example:
        >>> split('/*--- toml\nanswers = "x"\n---*/\nSELECT 1', "a.sql").body
        'SELECT 1'
    """
    lines = text.splitlines()
    hint = f'it begins with the lines {OPEN}, answers = "what it answers", {CLOSE}'
    if not lines or lines[0].rstrip() != OPEN:
        raise RequestError(f"{file}:1: the file has no front matter", code=_CODE, hint=hint)
    end = next((at for at, line in enumerate(lines) if line.rstrip() == CLOSE), None)
    if end is None:
        raise RequestError(f"{file}:1: the front matter is never closed by a line {CLOSE}", code=_CODE, hint=hint)
    import tomllib  # 6 ms, and most queries read no file

    header = tuple(lines[1:end])
    for at, row in enumerate(header, 2):
        if "*/" in row or "/*" in row:
            told = "the front matter is an SQL comment, and cannot hold /* or */"
            raise RequestError(f"{file}:{at}: {told}", code=_CODE, hint=r"in text write *\u002f")
    try:
        values = tomllib.loads("\n".join(header))
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line = int(found[1]) + 1 if found and found[1] else end + 1
        raise RequestError(
            f"{file}:{line}: this is no TOML: {_PLACE.sub('', str(error))}",
            code=_CODE,
            hint='write text in double quotes: source = "Somebody (2024)"',
        ) from None
    return FrontMatter(file, values, header, "\n".join(lines[end + 1 :]))


def _keys(header: Sequence[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Return paths of tables and keys with their lines, the last first, so that the first of equal ones counts."""
    found: list[tuple[tuple[str, ...], int]] = []
    table: tuple[str, ...] = ()
    counted: dict[tuple[str, ...], int] = {}
    inside = ""
    for at, line in enumerate(header, 2):
        was_inside = inside
        for quotes in re.findall(r'"""|' + "'''", line):
            inside = quotes if not inside else "" if inside == quotes else inside
        named = _TABLE.match(line)
        key = re.match(r"\s*([\w.\-\"' ]+?)\s*=", line)
        if was_inside:
            continue
        if named:
            table = _path(named[1])
            if line.lstrip().startswith("[["):
                counted[table] = counted.get(table, -1) + 1
                table = (*table, str(counted[table]))
            found += [(table[:length], at) for length in range(1, len(table) + 1)]
        elif key:
            path = _path(key[1])
            found += [((*table, *path[:length]), at) for length in range(1, len(path) + 1)]
    return reversed(found)


def _path(key: str) -> tuple[str, ...]:
    return tuple(part.strip(" \"'") for part in key.split("."))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


_KINDS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "line": ("text", lambda value: isinstance(value, str)),
    "text": ("text", lambda value: isinstance(value, str)),
    "texts": ("a list of texts", _is_texts),
    "flag": ("true or false", lambda value: isinstance(value, bool)),
    "number": ("a number", _is_number),
    "list": ("a list", lambda value: isinstance(value, list)),
    "table": ("a table", lambda value: isinstance(value, dict)),
    "tables": ("tables in double brackets", lambda v: isinstance(v, list) and all(isinstance(i, dict) for i in v)),
    "value": ("a value", lambda _: True),
}


def take(
    table: Mapping[str, Any],
    kinds: Mapping[str, str],
    place: Callable[[str], str],
    required: Sequence[str] = (),
    problems: list[RequestError] | None = None,
) -> dict[str, Any]:
    """Return the values of a table, lists of text as tuples, text of the kind ``line`` without line breaks.

    Args:
        table: What the TOML says.
        kinds: What each key that may be there holds: ``line``, ``text``, ``texts``, ``flag``, ``number``, ``list``, ``table``,
            ``tables`` or ``value`` (anything).
        place: Gives the file and line of a key.
        required: Keys that must be there.
        problems: Takes all that is wrong; what is right is returned then.

    Raises:
        RequestError: A key is unknown or missing, or its value of another kind.

    Example:
        >>> take({"count": "n", "by": ["label"]}, {"count": "line", "by": "texts"}, lambda key: "a.sql:1")
        {'count': 'n', 'by': ('label',)}
    """
    made: dict[str, Any] = {}
    wrong: list[RequestError] = []
    for key, value in table.items():
        if key not in kinds:
            near = did_you_mean(key, kinds)
            told = f"{place(key)}: no key {key!r} is known here{near}"
            wrong.append(RequestError(told, code=_CODE, hint=_listed(kinds)))
            continue
        words, fits = _KINDS[kinds[key]]
        if not fits(value):
            wrong.append(RequestError(f"{place(key)}: {key!r} must be {words}, not {value!r}", code=_CODE))
        elif kinds[key] == "line":
            made[key] = " ".join(value.split())
        else:
            made[key] = tuple(value) if kinds[key] == "texts" else value
    missing = [key for key in required if key not in table or made.get(key) in ("", ())]
    wrong += [RequestError(f"{place(k)}: {k!r} is missing", code=_CODE, hint=_listed(kinds)) for k in missing]
    if wrong and problems is None:
        raise wrong[0]
    if problems is not None:
        problems += wrong
    return made


def _listed(kinds: Mapping[str, str]) -> str:
    return "keys: " + ", ".join(kinds)


def written(value: Any) -> str:
    r"""Return a value as TOML that can stand in an SQL comment; text of several lines in as many lines.

    Example:
        >>> print(written('a "b" */'), written(["x"]), written(True), written(0.5))
        "a \"b\" *\u002f" ["x"] true 0.5
    """
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, str) and "\n" in value:
        return '"""\n' + "\n".join(written(line)[1:-1] for line in value.split("\n")) + '"""'
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("*/", r"*\u002f").replace("/*", r"/\u002a").replace("\x7f", r"\u007f")

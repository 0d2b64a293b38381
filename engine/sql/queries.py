"""Query files: one SELECT with a header that says what it is, what it takes and where it comes from.

The header is SQL comments::

    -- name: One line that says what it answers.
    --
    -- Longer text.
    --
    -- source: paper, table, equation
    -- param groups relation = caption_gender : group relation (image_id, label)
    -- param k integer[] = [5, 10] : cut-offs
    -- local: calls match_terms()
    -- subject: what goes with whom
    -- level: image
    -- kernel: roll_up
    -- meets: model_bias.category = dataset_bias.concept
    -- among: positive, negative in item_groups, groups
    -- together: hits, labelled_hits
    -- returns: double

A ``relation`` parameter stands in the SQL as a table of that name, any other as ``$name``. A parameter without ``=`` is
required. Text of a parameter that begins with ``one of 'a', 'b'`` is checked: it takes no other value. So is that of a number
which begins with ``at least 1``, ``above 0``, ``from 0 to 1`` (both included) or ``between 0 and 1`` (neither). Text that begins with
``attribute of labels`` (or ``value``, ``annotator``) says where its values come from: another one leads to a note. Names in
brackets are the columns that a relation must have. ``subject`` is what it is listed under;
``local`` says why the SQL runs in this engine only; ``level`` that its rows are about single images or persons;
``kernel`` names what computes the same rows without SQL where it can (``kernels.py``); ``meets`` which names two relations must
share, else a note says so (``meetings.py``); ``among`` which parameters are labels of a relation (the first that is given,
else the last), with a note of one that nothing has; ``together`` relations that are given together or not at all. A file of a *function* holds one value of its parameters instead of rows, and
``returns`` is the value's type (``inline.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from counterbalance.engine.errors import NotFoundError, RequestError
from counterbalance.engine.sql import meetings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from importlib.resources.abc import Traversable

T = TypeVar("T")

GROUP: Final = "counterbalance.queries"
Kind = Literal["audit", "view", "recipe", "function"]
_FOLDERS: Final[dict[str, Kind]] = {"audits": "audit", "views": "view"}
_PARAMETER: Final = re.compile(
    r"param\s+(\w+)\s+([\w\[\]]+)\s*(?:=\s*((?:'[^']*'|[^'])*?))?\s*(?:\s:\s(.*))?$"  # no colon inside of quotes
)


_NUMBERS: Final = frozenset({"integer", "bigint", "double"})
_BOUNDS: Final[dict[str, re.Pattern[str]]] = {
    "[]": re.compile(r"(?:at least|from) (-?[\d.]*\d)(?: to (-?[\d.]*\d))?\b"),
    "()": re.compile(r"(?:above|between) (-?[\d.]*\d)(?: and (-?[\d.]*\d))?\b"),
}
STEP: Final = re.compile(r"^-- step (\w+):[ \t]*(\S.*)$", re.MULTILINE)
"""Line before the statements of a recipe's step."""
_LABELS: Final = re.compile(r"(attribute|value|annotator) of labels\b")
_COLUMNS: Final = re.compile(r"\(([a-z_]+(?:, [a-z_]+)*)(?:, \.\.\.)?\)")
_CHOICES: Final = re.compile(r"one of ('[^']*'(?:, '[^']*')*)")


@dataclass(frozen=True, slots=True)
class QueryParameter:
    """A parameter of an audit or a view.

    Args:
        name: Its name.
        type: ``relation`` (of a table function also ``stream``: one that is read a batch at a time), or a SQL type such as
            ``integer[]``.
        default: SQL text used when it is left out; ``None`` makes it required.
        doc: One line.
    """

    name: str
    type: str
    default: str | None
    doc: str

    @property
    def is_relation(self) -> bool:
        """Whether it names rows rather than a value."""
        return self.type in {"relation", "stream"}

    @property
    def choices(self) -> tuple[str, ...]:
        """The values it may have, as its text lists them; none when it may have any.

        Example:
            >>> QueryParameter("unit", "varchar", "'image'", "one of 'image', 'person'; what is counted").choices
            ('image', 'person')
        """
        listed = _CHOICES.match(self.doc)
        return tuple(re.findall(r"'([^']*)'", listed[1])) if listed else ()

    @property
    def range(self) -> str | None:
        """The numbers it may have, as its text tells them; ``None`` when it may have any.

        Example:
            >>> QueryParameter("k", "integer[]", "[5]", "at least 1; cut-offs").range
            'at least 1'
        """
        told = self._bounds()
        return told[1][0] if told else None

    def is_within(self, value: float) -> bool:
        """Whether a number is in that range.

        Example:
            >>> share = QueryParameter("test_share", "double", "0.2", "between 0 and 1; share of images to judge by")
            >>> share.is_within(0.5), share.is_within(1)
            (True, False)
        """
        told = self._bounds()
        if told is None:
            return True
        low, high = float(told[1][1]), float(told[1][2] or "inf")
        return low <= value <= high if told[0] == "[]" else low < value < high

    def _bounds(self) -> tuple[str, re.Match[str]] | None:
        if self.type.removesuffix("[]") not in _NUMBERS:
            return None
        matches = ((ends, form.match(self.doc)) for ends, form in _BOUNDS.items())
        return next(((ends, match) for ends, match in matches if match), None)

    @property
    def label_column(self) -> str | None:
        """The column of table labels that its values come from, if it is one of those.

        Example:
            >>> QueryParameter("attribute", "varchar", None, "attribute of labels, such as 'topic'").label_column
            'attribute'
        """
        named = _LABELS.match(self.doc)
        return named[1] if named else None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that rows given for it must have, as its text lists them.

        Example:
            >>> QueryParameter("terms", "relation", None, "words (term, class), any list").columns
            ('term', 'class')
        """
        listed = _COLUMNS.search(self.doc) if self.is_relation else None
        return tuple(listed[1].split(", ")) if listed else ()


@dataclass(frozen=True, slots=True)
class Query:
    """An audit, a view, a recipe or a function written in SQL: its SQL and all that its header says.

    Args:
        returns: The type of a function's value.
        open_labels: It reads of ``labels`` only what needs no purpose, even inside of an audit (``reads: open labels``).
        apart: Relations that it counts each for itself and never matches image by image, so that those of another lake
            tell nothing of single images of this one (``apart: a, b``).
        among: Parameters that are labels, and of which relation (``among: a, b in c, d``).
        together: Relations that are given together or not at all (``together: a, b``).
    """

    name: str
    kind: Kind
    doc: str
    sql: str = field(repr=False)
    parameters: tuple[QueryParameter, ...] = ()
    text: str = field(default="", repr=False)
    source: str = ""
    local: str | None = None
    level: str | None = None
    kernel: str | None = None
    meets: meetings.Meeting | None = None
    among: meetings.Among | None = None
    together: frozenset[str] = frozenset()
    subject: str = ""
    open_labels: bool = False
    apart: frozenset[str] = frozenset()
    returns: str = ""

    @property
    def signature(self) -> str:
        """The call as SQL, with defaults."""
        parts = [p.name if p.default is None else f"{p.name} := {p.default}" for p in self.parameters]
        return f"{self.name}({', '.join(parts)})"


def parse(text: str, kind: Kind, where: str) -> Query:
    r"""Read a query file.

    Args:
        text: Its content.
        kind: What it is.
        where: Its name, for errors.

    Raises:
        RequestError: The header is not as it must be.

    Example:
        >>> q = parse("-- n: Counts.\n-- param x integer = 1 : a number\nSELECT $x AS x", "audit", "n.sql")
        >>> q.doc, q.parameters[0].default, q.sql
        ('Counts.', '1', 'SELECT $x AS x')
    """
    lines = text.splitlines()
    header = [line[2:].strip() for line in _leading_comments(lines)]
    name, _, doc = header[0].partition(":") if header else ("", "", "")
    if not doc.strip() or not name.strip().isidentifier():
        raise RequestError(f"{where} does not begin with '-- name: what it answers'", code="E3030")
    keys: dict[str, str] = {}
    parameters: list[QueryParameter] = []
    prose: list[str] = []
    current: str | None = None
    for line in header[1:]:
        key, _, value = line.partition(":")
        if line.startswith("param "):
            parameters.append(_parameter(line, where))
            current = None
        elif key in {
            "source",
            "local",
            "level",
            "kernel",
            "meets",
            "among",
            "together",
            "subject",
            "reads",
            "apart",
            "returns",
        }:
            keys[key] = value.strip()
            current = key
        elif line and current is not None:
            keys[current] += " " + line
        else:
            current = None
            prose.append(line)
    return Query(
        name.strip(),
        kind,
        doc.strip(),
        "\n".join(lines[len(header) :]).strip().rstrip(";"),
        tuple(parameters),
        "\n".join(prose).strip(),
        keys.get("source", ""),
        keys.get("local"),
        keys.get("level"),
        keys.get("kernel"),
        _understood(meetings.parse, keys.get("meets"), where),
        _understood(meetings.among, keys.get("among"), where),
        _listed(keys.get("together", "")),
        keys.get("subject", ""),
        keys.get("reads") == "open labels",
        _listed(keys.get("apart", "")),
        keys.get("returns", ""),
    )


def _listed(text: str) -> frozenset[str]:
    return frozenset(re.split(r",\s*", text)) - {""}


def _understood(read: Callable[[str], T | None], text: str | None, where: str) -> T | None:
    found = None if text is None else read(text)
    if text is not None and found is None:
        raise RequestError(f"{where}: cannot read what its header says: {text!r}", code="E3030")
    return found


def _leading_comments(lines: list[str]) -> list[str]:
    for at, line in enumerate(lines):
        if not line.startswith("--") or STEP.match(line):
            return lines[:at]
    return lines


def _parameter(line: str, where: str) -> QueryParameter:
    match = _PARAMETER.fullmatch(line)
    if match is None:
        raise RequestError(f"{where}: cannot read parameter line {line!r}", code="E3030")
    name, kind, default, doc = match.groups()
    return QueryParameter(name, kind.lower(), default, doc or "")


@cache
def queries() -> dict[str, Query]:
    """All audits and views by name, from every installed package that offers some (entry points ``counterbalance.queries``)."""
    return _all(_FOLDERS)


@cache
def sql_functions() -> dict[str, Query]:
    """All functions written in SQL by name, from the same packages."""
    return _all({"functions": "function"})


def _all(folders: Mapping[str, Kind]) -> dict[str, Query]:
    found: dict[str, Query] = {}
    for folder, kind in folders.items():
        for file in shipped(folder):
            query = parse(file.read_text(encoding="utf-8"), kind, file.name)
            if query.name in found:
                raise RequestError(f"two queries are called {query.name!r}", code="E3031")
            found[query.name] = query
    return found


def shipped(folder: str) -> Iterator[Traversable]:
    """The SQL files in that folder of every installed package that offers some, by name."""
    for entry in entry_points(group=GROUP):
        root = files(entry.value) / folder
        yield from (
            sorted((f for f in root.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
            if root.is_dir()
            else ()
        )


def audits() -> dict[str, Query]:
    """The audits by name."""
    return {name: q for name, q in queries().items() if q.kind == "audit"}


def audit(name: str) -> Query:
    """The audit of that name.

    Raises:
        NotFoundError: There is none.
    """
    known = audits()
    if name not in known:
        raise NotFoundError.audit(name, known)
    return known[name]

"""Query files: one SELECT, and front matter that says what it answers, what it takes and where it comes from.

The front matter is TOML in a comment at the start of the file, and the name of the file is that of the query::

    /*--- toml
    answers = "One line that says what it answers."
    details = "Longer text."
    subject = "what goes with whom"
    source = "paper, table, equation"
    meets = { left = "model_bias.category", right = "dataset_bias.concept" }
    among = [{ labels = ["label"], relations = ["groups"] }]

    [params.groups]
    relation = ["image_id", "label"]
    default = "caption_gender"
    about = "group relation"

    [params.k]
    type = "integer[]"
    default = [5, 10]
    min = 1
    about = "cut-offs"

    [params.rules]
    type = "varchar"
    default = "vader"
    choices = ["vader", "nltk"]

    [[cells]]
    count = "negative"
    of = "n"
    by = ["label"]
    ---*/
    SELECT …

Keys of a file: ``answers`` (required), ``details``, ``source``; ``since``, the release that had it first (0.2.0, the first of all, where it does not say); ``subject``, what an audit is listed under; ``level``, that its rows are about
single images or persons; ``kernel``, what computes the same rows without SQL where it can (``rewrites/view_kernels.py``);
``meets``, which columns of two relations must share names, else a note says so (``watched``: the column of the result that tells it, ``value`` when left out); ``among``, which parameters are labels of
which relation (the first that is given, else the last), with a note of one that nothing has: where one of them is hidden, an
audit of perceived labels shows nothing; ``together``, relations that are given
together or not at all; ``apart``, relations that are counted each for itself and never matched image by image;
``open_labels``, that of ``labels`` it reads only what needs no purpose, even inside of an audit; ``exact``, that its numbers
tell of single rows whatever cells are hidden, so that an audit of perceived labels needs a purpose; ``returns``, the type of a
function's value (``macros.py``); ``cells``, the counts that rows tell (``engine.disclosure.cells``).

A parameter is a relation, with the columns that its rows must have (``relation = []`` names none), and stands in the SQL as a
table of that name; or it has a ``type`` and stands as ``$name`` (in recipes both do). ``default`` is SQL of a relation, and a
TOML value of a type; without one a parameter is required. ``optional = true``: it may be NULL, and is where it has no default.
``choices`` are all values that it takes; ``min`` and ``max`` (both included), ``above`` and ``below`` (neither) bound a number.
``values`` is the column of table labels that its values come from (``labels.attribute``, ``labels.value``,
``labels.annotator``): another one leads to a note. ``grid`` are the values that a session without a purpose may give where
perceived labels are counted (of a relation its names; ``[]``: none but the default), ``free`` says that the value cuts no population. ``about`` is one
line for people. ``presets`` are its values in papers; a file that names any takes ``preset``, the name of one (``presets.py``).

Keys that are not known, values of another type, defaults outside of their bounds, parameters that the SQL does not use and
``$names`` that none declares are refused with file and line.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, TypeVar

from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.sql import frontmatter, presets
from counterbalance.engine.sql.query_model import Among, Meeting, Query, QueryParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from counterbalance.engine.sql.frontmatter import FrontMatter
    from counterbalance.engine.sql.query_model import Kind

T = TypeVar("T")
_NUMBERS: Final = {"integer": int, "bigint": int, "double": (int, float)}
_TYPES: Final = {**_NUMBERS, "varchar": str, "boolean": bool}
_LABELS: Final = ("labels.attribute", "labels.value", "labels.annotator")
STEP: Final = re.compile(r"^-- step (\w+):[ \t]*(\S.*)$", re.MULTILINE)
"""Line before the statements of a recipe's step."""
_NAMES: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?P<quoted>(?:[^"]|"")*)"|--[^\n]*|/\*.*?\*/|(?<![\w$])(?P<sign>\$?)\b(?P<name>\w+)""",
    re.DOTALL,
)
"""Text and comments, which are passed over, and names: quoted ones, words and ``$names``."""
_KEYS: Final = {
    "answers": "line",
    "details": "text",
    "subject": "line",
    "source": "line",
    "since": "line",
    "level": "line",
    "kernel": "line",
    "returns": "line",
    "open_labels": "flag",
    "exact": "flag",
    "apart": "texts",
    "together": "texts",
    "meets": "table",
    "among": "tables",
    "presets": "table",
    "params": "table",
    "cells": "tables",
}
_PARAMETER_KEYS: Final = {
    "relation": "texts",
    "type": "line",
    "default": "value",
    "optional": "flag",
    "choices": "texts",
    "min": "number",
    "max": "number",
    "above": "number",
    "below": "number",
    "values": "line",
    "grid": "list",
    "free": "flag",
    "narrowed": "flag",
    "drawn": "flag",
    "side": "line",
    "presets": "table",
    "about": "line",
}
_RELATION_KEYS: Final = frozenset({"relation", "default", "about", "narrowed", "drawn", "side", "grid", "presets"})


def parse(text: str, kind: Kind, where: str) -> Query:
    r"""Read a query file.

    Args:
        text: Its content.
        kind: What it is.
        where: The name of the file: without its ending that of the query.

    Raises:
        RequestError: The front matter is not as it must be.

    Example:
        >>> front = '/*--- toml\nanswers = "Counts."\n[params.x]\ntype = "integer"\ndefault = 1\n---*/\n'
        >>> q = parse(front + "SELECT $x AS x", "audit", "n.sql")
        >>> q.name, q.doc, q.parameters[0].default, q.sql
        ('n', 'Counts.', '1', 'SELECT $x AS x')
    """
    query, problems = read(text, kind, where)
    if query is None:
        raise problems[0]
    return query


def read(text: str, kind: Kind, where: str) -> tuple[Query | None, list[RequestError]]:
    """Read a query file, and return it, or everything that is wrong with its front matter."""
    problems: list[RequestError] = []

    def tried(step: Callable[[], T], otherwise: T) -> T:
        try:
            return step()
        except RequestError as error:
            problems.append(error)
            return otherwise

    name = PurePath(where).name.removesuffix(".sql")
    if not name.isidentifier() and kind != "recipe":
        hint = "letters, digits and underscores make the file's name"
        problems.append(_wrong(f"{where}:1", f"{name!r} is not a name for {kind}", hint))
    front = tried(lambda: frontmatter.split(text, where), None)
    if front is None:
        return None, problems
    told = frontmatter.take(front.values, _KEYS, front.place, ("answers",), problems)
    given = told.pop("params", {})
    read_ = [tried(partial(_parameter, front, name, table, problems), None) for name, table in given.items()]
    parameters = tuple(p for p in read_ if p is not None)
    of_presets = told.pop("presets", {})
    tables = enumerate(told.pop("cells", ()))
    read_cells = [Cells.read(table, partial(front.place, "cells", str(at)), problems) for at, table in tables]
    cells = tuple(c for c in read_cells if c is not None)
    if len(parameters) == len(given) and len(cells) == len(read_cells):
        problems += _unused(front, parameters, kind, cells)
        of_none: tuple[presets.Named, ...] = ()
        named = tried(lambda: presets.named(parameters, of_presets, front.place), of_none)
    known = {*given}
    none: frozenset[str] = frozenset()
    no_labels: tuple[Among, ...] = ()
    more: dict[str, Any] = {
        "meets": tried(partial(_meeting, front, told.pop("meets"), known), None) if "meets" in told else None,
        "among": tried(partial(_among, front, told.pop("among", ()), known), no_labels),
        **{key: tried(partial(_named, front, told.pop(key, ()), known, key), none) for key in ("together", "apart")},
    }
    if of_presets and presets.PRESET in given:
        problems.append(
            _wrong(front.place("params", presets.PRESET), "'preset' names a preset, and is no other parameter")
        )
    if problems:
        return None, problems
    body, place = _sql_of(front)
    doc, details = told.pop("answers"), told.pop("details", "").strip()
    if named:
        about = "; ".join(map(str, named))
        names = tuple(n.name for n in named)
        chosen = QueryParameter(
            presets.PRESET, "varchar", "NULL", about, choices=names, optional=True, free=True, named=named
        )
        parameters = (*parameters, chosen)
    return Query(name, kind, doc, body, parameters, details, cells=cells, place=place, **more, **told), []


def sql_of(text: str, where: str) -> tuple[str, str]:
    """Return the SQL of a query file, whatever its front matter says, and the file and line of its first word.

    Raises:
        RequestError: It has no front matter, or one that is no TOML.
    """
    return _sql_of(frontmatter.split(text, where))


def names_of(text: str, where: str) -> frozenset[str]:
    """Return the names of the parameters that a query file declares, right or wrong."""
    return frozenset(frontmatter.split(text, where).values.get("params", {}))


def places_in_cells(text: str, where: str, column: str) -> list[str]:
    r"""Return file and line of every key of ``[[cells]]`` that names a column.

    Example:
        >>> front = '/*--- toml\n[[cells]]\ncount = "n"\n[[cells]]\ncount = "m"\nof = "n"\n---*/\nSELECT 1 AS n'
        >>> places_in_cells(front, "a.sql", "n")
        ['a.sql:3', 'a.sql:6']
    """
    front = frontmatter.split(text, where)
    keys = (
        (str(at), key, value) for at, cell in enumerate(front.values.get("cells", ())) for key, value in cell.items()
    )
    return [
        front.place("cells", at, key)
        for at, key, value in keys
        if column in (value if isinstance(value, list) else [value])
    ]


def _sql_of(front: FrontMatter) -> tuple[str, str]:
    first = len(front.body) - len(front.body.lstrip())
    return front.body.strip().rstrip(";"), front.line_of_body(first)


def _wrong(place: str, what: str, hint: str | None = None) -> RequestError:
    return RequestError(f"{place}: {what}", code="E3030", hint=hint)


def _named(front: FrontMatter, names: Sequence[str], known: set[str], *path: str) -> frozenset[str]:
    """Return names of parameters, refusing those that none has."""
    for name in names:
        if name not in known:
            raise _wrong(front.place(*path), f"no parameter is called {name!r}{did_you_mean(name, known)}")
    return frozenset(names)


def _meeting(front: FrontMatter, table: Mapping[str, Any], known: set[str]) -> Meeting:
    kinds = {"left": "line", "right": "line", "watched": "line"}
    told = frontmatter.take(table, kinds, lambda key: front.place("meets", key), required=("left", "right"))
    sides = {}
    for side in ("left", "right"):
        relation, dot, column = told[side].partition(".")
        if not dot or not column.isidentifier():
            raise _wrong(front.place("meets", side), f"{told[side]!r} is not a relation.column")
        _named(front, [relation], known, "meets", side)
        sides[side] = (relation, column)
    return Meeting(sides["left"], sides["right"], told.get("watched", "value"))


def _among(front: FrontMatter, tables: Sequence[Mapping[str, Any]], known: set[str]) -> tuple[Among, ...]:
    kinds = {"labels": "texts", "relations": "texts"}
    found = []
    for table in tables:
        told = frontmatter.take(table, kinds, lambda key: front.place("among", key), required=tuple(kinds))
        for key, names in told.items():
            _named(front, names, known, "among", key)
        found.append(Among(told["labels"], told["relations"]))
    return tuple(found)


def _parameter(front: FrontMatter, name: str, table: Any, problems: list[RequestError]) -> QueryParameter | None:
    def place(*key: str) -> str:
        return front.place("params", name, *key)

    if not name.isidentifier() or name != name.lower():
        raise _wrong(place(), f"{name!r} is not a name of a parameter", "it is written in lower case, without blanks")
    if not isinstance(table, dict):
        raise _wrong(place(), f"{name!r} must be a table", f"write [params.{name}], and its keys below")
    told = frontmatter.take(table, _PARAMETER_KEYS, place, problems=problems)
    if told.keys() != table.keys():
        return None
    if ("relation" in told) == ("type" in told):
        raise _wrong(
            place(),
            f"parameter {name!r} needs either 'relation' or 'type'",
            'relation = ["image_id"], or type = "integer"',
        )
    if "relation" in told:
        return _relation(name, told, place)
    made = QueryParameter(name, **{k: v for k, v in told.items() if k not in {"default", "grid", "presets"}})
    wrong = [*_wrong_bounds(made, place)]
    if not wrong:  # else it is not known what its values are
        values = {"default": [told["default"]] if "default" in told else [], "grid": told.get("grid", [])}
        wrong += [e for key, given in values.items() for v in given for e in _wrong_value(made, v, partial(place, key))]
    if wrong:
        problems += wrong
        return None
    default = _literal(told["default"]) if "default" in told else "NULL" if made.optional else None

    def text_of(value: Any, where: Callable[[], str]) -> str:
        for error in _wrong_value(made, value, where):
            raise error
        return _literal(value)

    return replace(
        made,
        default=default,
        grid=_frozen(told["grid"]) if "grid" in told else None,
        presets=presets.read(told.get("presets", {}), place, text_of),
    )


def _relation(name: str, told: Mapping[str, Any], place: Callable[..., str]) -> QueryParameter:
    odd = next((key for key in told if key not in _RELATION_KEYS), None)
    if odd is not None:
        raise _wrong(place(odd), f"a relation has no {odd!r}", "keys: " + ", ".join(sorted(_RELATION_KEYS)))
    column = next((c for c in told["relation"] if not c.isidentifier()), None)
    if column is not None:
        raise _wrong(place("relation"), f"{column!r} is not a name of a column")

    def text_of(value: Any, where: Callable[[], str]) -> str:
        if not isinstance(value, str):
            raise _wrong(where(), f"{name!r} is a relation, and its values SQL text, not {value!r}")
        return value

    default = told.get("default")
    if default is not None:
        text_of(default, partial(place, "default"))
    for value in told.get("grid", ()):
        text_of(value, partial(place, "grid"))
    return QueryParameter(
        name,
        "relation",
        default,
        told.get("about", ""),
        told["relation"],
        narrowed=told.get("narrowed", False),
        drawn=told.get("drawn", False),
        side=told.get("side"),
        grid=_frozen(told["grid"]) if "grid" in told else None,
        presets=presets.read(told.get("presets", {}), place, text_of),
    )


def _wrong_bounds(parameter: QueryParameter, place: Callable[..., str]) -> Iterator[RequestError]:
    """Yield what is wrong with a type, and with keys that do not go with it."""
    bare = parameter.type.removesuffix("[]")
    if bare not in _TYPES:
        near = did_you_mean(bare, _TYPES)
        yield _wrong(
            place("type"),
            f"{parameter.type!r} is not a type of a parameter{near}",
            f"{', '.join(_TYPES)}, or a list of them: integer[]",
        )
    elif parameter.range is not None and bare not in _NUMBERS:
        yield _wrong(place(), f"{parameter.name!r} is not a number, and has no range")
    elif parameter.is_empty:
        yield _wrong(place(), f"{parameter.name!r} can be no number: {parameter.range}")
    if parameter.choices and bare != "varchar":
        yield _wrong(place("choices"), f"{parameter.name!r} is not a varchar, and has no choices")
    if parameter.values is not None and parameter.values not in _LABELS:
        yield _wrong(place("values"), f"'values' cannot be {parameter.values!r}", "one of " + ", ".join(_LABELS))


def _wrong_value(parameter: QueryParameter, value: Any, where: Callable[[], str]) -> Iterator[RequestError]:
    """Yield what is wrong with a value: its type, or that the parameter does not take it."""
    is_list = parameter.type.endswith("[]")
    kinds = _TYPES[parameter.type.removesuffix("[]")]
    items = value if is_list and isinstance(value, list) else [value]
    if is_list != isinstance(value, list) or not all(_is_of(kinds, item) for item in items):
        yield _wrong(where(), f"a value of {parameter.name!r} must be {parameter.type}, not {value!r}")
        return
    for item in items:
        if (parameter.choices and item not in parameter.choices) or (parameter.range and not parameter.is_within(item)):
            yield _wrong(where(), f"{parameter.name!r} cannot be {item!r}", parameter.bounds)


def _is_of(kinds: Any, value: Any) -> bool:
    return isinstance(value, kinds) and isinstance(value, bool) == (kinds is bool)


def _literal(value: Any) -> str:
    """Return a TOML value as SQL text.

    Example:
        >>> _literal([5, 10]), _literal("it's"), _literal(False)
        ('[5, 10]', "'it''s'", 'false')
    """
    if isinstance(value, list):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _unused(
    front: FrontMatter, parameters: Sequence[QueryParameter], kind: Kind, cells: Sequence[Cells]
) -> Iterator[RequestError]:
    """Yield what is wrong with names: a ``$name`` that no parameter has, and a parameter that nothing names."""
    relations = {p.name for p in parameters if p.is_relation and kind != "recipe"}
    scalars = {p.name for p in parameters} - relations
    used = {"$min_count"} if cells else set()  # by which the engine hides cells
    used |= {f"${name}" for cell in cells for name in cell.places[1:]}  # and shows so many places
    defaults = [(p, p.default) for p in parameters if p.is_relation and p.default is not None]
    texts = [(None, front.body), *((p.name, default) for p, default in defaults)]
    for owner, text in texts:
        for name, start in _words(text):
            used |= {name} if name != owner else set()
            if name.startswith("$") and name[1:] not in scalars:
                place = front.line_of_body(start) if owner is None else front.place("params", owner, "default")
                yield _wrong(place, f"no parameter declares {name}{did_you_mean(name[1:], scalars)}")
    for parameter in parameters:
        sign = "" if parameter.name in relations else "$"
        if sign + parameter.name not in used:
            yield _wrong(front.place("params", parameter.name), f"the SQL does not use {sign}{parameter.name}")


def _words(text: str) -> Iterator[tuple[str, int]]:
    """Yield ``$names`` and the names of SQL, in lower case, outside of text and comments, and where they begin."""
    for found in _NAMES.finditer(text):
        if found["sign"]:
            yield f"${found['name']}", found.start()
        elif found["name"] or found["quoted"]:
            yield (found["name"] or found["quoted"]).lower(), found.start()

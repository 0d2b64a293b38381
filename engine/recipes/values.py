"""Parameters of a recipe: values of their declared types, put into statements as literals."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from counterbalance.engine.errors import RequestError, did_you_mean
from counterbalance.engine.lists import is_file
from counterbalance.engine.sql import arguments, presets
from counterbalance.engine.sql.parse import DIALECT, to_sql, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from counterbalance.engine.recipes.model import Recipe
    from counterbalance.engine.sql.query_model import QueryParameter

_CALL: Final = re.compile(r"\bCALL\b", re.IGNORECASE)


class MissingError(Exception):
    """A step needs a parameter that was not given: the recipe stops there."""

    def __init__(self, parameter: QueryParameter, recipe: str) -> None:
        what = f": {parameter.doc}" if parameter.doc else ""
        self.parameter = parameter
        self.message = f"{recipe} needs {parameter.name!r} here{what}"
        self.hint = f"run it again with --param {parameter.name}=…; the steps before stay as they are"
        super().__init__(self.message)


def literals(recipe: Recipe, given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return SQL text of every parameter, ``None`` for one that must be given and was not.

    Args:
        recipe: What declares them.
        given: Python values, or text as a command line has it.

    Raises:
        RequestError: There is no such parameter, or a relation is a file.
        SqlError: A value is not of the parameter's type.
    """
    names = [p.name for p in recipe.parameters]
    for name in given:
        if name not in names:
            raise RequestError(
                f"recipe {recipe.name} has no parameter {name!r}{did_you_mean(name, names)}",
                code="E3563",
                hint="parameters: " + (", ".join(names) or "none"),
            )
    taken: dict[str, str] = {}
    preset = presets.parameter(recipe.parameters)
    if preset is not None and preset.name in given:
        named = arguments.literal(preset, given[preset.name], f"'preset' of recipe {recipe.name}")
        taken = presets.values(recipe.parameters, named.name)
    parameters = [replace(p, default=taken.get(p.name, p.default)) for p in recipe.parameters]
    return {p.name: _literal(p, given, recipe.name) for p in parameters}


def _literal(parameter: QueryParameter, given: Mapping[str, Any], recipe: str) -> str | None:
    where = f"{parameter.name!r} of recipe {recipe}"
    if parameter.name not in given:
        if parameter.default is None:
            return None
        if parameter.is_relation:
            return parameter.default
        default: exp.Expr = exp.maybe_parse(parameter.default, dialect=DIALECT)
        return _text(arguments.scalar(parameter, default, where))
    value = given[parameter.name]
    if parameter.is_relation:
        return to_sql(_relation(str(value), where))
    return _text(arguments.literal(parameter, value, where))


def _relation(text: str, where: str) -> exp.Expr:
    """Return a relation that is still there when what the recipe declares is refreshed.

    Raises:
        RequestError: It is a file.
    """
    if is_file(text):
        raise RequestError(
            f"{where} is a file, and a recipe takes none: {text}",
            code="E3564",
            hint="a table, a view, a call or (SELECT …); a few rows are written as (SELECT * FROM (VALUES ('a', 'b'), …) AS w(term, class))",
        )
    return arguments.relation(text, where)


def _text(node: exp.Expr) -> str:
    """Write it as a literal alone: a list without the cast to its type, which not every place of a statement takes."""
    bare = node.this if isinstance(node, exp.Cast) else node
    return to_sql(bare)


def lex(text: str) -> Sequence[Any]:
    """Return tokens of statements, with their places; what CALL calls is cut into tokens too.

    Raises:
        SqlError: A quote or comment is never closed.
    """
    try:
        found: Sequence[Any] = DuckDB().tokenize(_CALL.sub("DALL", text))  # CALL would swallow the rest as one token
    except TokenError as error:
        raise unreadable(text, error) from None
    return found


def _places(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the parameters that a statement uses, outside of quotes and comments: name, begin and end of each place."""
    tokens = lex(text)
    for sign, name in pairwise(tokens):
        if sign.token_type == TokenType.PARAMETER and name.start == sign.end + 1:
            yield text[name.start : name.end + 1], sign.start, name.end + 1


def put(text: str, recipe: Recipe, known: Mapping[str, str | None]) -> str:
    """Return a statement with its parameters put in.

    Raises:
        MissingError: One must be given.
    """

    def value(name: str) -> str:
        found = known[name]
        if found is None:
            raise MissingError(next(p for p in recipe.parameters if p.name == name), recipe.name)
        return found

    return _replaced(text, value)


def fill(text: str, known: Mapping[str, str | None]) -> str:
    """Return a statement with the parameters put in that are known; the others stay.

    Example:
        >>> fill("SELECT $a, '$a', $b", {"a": "1", "b": None})
        "SELECT 1, '$a', $b"
    """
    return _replaced(text, lambda name: known[name] or f"${name}")


def _replaced(text: str, value: Callable[[str], str]) -> str:
    parts, at = [], 0
    for name, start, end in _places(text):
        parts += [text[at:start], value(name)]
        at = end
    return "".join([*parts, text[at:]])

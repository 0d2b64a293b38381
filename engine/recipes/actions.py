"""Actions: Python functions that a recipe calls by name, such as the training of a classifier.

``CALL name(labels := a_view, attribute := 'scene')`` calls ``name(lake, labels="a_view", attribute="scene")``. An action gets
the lake first and everything else by name; a name without quotes, or (SELECT …), is a relation, and arrives as text. It is
called again when a recipe is run again, so it must leave alone what it has done already. It may return a line of text, a
mapping or an Arrow table that tells what it did. One that has a parameter ``sensitive``, ``device`` or ``progress`` gets the
purpose of the session, the device that was asked for, and a function that takes events of progress.

Actions are found by the entry point group ``counterbalance.actions``, or declared in a file of functions with ``action``.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.errors import (
    CounterbalanceError,
    FunctionError,
    NotFoundError,
    SqlError,
    did_you_mean,
    first_line,
)
from counterbalance.engine.plugins import by_name
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.call_syntax import arguments_of
from counterbalance.engine.sql.ddl_lexer import Tokens
from counterbalance.engine.sql.parse import parse, to_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterbalance.engine.recipes.model import AnyLake

GROUP: Final = "counterbalance.actions"
FORM: Final = "CALL action(relation := name, parameter := 'value', …)"
_own: dict[str, Callable[..., Any]] = {}
A = TypeVar("A", bound="Callable[..., Any]")


def action(call: A) -> A:
    """Declare a function as an action, by its own name; it is returned unchanged.

    Example:
        >>> @action
        ... def say(lake, what):
        ...     return f"{what} {lake}"
        >>> find("say")("lake", what="hello")
        'hello lake'
    """
    _own[getattr(call, "__name__", type(call).__name__)] = call
    return call


def find(name: str) -> Callable[..., Any]:
    """Return the action of that name.

    Raises:
        NotFoundError: There is none.
        FunctionError: It cannot be loaded.
    """
    if name in _own:
        return _own[name]
    offered = by_name(GROUP)
    if name not in offered:
        known = sorted({*_own, *offered})
        raise NotFoundError(
            f"no action {name!r}{did_you_mean(name, known)}",
            code="E1161",
            hint=f"actions: {', '.join(known) or 'none'}; one of your own is loaded with --udfs FILE",
        )
    try:
        found: Callable[..., Any] = offered[name].load()
    except (ImportError, AttributeError) as error:
        raise FunctionError(f"{name}() cannot be loaded: {first_line(error)}", code="E8001") from error
    return found


@dataclass(frozen=True, slots=True)
class Call:
    """A call of an action.

    Args:
        name: The action.
        arguments: Values by name; relations as text.
        relations: Names of the relations among them.
    """

    name: str
    arguments: Mapping[str, Any]
    relations: frozenset[str] = field(default_factory=frozenset)


def read(text: str) -> Call | None:
    """Return the call that a statement is, or ``None`` for any other statement.

    Raises:
        SqlError: It begins as a call and goes on wrongly.

    Example:
        >>> read("CALL train(labels := some_view, size := 3)")
        Call(name='train', arguments={'labels': 'some_view', 'size': 3}, relations=frozenset({'some_view'}))
        >>> read("CALL train(labels := (SELECT 1 AS a))").arguments
        {'labels': '(SELECT 1 AS a)'}
        >>> read("SELECT 1") is None
        True
    """
    tokens = Tokens(text)
    if not tokens.taken("CALL"):
        return None
    tokens.form = FORM
    begin, finish = tokens.rest()
    tree = parse("SELECT" + text[begin:finish]).tree
    call = tree.expressions[0] if isinstance(tree, exp.Select) and len(tree.expressions) == 1 else None
    if not isinstance(call, exp.Anonymous) or tree.args.get("from_") is not None:
        raise SqlError(f"not a call: {text[begin:finish].strip()}", code="E3136", hint=FORM)
    found: dict[str, Any] = {}
    relations: set[str] = set()
    for node in arguments_of(call):
        if not isinstance(node, exp.PropertyEQ):
            raise SqlError(f"arguments of an action have names: {to_sql(node)}", code="E3136", hint=FORM)
        name, value = node.this.name.lower(), node.expression
        if name in found:
            raise SqlError(f"{call.name}() got {name!r} twice", code="E3136")
        if isinstance(value, exp.Column | exp.Subquery):
            found[name] = to_sql(value)
            relations.add(found[name])
        else:
            found[name] = arguments.constant(value, f"{name!r} of {call.name}()")
    return Call(str(call.name).lower(), found, frozenset(relations))


def run(lake: AnyLake, call: Call, **offered: Any) -> pa.Table | str:
    """Call an action; returns what it tells.

    Args:
        lake: The lake.
        call: What to call, with what.
        offered: What it gets besides if it has a parameter of that name.

    Raises:
        NotFoundError: There is none of that name.
        SqlError: It takes other arguments.
        FunctionError: It failed.
    """
    found = find(call.name)
    taken = inspect.signature(found).parameters
    more = {k: v for k, v in offered.items() if k in taken and k not in call.arguments and v is not None}
    try:
        inspect.signature(found).bind(lake, **call.arguments, **more)
    except TypeError as error:
        known = [p for p in list(taken)[1:] if taken[p].kind is not inspect.Parameter.VAR_KEYWORD]
        raise SqlError(f"{call.name}(): {error}", code="E3136", hint="parameters: " + ", ".join(known)) from None
    try:
        return _told(found(lake, **call.arguments, **more))
    except CounterbalanceError:
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        raise FunctionError(f"{call.name} failed: {type(error).__name__}: {first}", code="E8167") from error


def _told(value: Any) -> pa.Table | str:
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, pa.Table):
        return value
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if hasattr(value, "items"):
        return ", ".join(f"{k} {v}" for k, v in value.items())
    return str(value)

"""What a call of a Python function becomes: a stored column that holds its values, or a function bound to its constants."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sqlglot
from sqlglot import exp

from counterbalance.engine.functions import functions
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.computed_columns import stored_column
from counterbalance.engine.sql.parse import DIALECT, to_sql
from counterbalance.engine.sql.policy import refuse_labelling
from counterbalance.engine.sql.postings import answer
from counterbalance.engine.sql.scope import substituted

if TYPE_CHECKING:
    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.binding import Binding
    from counterbalance.engine.sql.plan import Facts
    from counterbalance.engine.sql.scope import Env


class FunctionCalls:
    """Binds calls of Python functions, in place.

    Args:
        binding: Computes constants that are subqueries, and knows what is stored.
        facts: Gets the calls that stored columns answer, and whether the text of any call is another now.
        sensitive: Whether calls may make perceived labels.
        bind: Whether to bind them; else only their arguments are checked.
    """

    def __init__(self, binding: Binding, facts: Facts, *, sensitive: bool, bind: bool) -> None:
        self._binding, self._facts, self._sensitive, self._bind = binding, facts, sensitive, bind

    def bind(self, call: exp.Anonymous, env: Env) -> None:
        """Bind a call, if it is one of a Python function.

        Raises:
            SqlError: Its arguments do not fit.
            SensitiveError: It makes perceived labels, and the session has no purpose.
        """
        function = functions().get(str(call.name).lower())
        if function is None:
            return
        written = to_sql(call)
        stored = stored_column(call, self._binding.stored_calls) if self._bind else None
        if stored is not None:
            self._facts.answered[stored.name] = written
            call.replace(stored)
            self._facts.changed = True
            return
        constants, rest = self._arguments(call, function, env)
        if not self._bind:
            return
        if not self._sensitive:
            refuse_labelling(call, constants)
        if self._binding.shortcuts and answer(call, function, constants, self._binding):
            self._facts.answered |= {column.name: written for column in call.find_all(exp.Column)}
            self._facts.changed = True
            return
        name = self._binding.function(function, constants)
        self._facts.changed |= bool(constants) or len(rest) != len(call.expressions)
        call.set("expressions", rest)
        call.set("this", name)
        in_sql = function.in_sql if self._binding.shortcuts else None
        text = None if in_sql is None else in_sql(**constants)
        if text is not None and all(isinstance(argument, exp.Column) for argument in rest):
            call.replace(_in_sql(call, function, text))
            self._facts.changed = True

    def _arguments(self, call: exp.Anonymous, function: Function, env: Env) -> tuple[dict[str, Any], list[exp.Expr]]:
        """Return values of its constants, and what it is given a row."""
        constants: dict[str, Any] = {}
        rest: list[exp.Expr] = []
        for parameter, node in arguments.of_function(function, call.expressions):
            if not parameter.constant:
                rest.append(exp.convert(parameter.default) if node is None else node)
            elif node is None:
                constants[parameter.name] = parameter.default
            elif self._bind:
                where = f"{parameter.name!r} of {function.name}()"
                value = self._binding.constant(substituted(node, env), where)
                if value is None and parameter.default is not None:
                    raise arguments.null(where, parameter.name, None if parameter.required else repr(parameter.default))
                arguments.refuse_another_type(parameter, value, where)
                constants[parameter.name] = value
        return constants, rest


def _in_sql(call: exp.Anonymous, function: Function, text: str) -> exp.Expr:
    """Return what SQL says of a function, with the arguments of a call in it, which stands where the function is named."""
    names = [p.name for p in function.parameters if not p.constant]
    given = dict(zip(names, call.expressions, strict=True))

    def put(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Anonymous) and node.name.lower() == function.name:
            return call.copy()
        return given[node.name].copy() if isinstance(node, exp.Column) and node.name in given else node

    made: exp.Expr = _parsed(text).transform(put)
    return made


@lru_cache(maxsize=32)  # that of a word list has 30,000 characters
def _parsed(text: str) -> exp.Expr:
    """Return the tree of an expression: to be copied before it is changed."""
    return sqlglot.parse_one(text, dialect=DIALECT)

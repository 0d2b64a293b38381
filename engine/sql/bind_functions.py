"""What a call of a Python function becomes: a stored column that holds its values, or a function bound to its constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlglot import exp

from counterbalance.engine.functions import functions
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.computed_columns import stored_column
from counterbalance.engine.sql.parse import to_sql
from counterbalance.engine.sql.policy import refuse_labelling
from counterbalance.engine.sql.postings import answer
from counterbalance.engine.sql.scope import substituted

if TYPE_CHECKING:
    from counterbalance.engine.functions import Function
    from counterbalance.engine.sql.eager import Ahead
    from counterbalance.engine.sql.resolver import Host
    from counterbalance.engine.sql.scope import Env


class FunctionCalls:
    """Binds calls of Python functions, in place.

    Args:
        host: The session.
        ahead: Computes constants that are subqueries.
        bind: Whether to bind them; else only their arguments are checked.

    Attributes:
        answered: The calls that stored columns answer, as they were written, by column.
        changed: Whether the text of any call is another now.
    """

    def __init__(self, host: Host, ahead: Ahead, *, bind: bool) -> None:
        self._host, self._ahead, self._bind = host, ahead, bind
        self.answered: dict[str, str] = {}
        self.changed = False

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
        stored = stored_column(call, self._host.stored_calls) if self._bind else None
        if stored is not None:
            self.answered[stored.name] = written
            call.replace(stored)
            self.changed = True
            return
        constants, rest = self._arguments(call, function, env)
        if not self._bind:
            return
        if not self._host.sensitive:
            refuse_labelling(call, constants)
        if answer(call, function, constants, self._host):
            self.answered |= {column.name: written for column in call.find_all(exp.Column)}
            self.changed = True
            return
        name = self._host.function(function, constants)
        self.changed |= bool(constants) or len(rest) != len(call.expressions)
        call.set("expressions", rest)
        call.set("this", name)

    def _arguments(self, call: exp.Anonymous, function: Function, env: Env) -> tuple[dict[str, Any], list[exp.Expr]]:
        """Values of its constants, and what it is given a row."""
        constants: dict[str, Any] = {}
        rest: list[exp.Expr] = []
        for parameter, node in arguments.of_function(function, call.expressions):
            if not parameter.constant:
                rest.append(exp.convert(parameter.default) if node is None else node)
            elif node is None:
                constants[parameter.name] = parameter.default
            elif self._bind:
                where = f"{parameter.name!r} of {function.name}()"
                constants[parameter.name] = self._ahead.constant(substituted(node, env), where)
        return constants, rest

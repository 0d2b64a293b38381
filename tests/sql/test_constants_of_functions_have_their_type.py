"""A constant of a function is a value of its type: a list where one value is wanted, or text where a number is, is our error."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import SqlError
from counterbalance.engine.functions import Parameter, functions

EVERY = [(name, p) for name in sorted(functions()) for p in functions()[name].parameters if p.constant]


def call(name: str, wrong: Parameter, value: str) -> str:
    """Return a call of a function with this value, and NULL or its default for all others."""
    given = [f"{p.name} := NULL" for p in functions()[name].parameters if p.required and p.name != wrong.name]
    return f"SELECT {name}({', '.join([*given, f'{wrong.name} := {value}'])})"


@pytest.mark.parametrize(("name", "parameter"), EVERY, ids=lambda v: getattr(v, "name", v))
def test_no_value_is_an_error_of_python(session, name, parameter):
    values = [] if pa.types.is_nested(parameter.type) else ["[]", "['a']"]
    values += ["''", "'x'"] if pa.types.is_integer(parameter.type) or pa.types.is_floating(parameter.type) else []
    for value in values:
        with pytest.raises(SqlError) as caught:
            session.sql(call(name, parameter, value)).fetchall()
        assert caught.value.code in {"E3114", "E3134"}, value

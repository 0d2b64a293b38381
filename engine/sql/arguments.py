"""Arguments of audits, views, table functions and Python functions: from SQL nodes or Python values to what is needed."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.errors import RequestError, SqlError, did_you_mean
from counterbalance.engine.sql.parse import DIALECT, PLACE, parse, to_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from counterbalance.engine.functions import Function, Parameter
    from counterbalance.engine.sql.query_model import QueryParameter

_INTEGERS: Final = frozenset({"integer", "int", "bigint"})
_SETTINGS: Final = (
    "at",
    "attach",
    "sensitive",
    "timeout",
    "memory",
    "threads",
    "isolated",
    "max_rows",
    "params",
    "queries",
)
_FLOATS: Final = frozenset({"double", "float", "real"})


def bind(call: str, names: Sequence[str], nodes: Sequence[exp.Expr]) -> dict[str, exp.Expr]:
    """Return positional and named (``name := value``) arguments by parameter name.

    Raises:
        SqlError: Too many, unknown, or given twice.
    """
    bound: dict[str, exp.Expr] = {}
    for position, node in enumerate(nodes):
        if isinstance(node, exp.PropertyEQ | exp.EQ | exp.Kwarg) and isinstance(
            node.this, exp.Identifier | exp.Column | exp.Var
        ):
            name, value = node.this.name.lower(), node.expression
        elif position < len(names):
            name, value = names[position], node
        else:
            raise SqlError(
                f"{call}() takes {len(names)} argument" + "s" * (len(names) != 1),
                code="E3110",
                hint="parameters: " + ", ".join(names),
            )
        if name not in names:
            raise SqlError(
                f"{call}() has no parameter {name!r}{did_you_mean(name, names)}",
                code="E3111",
                hint="parameters: " + (", ".join(names) or "none"),
            )
        if name in bound:
            raise SqlError(f"{call}() got {name!r} twice", code="E3112")
        bound[name] = value
    return bound


def of_function(function: Function, nodes: Sequence[exp.Expr]) -> list[tuple[Parameter, exp.Expr | None]]:
    """Return every parameter of a Python function with the node that a call gives it, ``None`` for its default.

    Raises:
        SqlError: A required one is missing, or one is unknown or given twice.
    """
    bound = bind(function.name, [p.name for p in function.parameters], nodes)
    for parameter in function.parameters:
        if parameter.required and parameter.name not in bound:
            raise SqlError(f"{function.name}() needs {parameter.name!r}", code="E3116", hint=function.signature)
    return [(p, bound.get(p.name)) for p in function.parameters]


def relation(text: str, where: str) -> exp.Expr:
    """Return a relation written as text: a name, a call or a subquery."""
    try:
        tree = parse(f"SELECT * FROM {text}").tree
    except SqlError:
        raise SqlError(
            f"{where} is not a relation: {text!r}", code="E3113", hint="a table, a view, a call or (SELECT …)"
        ) from None
    source = tree.args.get("from_")
    more = {name for name, value in tree.args.items() if value} - {"expressions", "from_"}
    if isinstance(source, exp.From) and isinstance(source.this, exp.Table):
        more |= {name for name, value in source.this.args.items() if value} - {"this", "db", "catalog", "alias"}
    if not isinstance(source, exp.From) or more:
        raise SqlError(
            f"{where} is not a single relation: {text!r}", code="E3113", hint="write more than a name as (SELECT …)"
        )
    return as_relation(source.this, where)


def as_relation(node: exp.Expr, where: str) -> exp.Expr:
    """Return the argument node as a relation: an ``exp.Table`` or an ``exp.Subquery``."""
    if isinstance(node, exp.Table):
        return node.copy()
    if isinstance(node, exp.Literal) and node.is_string:
        return relation(node.this, where)
    if isinstance(node, exp.Column):
        parts = [p for p in (node.args.get("db"), node.args.get("table"), node.this) if p is not None]
        return exp.Table(this=parts[-1].copy(), db=parts[-2].copy() if len(parts) > 1 else None)
    if isinstance(node, exp.Dot) and isinstance(node.this, exp.Identifier) and isinstance(node.expression, exp.Func):
        return exp.Table(this=node.expression.copy(), db=node.this.copy())
    if isinstance(node, exp.Subquery):
        return exp.Subquery(this=node.this.copy())
    if isinstance(node, exp.Query):
        return exp.Subquery(this=node.copy())
    if isinstance(node, exp.Func):
        return exp.Table(this=node.copy())
    raise SqlError(
        f"{where} is not a relation: {to_sql(node)}", code="E3113", hint="a table, a view, a call or (SELECT …)"
    )


def scalar(parameter: QueryParameter, node: exp.Expr, where: str) -> exp.Expr:
    """Return the argument as a literal of the parameter's type.

    Raises:
        SqlError: It is not constant, of another type, or none of the parameter's choices.
    """
    value = constant(node, where)
    return literal(parameter, value, where)


def literal(parameter: QueryParameter, value: Any, where: str) -> exp.Expr:
    """Return a Python value (or its text, as a command line gives it) as a literal of the parameter's type."""
    kind = parameter.type
    if value is None:
        is_number = kind.removesuffix("[]") in _INTEGERS | _FLOATS
        if is_number and parameter.default not in {None, "NULL"} and not parameter.optional:
            raise null(where, parameter.name, parameter.default)
        return exp.null()
    if kind.endswith("[]"):
        items = value if isinstance(value, list | tuple) else str(value).strip("[] ").split(",")
        typed = [_typed(kind[:-2], i, where) for i in items if not (isinstance(i, str) and not i.strip())]
        _check(parameter, typed, where)
        return exp.cast(exp.Array(expressions=[exp.convert(i) for i in typed]), kind, dialect=DIALECT)
    single = _typed(kind, value, where)
    _check(parameter, [single], where)
    return exp.convert(single)


def refuse_another_type(parameter: Parameter, value: Any, where: str) -> None:
    """Refuse a list where a function takes one value, and text that is no number where it takes a number.

    Raises:
        SqlError: The value is such a one.

    Example:
        >>> from counterbalance.engine.functions import Parameter
        >>> refuse_another_type(Parameter("score", pa.float64(), constant=True), "high", "'score' of hits()")
        Traceback (most recent call last):
        counterbalance.engine.errors.SqlError: 'score' of hits() must be double, not 'high'
    """
    kind, is_nested = parameter.type, pa.types.is_nested(parameter.type)
    if isinstance(value, list | tuple) and not is_nested:
        raise SqlError(f"{where} must be {kind}, not {value!r}", code="E3114")
    if isinstance(value, str) and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        _typed("double", value, where, str(kind))


def null(where: str, name: str, default: str | None) -> SqlError:
    """Return the error of an argument that cannot be NULL; ``default`` is what it is where it is left out.

    Example:
        >>> print(null("'k' of ranked()", "k", "10"))
        'k' of ranked() cannot be NULL
        hint: k is 10 where it is left out
    """
    hint = None if default is None else f"{name} is {default} where it is left out"
    return SqlError(f"{where} cannot be NULL", code="E3134", hint=hint)


def _check(parameter: QueryParameter, values: Sequence[Any], where: str) -> None:
    """Refuse a value that is none of the parameter's choices, or outside of its range."""
    choices = parameter.choices
    for value in values:
        if choices and value not in choices:
            raise SqlError(
                f"{where} cannot be {value!r}{did_you_mean(str(value), choices)}",
                code="E3130",
                hint=parameter.bounds,
            )
        if parameter.range is not None and not parameter.is_within(value):
            raise SqlError(f"{where} cannot be {value}", code="E3134", hint=parameter.range)


def _typed(kind: str, value: Any, where: str, called: str | None = None) -> Any:
    try:
        if kind in _INTEGERS:
            return int(str(value).removesuffix(".0"))
        if kind in _FLOATS:
            return float(value)
        if kind in {"boolean", "bool"}:
            if isinstance(value, bool):
                return value
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[str(value).lower()]
    except (ValueError, TypeError, KeyError):
        raise SqlError(f"{where} must be {called or kind}, not {value!r}", code="E3114") from None
    return str(value).strip()


def constant(node: exp.Expr, where: str) -> Any:
    """Return the Python value of a literal expression.

    Raises:
        SqlError: It is not a literal.
    """
    if isinstance(node, exp.Paren | exp.Cast):
        return constant(node.this, where)
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg):
        value = constant(node.this, where)
        if isinstance(value, int | float):
            return -value
        raise SqlError(f"{where} must be a constant, not {to_sql(node)}", code="E3115")
    if isinstance(node, exp.Literal):
        if node.is_string:
            return node.this
        text = node.this
        return int(text) if text.isdigit() else float(text)
    if isinstance(node, exp.Array | exp.Tuple):
        return [constant(e, where) for e in node.expressions]
    is_list = isinstance(node, exp.Column) and node.table.lower() == "lists"
    hint = f"a word list is given by its name, as text: '{node.name}'" if is_list else None
    if isinstance(node, exp.Column) and not node.table:
        hint = f"write text in single quotes: '{node.name}'"
    raise SqlError(f"{where} must be a constant, not {to_sql(node)}", code="E3115", hint=hint)


def by_name(values: Any) -> dict[str, Any]:
    """Return values of ``$name`` as a caller gave them, of a list by their places; ``None`` is none.

    Raises:
        RequestError: They are neither a mapping from names nor a list.

    Example:
        >>> by_name(["a", 5])
        {'_1': 'a', '_2': 5}
    """
    if values is None:
        return {}
    if isinstance(values, list | tuple):
        return {f"{PLACE}{place}": value for place, value in enumerate(values, 1)}
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise RequestError(
            f"values are given by name or as a list, not as {type(values).__name__}",
            code="E3042",
            hint="write $name in the query, and sql(…, name=value) or sql(…, {'name': value}); or ?, and params=[value]",
        )
    return values


def plain(value: Any) -> Any:
    """Return a value as DuckDB takes it: scalars and arrays of NumPy, sets and columns of tables become Python's.

    Example:
        >>> import numpy as np
        >>> plain([np.int64(3), np.float32(0.5)]), plain(np.arange(2)), plain({np.bool_(True)})
        ([3, 0.5], [0, 1], [True])
    """
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value.to_pylist()
    if getattr(getattr(value, "dtype", None), "kind", None) == "M":  # nanoseconds would become numbers
        value = value.astype("datetime64[us]")
    listed = getattr(value, "tolist", None) or getattr(value, "to_list", None)
    return value if listed is None else listed()


def is_table(value: Any) -> bool:
    """Tell whether a value of the caller's is rows, rather than one value or a column of them.

    Example:
        >>> is_table(pa.table({"a": [1]})), is_table(pa.chunked_array([[1]])), is_table(1)
        (True, False, False)
    """
    is_column = isinstance(value, pa.ChunkedArray) or hasattr(value, "dtype")
    return hasattr(value, "__arrow_c_stream__") and not is_column


def rows_of(name: str, value: Any) -> pa.Table:
    """Return a table of the caller's as Arrow's.

    Raises:
        RequestError: It cannot be one.
    """
    try:
        return pa.table(value)
    except (pa.ArrowException, ValueError, TypeError) as error:
        told = " ".join(str(error).split())[:200]
        raise RequestError(
            f"{name} cannot be read as a table: {told}",
            code="E3047",
            hint="every column has a name of its own and values of one type",
        ) from error


def not_settings(**given: Any) -> None:
    """Refuse a table under the name of a setting.

    Raises:
        RequestError: There is one.
    """
    for name, value in given.items():
        if hasattr(value, "__arrow_c_stream__"):
            raise RequestError(
                f"{name} is a setting, and no table",
                code="E3043",
                hint=f'a table of that name is given in a mapping: sql("… FROM {name}", {{"{name}": table}})',
            )


def check_used(text: str, values: Mapping[str, Any]) -> None:
    """Refuse a value or a table that a query does not name: most likely a setting whose name is written wrongly.

    Raises:
        RequestError: There is one.

    Example:
        >>> check_used("SELECT $a FROM mine", {"a": 1})
    """
    asked = re.findall(r"\$(\w+)", text)
    for name, value in values.items():
        if _is_place(name):
            continue  # of a place, which ``check_places`` counts
        sign = "" if is_table(value) else r"\$"
        if not re.search(rf"{sign}(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE):
            shown = f"table {name}" if not sign else f"${name}"
            if sign and re.search(rf"(?<![\w$]){re.escape(name)}(?!\w)", text, re.IGNORECASE):
                raise RequestError(
                    f"{name} is a {type(value).__name__}, which is not a table",
                    code="E3043",
                    hint="tables are of pyarrow, pandas or polars, or results; a value is asked for as $name",
                )
            placed = (
                f"""a text with = for a ? is written as JSON: -p '"{name}={value}"'; """ if sign and "?" in text else ""
            )
            raise RequestError(
                f"the query has no {shown}{did_you_mean(name, [*_SETTINGS, *asked])}",
                code="E3043",
                hint=f"{placed}a value is of $name (-p name=… or sql(…, name=…)) or of a ? (-p … or params=[…]), and a table is read by "
                "its name; settings: " + ", ".join(_SETTINGS),
            )


def check_places(names: Iterable[str], values: Iterable[str]) -> None:
    """Refuse as many values as a query has no places for.

    Args:
        names: What the query asks for.
        values: What is given.

    Raises:
        SqlError: There are more or fewer.

    Example:
        >>> check_places(["_1", "word"], ["_1"])
        >>> check_places(["_1"], ["_1", "_2"])
        Traceback (most recent call last):
            ...
        counterbalance.engine.errors.SqlError: the query has 1 place for a value (?), and 2 values are given
        hint: -p VALUE or params=[…] has a value for every ?, in their order; $name takes one by its name
    """
    asked, given = ({name for name in each if _is_place(name)} for each in (names, values))
    if asked != given:
        places = f"{len(asked)} place{'s' * (len(asked) != 1)} for {'values' if len(asked) != 1 else 'a value'} (?)"
        told = f"{len(given)} value{'s are' if len(given) != 1 else ' is'} given"
        hint = "-p VALUE or params=[…] has a value for every ?, in their order; $name takes one by its name"
        raise SqlError(f"the query has {places}, and {told}", code="E3121", hint=hint)


def _is_place(name: str) -> bool:
    return name.startswith(PLACE) and name.removeprefix(PLACE).isdigit()


def as_json(values: Mapping[str, Any]) -> str:
    """Return parameters as one line of JSON, in the order declared."""
    return json.dumps(values, ensure_ascii=False, default=str)

"""Expressions over the columns of one table, evaluated batch by batch: what a generated column computes.

Calls of Python functions are taken out, innermost first, and called with whole Arrow batches of the size they like;
what is around them is DuckDB's. So a model sees its own batch size and never DuckDB's vectors of 2,048 rows, and
a plain ``f(column)`` never meets DuckDB at all.
"""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from counterbalance.engine.errors import (
    CounterbalanceError,
    FunctionError,
    NotFoundError,
    RequestError,
    SqlError,
    did_you_mean,
    typed_line,
)
from counterbalance.engine.functions import Partial, functions
from counterbalance.engine.sql import arguments
from counterbalance.engine.sql.macros import inline
from counterbalance.engine.sql.parse import DIALECT, parse, to_sql
from counterbalance.engine.sql.types import as_read, halved, in_full, refuse_wide, storable
from counterbalance.engine.sql.volatility import duckdb_name, is_volatile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import duckdb

    from counterbalance.engine.functions import Function, Parameter

_MANY_ROWS: Final = frozenset({"unnest", "unlist", "generate_subscripts", "explode", "posexplode", "inline"})
_WHOLE_ROWS: Final = 65_536
_MOST_HALF: Final = 65_504.0
_TOO_LARGE: Final = "a number of the vector is beyond 65504, the largest that FLOAT16 has"
_OF_PICTURES: Final = "; a view that selects image_id and sha256 of images reads their pictures as image"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a Python function.

    Args:
        function: Its name.
        arguments: SQL of each array it gets, over columns and earlier outputs.
        constants: Values of its constant parameters.
        output: Name its result goes by.
    """

    function: str
    arguments: tuple[str, ...]
    constants: tuple[tuple[str, Any], ...]
    output: str


@dataclass(frozen=True, slots=True)
class Expression:
    """An analysed expression.

    Args:
        sql: As it is compared and fingerprinted: normalised, without comments.
        columns: Columns it reads.
        calls: Python calls, in order.
        final: SQL of the value, over columns and outputs.
        is_half: It is a vector that is stored as FLOAT16.
    """

    sql: str
    columns: tuple[str, ...]
    calls: tuple[Call, ...]
    final: str
    is_half: bool = False

    @property
    def batch_size(self) -> int:
        """Return rows at once that its functions like."""
        return min((functions()[c.function].batch_size for c in self.calls), default=_WHOLE_ROWS)

    @property
    def device(self) -> str:
        """Return ``auto`` when a function of it can use an accelerator, else ``cpu``."""
        return "auto" if any(functions()[c.function].device == "auto" for c in self.calls) else "cpu"

    @property
    def must_not_fail(self) -> bool:
        """Return whether a failed row stops everything."""
        return any(functions()[c.function].on_error == "raise" for c in self.calls)


def analyse(sql: str, table: str, known: Sequence[str], type_: str | None = None) -> Expression:
    """Take an expression apart.

    Args:
        sql: The text between the parentheses.
        table: The table it is over; columns may be qualified with its name.
        known: Columns of the table.
        type_: SQL type to cast the result to.

    Raises:
        SqlError: It is not one row-wise expression over these columns.
        NotFoundError: No such column.
    """
    wide = None if type_ is None else in_full(type_)
    is_half = type_ is not None and wide != type_.strip()
    tree = _parsed(sql, wide)
    columns = _columns(tree, table, known)
    normal = f"float16({to_sql(tree)})" if is_half else to_sql(tree)
    calls: list[Call] = []
    outputs: dict[str, str] = {}
    holder = exp.Paren(this=tree)
    for node in reversed(list(holder.find_all(exp.Anonymous, bfs=True))):
        function = functions().get(str(node.name).lower())
        if function is None:
            continue
        name, bound, constants = _bound(function, node)
        text = to_sql(node)
        if text not in outputs:
            outputs[text] = f"__call_{len(calls) + 1}"
            calls.append(Call(name, tuple(map(to_sql, bound)), tuple(constants.items()), outputs[text]))
        node.replace(exp.column(outputs[text]))
    final = to_sql(holder.this)
    return Expression(normal, tuple(columns), tuple(calls), final, is_half)


def _parsed(sql: str, type_: str | None) -> exp.Expr:
    try:
        statement = parse(f"SELECT {sql}\n")
    except SqlError as error:
        raise SqlError(f"not an expression: {error.message}", code=error.code, hint=error.hint, sql=sql) from None
    select = statement.tree
    if not isinstance(select, exp.Select) or len(select.expressions) != 1 or select.args.get("from_") is not None:
        raise SqlError(f"{sql!r} is not one expression", code="E3140", hint="write one value, such as: lower(text)")
    holder = exp.Paren(this=select.expressions[0].unalias())
    tree: exp.Expr = holder.this
    for node in tree.walk():
        what = _unfit(node)
        if what is not None:
            is_unsteady = isinstance(node, exp.Func) and is_volatile(node)
            hint = "a generated column is computed row by row; use a materialized view"
            hint = "write the value itself" if is_unsteady else hint
            raise SqlError(f"{what} cannot be part of a generated column", code="E3141", hint=hint)
    inline(holder)
    tree = holder.this
    if type_ is not None:
        try:
            tree = exp.cast(tree, exp.DataType.build(type_, dialect=DIALECT))
        except (ParseError, TokenError, ValueError):
            raise SqlError(
                f"no type {type_!r}", code="E3142", hint="such as VARCHAR, INTEGER, DOUBLE, FLOAT[512]"
            ) from None
    return tree


def _unfit(node: exp.Expr) -> str | None:
    if isinstance(node, exp.AggFunc):
        return f"the aggregate {node.sql_name().lower()}()"
    if isinstance(node, exp.Window):
        return "a window function"
    if isinstance(node, exp.Query | exp.Subquery):
        return "a subquery"
    if isinstance(node, exp.Star):
        return "*"
    if isinstance(node, exp.Placeholder | exp.Parameter):
        return "a parameter"
    if isinstance(node, exp.Func):
        if is_volatile(node):
            return f"{duckdb_name(node)}(), whose result changes from call to call,"
        if duckdb_name(node) in _MANY_ROWS:
            return f"{duckdb_name(node)}(), which makes several rows of one,"
    return None


def _columns(tree: exp.Expr, table: str, known: Sequence[str]) -> list[str]:
    """Return columns it reads, in order; qualifiers are taken off in place."""
    names = {k.lower(): k for k in known}
    found: dict[str, None] = {}
    for node in list(tree.find_all(exp.Column)):
        if _in_lambda(node):
            continue
        name, owner = node.name.lower(), node.table.lower()
        if owner and owner != table.lower() and owner in names:  # a field of a struct column
            found[names[owner]] = None
            continue
        if owner and owner != table.lower():
            raise NotFoundError(f"no table {node.table!r} here", code="E1032", hint=f"columns of {table} only")
        if name not in names:
            if name in {"true", "false"}:
                continue
            raise NotFoundError(
                f"{table} has no column {node.name!r}{did_you_mean(node.name, known)}",
                code="E1033",
                hint="columns: " + ", ".join(known) + (_OF_PICTURES if name == "image" and "image_id" in names else ""),
            )
        node.set("table", None)
        found[names[name]] = None
    return list(found)


def _in_lambda(node: exp.Column) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(parent, exp.Lambda) and node.parts[0].name in {e.name for e in parent.expressions}:
            return True
        parent = parent.parent
    return False


def _bound(function: Function, call: exp.Anonymous) -> tuple[str, list[exp.Expr], dict[str, Any]]:
    constants: dict[str, Any] = {}
    arrays: list[exp.Expr] = []
    for parameter, node in arguments.of_function(function, call.expressions):
        if parameter.constant:
            where = f"{parameter.name!r} of {function.name}()"
            constants[parameter.name] = parameter.default if node is None else arguments.constant(node, where)
        else:
            arrays.append(exp.convert(parameter.default) if node is None else node.copy())
    return function.name, arrays, constants


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A batch's values, and the messages of rows that failed, by number."""

    values: pa.Array
    errors: Mapping[int, str]


class Evaluator:
    """Computes an expression over batches. Open it first, close it in the end; not for two threads at once.

    Args:
        expression: What to compute.
        columns: Arrow types of the columns it reads.
    """

    def __init__(self, expression: Expression, columns: Mapping[str, pa.DataType]) -> None:
        self.expression = expression
        self._types: dict[str, pa.DataType] = {c: as_read(kind) for c, kind in columns.items()}
        self._open: dict[str, Any] = {}
        self._given: list[tuple[Call, Function, list[tuple[str, pa.DataType]]]] = []
        self._connection: duckdb.DuckDBPyConnection | None = None
        known = functions()
        for call in expression.calls:
            function = known[call.function]
            self._types[call.output] = function.type(dict(call.constants))
            kinds = [p.type for p in function.parameters if not p.constant]
            self._given.append((call, function, list(zip(call.arguments, kinds, strict=True))))
        computed = storable(self._describe(expression.final))
        self.type = halved(computed) if expression.is_half else computed
        self._expecting = [
            (call.output, [(column, kind) for column, (_, kind) in zip(plain, given, strict=True)])
            for call, function, given in self._given
            if hasattr(function.call, "expect")
            and None not in (plain := [_column(sql, expression.columns) for sql, _ in given])
        ]

    @property
    def expects(self) -> bool:
        """Return whether a function wants to know what comes next, and is given stored columns alone, so that it can be told."""
        return bool(self._expecting)

    def expect(self, rows: pa.RecordBatch) -> None:
        """Tell those functions, before a batch, which rows the batch behind it will have."""
        for output, given in self._expecting:
            with suppress(pa.ArrowInvalid):  # a value that does not fit is for the call to tell
                self._open[output].expect([_cast(rows.column(column), kind) for column, kind in given])

    def open(self, device: str = "cpu") -> None:
        """Load what the functions load.

        Raises:
            FunctionError: One of them cannot be loaded.
        """
        for call, function, _ in self._given:
            try:
                self._open[call.output] = function.open(dict(call.constants), device)
            except Exception as error:
                self.close()
                raise _unloadable(call.function, error) from error

    def close(self) -> None:
        """Let everything go."""
        for opened in self._open.values():
            opened.close()
        self._open = {}
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __call__(self, rows: pa.RecordBatch) -> Evaluated:
        """Return the values of the rows, in their order."""
        known = {c: _cast(rows.column(c), as_read(rows.column(c).type)) for c in self.expression.columns}
        errors: dict[int, str] = {}
        for call, function, given in self._given:
            arrays = [_cast(self._value(sql, known, rows.num_rows), kind) for sql, kind in given]
            result = self._open[call.output](arrays)
            if isinstance(result, Partial):
                errors |= {int(row): str(message) for row, message in result.errors.items()}
                result = result.values
            known[call.output] = _checked(result, function, self._types[call.output], rows.num_rows)
        values = self._value(self.expression.final, known, rows.num_rows)
        if self.expression.is_half:
            errors |= {row: _TOO_LARGE for row in _beyond_half(values) if row not in errors}
        values = _cast(values, self.type)
        if errors:
            failed = pa.array([i in errors for i in range(len(values))])
            values = pa.compute.if_else(failed, pa.scalar(None, values.type), values)
        return Evaluated(values, errors)

    def _value(self, sql: str, known: Mapping[str, pa.Array], count: int) -> pa.Array:
        column = _column(sql, tuple(known))
        if column is not None:
            return known[column]
        rows = pa.table(dict(known)) if known else pa.table({"__nothing": pa.nulls(count, pa.int8())})
        connection = self._engine()
        connection.register("rows", rows)
        try:
            values = _whole(connection.sql(f"SELECT ({sql}) AS value FROM rows").to_arrow_table()["value"])
        finally:
            connection.unregister("rows")
        if len(values) != count:
            raise FunctionError(
                f"{self.expression.sql} made {len(values)} values of {count} rows", code="E8003", hint="one value a row"
            )
        return values

    def _describe(self, sql: str) -> pa.DataType:
        """Return the Arrow type of SQL over the columns, as DuckDB binds it."""
        import duckdb

        if sql in self._types:
            return self._types[sql]
        empty = pa.schema([*self._types.items(), ("__nothing", pa.int8())]).empty_table()
        connection = self._engine()
        connection.register("rows", empty)
        try:
            kind: pa.DataType = (
                connection.sql(f"SELECT ({sql}) AS value FROM rows").to_arrow_table().schema.field("value").type
            )
        except duckdb.Error as error:
            first = str(error).split("\n\n", maxsplit=1)[0].splitlines()
            raise SqlError(f"the expression does not fit: {' '.join(first)}", code="E3144") from None
        finally:
            connection.unregister("rows")
        return kind

    def check(self) -> None:
        """Bind every argument and cast, so that what cannot run is refused before anything is declared."""
        refuse_wide(self._describe(self.expression.final), self.expression.sql)
        for _, function, given in self._given:
            for sql, kind in given:
                try:
                    _cast(pa.nulls(0, self._describe(sql)), kind)
                except pa.ArrowNotImplementedError as error:
                    raise SqlError(f"{sql} does not fit {function.name}(): {error}", code="E3144") from None
        self._try_constants()
        self._try_one_row()

    def _try_constants(self) -> None:
        """Call a function, which tells only then that a constant is wrong; no model is loaded for that."""
        for call, function, given in self._given:
            defaults = {p.name: p.default for p in function.parameters if p.constant}
            if inspect.isclass(function.call) or dict(call.constants) == defaults:
                continue
            try:
                function.open(dict(call.constants))([pa.nulls(0, kind) for _, kind in given])
            except RequestError as error:
                raise SqlError(error.message, code=error.code, hint=error.hint) from None
            except Exception:  # noqa: BLE001, S112 - of a user's function, which may know nothing of empty batches
                continue

    def _try_one_row(self) -> None:
        """Run it on one row: DuckDB finds out that it has no cast between two types when there is a value to cast."""
        import duckdb

        try:
            self._value(self.expression.final, {name: _sample(kind) for name, kind in self._types.items()}, 1)
        except duckdb.Error as error:
            types = re.search(r"Unimplemented type for cast \((.+) -> (.+)\)", str(error))
            if types is not None:
                raise SqlError(
                    f"no {types[1]} can become {types[2]!r}", code="E3144", hint="give the type that it has"
                ) from None

    def _engine(self) -> duckdb.DuckDBPyConnection:
        if self._connection is None:
            import duckdb

            config: dict[str, Any] = {
                "autoinstall_known_extensions": "false",
                "autoload_known_extensions": "false",
                "python_enable_replacements": "false",
                "preserve_insertion_order": "true",
                "threads": "1",
            }
            self._connection = duckdb.connect(":memory:", config=config)
            self._connection.execute("SET GLOBAL TimeZone = 'UTC'")  # one answer on every machine
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        return self._connection


def _column(sql: str, columns: Sequence[str]) -> str | None:
    """Return the column that an argument is, if it is nothing more."""
    return next((c for c in columns if sql in {c, f'"{c}"'}), None)


def _unloadable(name: str, error: Exception) -> FunctionError:
    """Return the error of a function that cannot be loaded; one of ours keeps its words and what it says to do."""
    told, hint = (error.message, error.hint) if isinstance(error, CounterbalanceError) else (typed_line(error), None)
    return FunctionError(f"{name}() cannot be loaded: {told}", code="E8001", hint=hint or "no row was touched")


def _checked(result: Any, function: Function, kind: pa.DataType, count: int) -> pa.Array:
    """Return a function's result as one array of its declared type."""
    array = _whole(result) if isinstance(result, pa.Array | pa.ChunkedArray) else pa.array(result, kind)
    if len(array) != count:
        raise FunctionError(
            f"{function.name}() returned {len(array)} values for {count} rows",
            code="E8003",
            hint="one value a row, in order",
        )
    return _cast(array, kind)


def _cast(array: pa.Array, kind: pa.DataType) -> pa.Array:
    return array if array.type == kind else array.cast(kind)


def _beyond_half(vectors: pa.Array) -> list[int]:
    """Return the rows of vectors with a finite number that float16 has not."""
    size = np.abs(vectors.flatten().to_numpy(zero_copy_only=False))
    rows = pa.compute.list_parent_indices(vectors).to_numpy(zero_copy_only=False)
    return [int(row) for row in np.unique(rows[np.isfinite(size) & (size > _MOST_HALF)])]


def _sample(kind: pa.DataType) -> pa.Array:
    """Return one value that is not NULL, where there is one of these: zero, or what is empty."""
    values: list[Any] = [0, False, "", b"", [], {}, [None] * getattr(kind, "list_size", 0)]
    for value in values:
        with suppress(pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
            return pa.array([value], kind)
    return pa.nulls(1, kind)


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    if values.num_chunks == 1:
        return values.chunk(0)
    joined = values.combine_chunks()
    return joined if not isinstance(joined, pa.ChunkedArray) else pa.concat_arrays(joined.chunks)


def same_call(sql: str) -> str:
    """Return an expression as text that is equal for equal expressions, whatever their spaces, comments and letter case.

    Arguments of Python functions are named, and left out where they are the default.

    Example:
        >>> same_call("Vader( TEXT ) -- why") == same_call("vader(text)") == same_call("vader(text := text, rules := 'vader')")
        True
    """
    tree = sqlglot.parse_one(f"SELECT {sql}\n", dialect=DIALECT).expressions[0].unalias()
    for node in tree.find_all(exp.Identifier):
        node.set("this", node.name.lower())
        node.set("quoted", False)
    for node in tree.find_all(exp.Anonymous):
        node.set("this", str(node.name).lower())
        function = functions().get(node.name)
        if function is not None:
            given = arguments.of_function(function, node.expressions)
            node.set(
                "expressions",
                [exp.PropertyEQ(this=exp.to_identifier(p.name), expression=v) for p, v in given if _is_given(p, v)],
            )
    return to_sql(tree)


def _is_given(parameter: Parameter, value: exp.Expr | None) -> bool:
    """Tell whether a call gives a parameter something else than its default."""
    if value is None:
        return False
    is_plain = isinstance(value, exp.Literal | exp.Null | exp.Boolean | exp.Neg)
    return parameter.required or not is_plain or to_sql(value) != to_sql(exp.convert(parameter.default))

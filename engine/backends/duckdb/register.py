"""Python functions as DuckDB functions."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterbalance.engine.batch_backoff import Halving, out_of_memory
from counterbalance.engine.functions import Partial
from counterbalance.engine.progress import stopped_by
from counterbalance.engine.sql.diagnostics.engine_errors import of_function

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

    import duckdb

    from counterbalance.engine.errors import CounterbalanceError
    from counterbalance.engine.functions import Function, Opened


def sql_type(kind: pa.DataType) -> str:
    """Return DuckDB's name of an Arrow type.

    Example:
        >>> sql_type(pa.struct([("male", pa.int32()), ("words", pa.list_(pa.string()))]))
        'STRUCT("male" INTEGER, "words" VARCHAR[])'
    """
    if pa.types.is_fixed_size_list(kind):
        return f"{sql_type(kind.value_type)}[{kind.list_size}]"
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        return f"STRUCT({', '.join(f'{chr(34)}{f.name}{chr(34)} {sql_type(f.type)}' for f in kind)})"
    names = {
        pa.string(): "VARCHAR",
        pa.int32(): "INTEGER",
        pa.int64(): "BIGINT",
        pa.float32(): "FLOAT",
        pa.float64(): "DOUBLE",
        pa.bool_(): "BOOLEAN",
        pa.binary(): "BLOB",
        pa.date32(): "DATE",
        pa.timestamp("us"): "TIMESTAMP",
        pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
    }
    return names[kind]


def name_of(function: Function, constants: Mapping[str, Any]) -> str:
    """Return the name under which a function is called that has its constants fixed."""
    if not constants:
        return function.name
    digest = hashlib.md5(json.dumps(constants, sort_keys=True, default=str).encode(), usedforsecurity=False)
    return f"{function.name}__{digest.hexdigest()[:8]}"


def register_function(
    connection: duckdb.DuckDBPyConnection,
    function: Function,
    constants: Mapping[str, Any],
    registered: dict[str, Opened],
    raised: list[CounterbalanceError],
    stop: threading.Event,
) -> str:
    """Make a function callable in SQL with its constant parameters fixed; returns the name to call.

    Args:
        connection: Where.
        function: The function.
        constants: Parameters that are fixed.
        registered: Functions that are there already, by the name to call; the new one is added.
        raised: What the function raises is put here, for DuckDB passes nothing on but its text.
        stop: Ends a function that tells how far it is, in whatever thread DuckDB calls it.
    """
    name = name_of(function, constants)
    if name in registered:
        return name
    arrays = [p for p in function.parameters if not p.constant]
    from counterbalance.engine.executors import devices

    returns = function.type(constants)
    device = devices.available("auto", wants=function.device == "auto")[0]
    opened = registered[name] = function.open(constants, device)

    halving: Halving[pa.Array] = Halving(sys.maxsize, out_of_memory, _passed_on)

    def call(*columns: pa.ChunkedArray) -> pa.Array:
        arrays = [_whole(c) for c in columns]

        def part(start: int, count: int) -> pa.Array:
            result = opened([a.slice(start, count) for a in arrays])
            if isinstance(result, Partial):
                if result.errors:
                    raise ValueError(next(iter(result.errors.values())))
                result = result.values
            result = _whole(result) if isinstance(result, pa.Array | pa.ChunkedArray) else pa.array(result, returns)
            result = result if result.type == returns else result.cast(returns)
            if arrays and len(result) != count:
                raise ValueError(f"{len(result):,} values for {count:,} rows")
            return result

        try:
            with stopped_by(stop):
                parts = halving(0, len(arrays[0]) if arrays else 1, part)
            return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        except (Exception, SystemExit) as error:
            raised.append(of_function(function.name, error))
            raise

    places = [inspect.Parameter(f"column_{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(len(arrays))]
    call.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # DuckDB counts them

    import duckdb
    from duckdb.func import FunctionNullHandling, PythonUDFType

    connection.create_function(
        name,
        call,
        [duckdb.sqltype(sql_type(p.type)) for p in arrays],
        duckdb.sqltype(sql_type(returns)),
        type=PythonUDFType.ARROW,
        null_handling=FunctionNullHandling.SPECIAL,
    )
    return name


def _passed_on(error: Exception) -> pa.Array:
    raise error


def _whole(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if not isinstance(values, pa.ChunkedArray):
        return values
    return (
        values.chunk(0)
        if values.num_chunks == 1
        else pa.concat_arrays(values.chunks)
        if values.num_chunks
        else pa.array([], values.type)
    )

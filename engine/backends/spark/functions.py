"""Python functions as Arrow functions of Spark, opened once in each of its workers."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from counterbalance.engine import functions
from counterbalance.engine.functions import Partial

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from counterbalance.engine.functions import Function, Opened


def register(spark: SparkSession, name: str, function: Function, constants: Mapping[str, Any]) -> None:
    """Make a function callable in SQL with its constant parameters fixed.

    Args:
        spark: Where.
        name: What to call it.
        function: The function; its workers import it, or load the file that it comes from.
        constants: Parameters that are fixed.
    """
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.pandas.types import from_arrow_type

    declare: Any = arrow_udf  # its types know no function whose columns are counted later
    told = json.dumps(dict(constants))
    call = _called(function.name, function.source, told)
    spark.udf.register(name, declare(call, from_arrow_type(function.type(constants))))


def _called(name: str, source: str | None, constants: str) -> Callable[..., pa.Array]:
    """Return a function of columns that finds its own on the worker."""
    import pyarrow as pa

    def call(*columns: Any) -> Any:
        opened, kinds = _opened(name, source, constants)
        rows = len(columns[0])
        arrays = [column.cast(kind) for column, kind in zip(columns, kinds, strict=True)]
        return values(opened(arrays), rows)

    call.__annotations__ = {"columns": pa.Array, "return": pa.Array}  # what Spark looks at
    return call


def values(found: Any, rows: int) -> pa.Array:
    """Return what a function gave as one array.

    Raises:
        ValueError: It failed for a row, or gave too few or too many.
    """
    import pyarrow as pa

    if isinstance(found, Partial):
        if found.errors:
            raise ValueError(next(iter(found.errors.values())))
        found = found.values
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if len(found) != rows:
        raise ValueError(f"{len(found):,} values for {rows:,} rows")
    return found


@lru_cache(maxsize=8)
def _opened(name: str, source: str | None, constants: str) -> tuple[Opened, list[pa.DataType]]:
    """Return a function ready to be called, once a worker, and the types that it is given."""
    if source is not None:
        functions.load_file(source)
    found = functions.function(name)
    kinds = [parameter.type for parameter in found.parameters if not parameter.constant]
    return found.open(json.loads(constants)), kinds

"""Python functions in a Spark session, so that the plain SQL of an audit runs there where it calls one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterbalance.engine.functions import Partial, function, functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import SparkSession


def register(spark: SparkSession, names: Iterable[str] | None = None) -> list[str]:
    """Register functions with a Spark session, under their own names; its workers need counterbalance, too.

    Args:
        spark: The session, of Spark 4.1 or newer.
        names: Functions; all those without a model by default.

    Returns:
        The names.

    Example:
        >>> register(spark, ["chi_square_p"])  # doctest: +SKIP
        >>> spark.sql("SELECT chi_square_p(3.84D, 1L)")  # doctest: +SKIP
    """
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.pandas.types import from_arrow_type

    declare: Any = arrow_udf  # its types know no function whose columns are counted later
    made = list(names) if names is not None else [n for n, f in functions().items() if not isinstance(f.call, type)]
    for name in made:
        known = function(name)
        defaults = {p.name: p.default for p in known.parameters if p.constant and not p.required}
        spark.udf.register(name, declare(_called(name), from_arrow_type(known.type(defaults))))
    return made


def _called(name: str) -> Callable[..., pa.Array]:
    """Return a function of columns, constants among them, that finds its own on the worker."""
    import pyarrow as pa

    def call(*columns: Any) -> Any:
        declared = function(name)
        rows = len(columns[0])
        given = dict(zip((p.name for p in declared.parameters), columns, strict=False))
        constants, arrays = {}, []
        for parameter in declared.parameters:
            column = given.get(parameter.name)
            if parameter.constant:
                constants[parameter.name] = parameter.default if column is None else column[0].as_py()
            elif column is None:
                arrays.append(pa.array([parameter.default] * rows, parameter.type))
            else:
                arrays.append(column.cast(parameter.type))
        found = declared.open(constants)(arrays)
        if isinstance(found, Partial):
            if found.errors:
                raise ValueError(next(iter(found.errors.values())))
            found = found.values
        return found

    call.__annotations__ = {"columns": pa.Array, "return": pa.Array}  # what Spark looks at
    return call

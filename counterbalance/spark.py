"""A lake in a Spark session of one's own: its tables as views, and the functions that plain SQL of ``--expand --dialect spark`` calls.

``lake.sql(…, engine="spark")`` needs none of this, and hides small cells of perceived labels; plain SQL reads open rows only.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from counterbalance.engine.functions import function, functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from counterbalance.engine.lake import Lake


def register(
    spark: SparkSession, lake: Lake | None = None, *, names: Iterable[str] | None = None, at: str | None = None
) -> list[str]:
    """Make a lake's tables readable in a Spark session, under their names and as they are now, and functions callable.

    Its workers need counterbalance, and reach the lake themselves. Perceived labels are left out.

    Args:
        spark: The session, of Spark 4.1 or newer.
        lake: The lake; only functions are registered without it.
        names: Functions; all those without a model by default.
        at: A tag or moment of the lake; now by default.

    Returns:
        The names of views and functions.

    Example:
        >>> register(spark, cb.connect("coco.lake"))  # doctest: +SKIP
        >>> spark.sql("SELECT chi_square_p(3.84D, 1L), count(*) FROM images")  # doctest: +SKIP
    """
    from pyspark.sql.pandas.functions import arrow_udf
    from pyspark.sql.pandas.types import from_arrow_type

    declare: Any = arrow_udf  # its types know no function whose columns are counted later
    made = list(names) if names is not None else [n for n, f in functions().items() if not isinstance(f.call, type)]
    for name in made:
        known = function(name)
        defaults = {p.name: p.default for p in known.parameters if p.constant and not p.required}
        spark.udf.register(name, declare(_called(name), from_arrow_type(known.type(defaults))))
    return made if lake is None else [*_tables(spark, lake, at), *made]


def _tables(spark: SparkSession, lake: Lake, at: str | None) -> list[str]:
    from counterbalance.engine.backends.spark.source import load, plain, source_named
    from counterbalance.engine.catalog.pinned import pin
    from counterbalance.engine.errors import SensitiveError
    from counterbalance.engine.schema import BASE_TABLES
    from counterbalance.engine.sql.resolver import Resolver

    source = f"counterbalance_{secrets.token_hex(6)}"
    spark.dataSource.register(source_named(source))
    pinned = pin(lake.location, at)
    resolver = Resolver(pinned, {}, sensitive=False)
    made = []
    for name in sorted({*BASE_TABLES, *(name for name in resolver.versions if "/" not in name)}):
        try:
            relation = resolver.relation(None, name, trusted=False)
        except SensitiveError:  # a view of perceived labels
            continue
        if relation is not None:
            table = relation.table
            rows = load(spark, source, table) if table is not None else spark.createDataFrame(plain(relation.holds))
            rows.createOrReplaceTempView(name)
            made.append(name)
    pinned.pin.release()
    return made


def _called(name: str) -> Callable[..., pa.Array]:
    """Return a function of columns, constants among them, that finds its own on the worker."""
    import pyarrow as pa

    from counterbalance.engine.backends.spark.functions import values

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
        return values(declared.open(constants)(arrays), rows)

    call.__annotations__ = {"columns": pa.Array, "return": pa.Array}  # what Spark looks at
    return call

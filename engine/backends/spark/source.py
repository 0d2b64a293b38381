"""A table of a lake as a data source of Spark: one version, a partition for each fragment, only the columns that a plan names.

Read on the workers, which need this package and reach the lake's folder or object store themselves. Filters are left to Spark:
release 4.3 hands a reader the filters of one use of a table for all of its uses in a query, which gives wrong rows.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import lance
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from counterbalance.engine.sql.plan import StoredTable

_BATCH_ROWS: Final = 65_536


class LanceSource(DataSource):
    """One version of a Lance table. Its options are those of ``options_of``; Spark is told the schema."""

    def reader(self, schema: StructType) -> LanceReader:
        """Return what reads the columns of a schema."""
        return LanceReader(dict(self.options), schema)


def source_named(name: str) -> type[LanceSource]:
    """Return the source under a name of its own: a session of Spark finds none that the one before it has registered."""

    class Named(LanceSource):
        @classmethod
        def name(cls) -> str:
            return name

    return Named


def load(
    spark: SparkSession, source: str, table: StoredTable, columns: list[str] | None = None, condition: str | None = None
) -> DataFrame:
    """Return the rows of a stored table as Spark will read them.

    Args:
        spark: The session.
        source: The name that the source has there.
        table: The table.
        columns: Those to read; all that may be seen by default.
        condition: Lance filter of the rows that are wanted; that of the table holds, too.
    """
    from counterbalance.engine.backends.duckdb.scan import visible_schema

    shown = visible_schema(table.dataset, table.hidden)
    schema = pa.schema([pa.field(n, in_spark(shown.field(n).type)) for n in columns or shown.names])
    condition = " AND ".join(f"({one})" for one in (table.condition, condition) if one is not None) or None
    location = table.lake.location
    if location.is_memory:  # no other process can read it
        found = table.dataset.scanner(columns=schema.names, filter=condition, use_scalar_index=False).to_table()
        return spark.createDataFrame(plain(found))
    options = options_of(table.dataset.uri, table.dataset.version, location.lance_options(), condition)
    return spark.read.format(source).schema(from_arrow_schema(schema)).options(**options).load()


def in_spark(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark has for one of Arrow: signed integers, lists of any length, plain strings and bytes."""
    wider = {
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
    }
    if pa.types.is_dictionary(kind):
        return in_spark(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(in_spark(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, in_spark(f.type)) for f in kind])
    if pa.types.is_decimal(kind) and kind.precision == 38 and kind.scale == 0:
        return pa.decimal128(38, 0)
    return wider.get(kind, kind)


def plain(rows: pa.Table) -> pa.Table:
    """Return rows in types that Spark has, without metadata."""
    return rows.cast(pa.schema([pa.field(f.name, in_spark(f.type)) for f in rows.schema])).replace_schema_metadata(None)


def options_of(uri: str, version: int, storage: Mapping[str, str], condition: str | None) -> dict[str, str]:
    """Return the options of a table, as Spark sends them to its workers.

    Args:
        uri: The table.
        version: Its version.
        storage: Options of the object store.
        condition: Lance filter of the rows that are there at all.
    """
    options = {"uri": uri, "version": str(version), "storage_secrets": json.dumps(dict(storage))}
    return options if condition is None else {**options, "condition": condition}


class LanceReader(DataSourceReader):
    """Reads the fragments of a table, one a partition."""

    def __init__(self, options: Mapping[str, str], schema: StructType) -> None:
        self._options, self._columns = options, schema.names
        self._schema = to_arrow_schema(schema)

    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition a fragment."""
        return [InputPartition(fragment.fragment_id) for fragment in self._dataset().get_fragments()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a fragment."""
        fragment = self._dataset().get_fragment(partition.value)

        if fragment is None:  # a version never loses one
            return
        scanner = fragment.scanner(
            columns=self._columns,
            filter=self._options.get("condition"),
            batch_size=_BATCH_ROWS,
            use_scalar_index=False,
        )
        for batch in scanner.to_batches():
            columns = [_as(batch.column(f.name), f.type) for f in self._schema]
            yield pa.record_batch(columns, schema=self._schema)

    def _dataset(self) -> lance.LanceDataset:
        import lance

        options = self._options
        storage = json.loads(options["storage_secrets"]) or None
        return lance.dataset(options["uri"], version=int(options["version"]), storage_options=storage)


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column if column.type == kind else column.cast(kind)

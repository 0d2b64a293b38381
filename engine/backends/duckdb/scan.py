"""How DuckDB reads a Lance table: projection, filters and row counts pushed down, nothing refused to the user.

``LanceSource`` speaks DuckDB's own source protocol (private in DuckDB 2, so it is detected and tested): filters reach
Lance as SQL text, which takes every type that its Substrait road refuses; join order sees true row counts; and coded
columns (``write/dictionaries.py``) arrive as dictionary vectors. ``LanceView`` does the same with public API alone, without codes
and row counts, where that protocol is missing. Both hide the bytes of pictures and the code columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from counterbalance.engine.backends.duckdb.pushdown import Filters, by_key_range, indexed_columns
from counterbalance.engine.schema import CODE_SUFFIX, PICTURES, ROW, STAMP_SUFFIX
from counterbalance.engine.search.by_image import passes
from counterbalance.engine.sql.types import as_read
from counterbalance.engine.store import pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb
    import lance
    from numpy.typing import NDArray

    from counterbalance.engine.catalog.file_statistics import Passed
    from counterbalance.engine.sql.plan import StoredTable

    Holding = Callable[[Passed], Sequence[Any] | None]
    Fill = Callable[[pa.RecordBatch], pa.RecordBatch]

BATCH_ROWS: Final = 65_536
_BATCH_NUMBERS: Final = 1 << 22
"""Numbers of the vectors of a batch, at most about: 16 MB of float32."""
BYTES_ROWS: Final = 256
COUNTED: Final = "rows__"
"""A column of zeros that no table stores: all that ``count(*)`` has to read, where ``rewrites/count_star.py`` asks for it."""
_WITH_BYTES: Final = frozenset({"bytes", "rows"})
_ZEROS: Final = 1 << 20
_FEW: Final = 50
"""An index is used when it finds less than a fiftieth of the rows."""


def visible_schema(
    dataset: lance.LanceDataset, hidden: frozenset[str] = frozenset(), *, pictures: bool = False
) -> pa.Schema:
    """Return the columns that a star stands for: no codes, no stamps, nothing hidden, bytes when asked for; half floats as float32."""
    names = set(dataset.schema.names)
    fields = [
        pa.field(f.name, pa.binary() if _is_bytes(f) else as_read(f.type))
        for f in dataset.schema
        if _is_visible(f, names) and f.name not in hidden and (pictures or not _is_bytes(f))
    ]
    return pa.schema(fields)


def bytes_of(dataset: lance.LanceDataset) -> list[str]:
    """Return the columns that hold bytes: a query that names them gets them, a plain ``SELECT *`` does not."""
    return [f.name for f in dataset.schema if _is_bytes(f)]


def _is_bytes(field: pa.Field) -> bool:
    extension = str(getattr(field.type, "extension_name", ""))
    marked = field.metadata is not None and field.metadata.get(b"lance-encoding:blob") == b"true"
    return extension.startswith("lance.blob") or marked or pa.types.is_binary(field.type)


def _is_visible(field: pa.Field, names: set[str]) -> bool:
    is_stamp = field.name.endswith(STAMP_SUFFIX) and field.name.removesuffix(STAMP_SUFFIX) in names
    return not (field.name.endswith(CODE_SUFFIX) or is_stamp)


def _rows_at_once(columns: pa.Schema) -> int:
    """Return rows of a batch: fewer where they hold long vectors."""
    width = sum(f.type.list_size for f in columns if pa.types.is_fixed_size_list(f.type))
    return max(1024, min(BATCH_ROWS, _BATCH_NUMBERS // width)) if width else BATCH_ROWS


def registers_sources() -> bool:
    """Tell whether this DuckDB hands projections and filters to sources of ours."""
    import duckdb

    return hasattr(duckdb.DuckDBPyConnection, "_register_arrow_source")


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    table: StoredTable,
    holding: Holding = lambda _: None,
    fill: Fill = pictures.require,
) -> None:
    """Make a stored table readable under a name.

    Args:
        connection: DuckDB's.
        name: The relation's name there.
        table: The table, whose dataset nobody writes with or moves.
        holding: Fragments that may hold rows whose codes pass; ``None`` where that is not known.
        fill: Reads pictures that lie elsewhere into rows.
    """
    dataset, hidden = table.dataset, table.hidden
    bytes_ = [pa.field(b, pa.binary()) for b in bytes_of(dataset) if b not in hidden and table.shows in _WITH_BYTES]
    bytes_ += [pa.field(ROW, pa.int64())] if table.shows == "rows" else []
    add = getattr(connection, "_register_arrow_source", None)
    if add is not None:
        source = _source_class()(table, holding, fill)
        more = [pa.field(COUNTED, pa.int8())] if table.shows == "count" else []
        codes = [pa.field(c + CODE_SUFFIX, pa.int16()) for c in source.coded if table.shows == "codes"]
        add(name, source.showing(more, codes + bytes_, BYTES_ROWS if table.shows in _WITH_BYTES else BATCH_ROWS))
    else:
        connection.register(name, LanceView(dataset, pa.schema([*visible_schema(dataset, hidden), *bytes_]), fill))


def _source_class() -> Any:  # noqa: C901 - a class whose base is imported late
    from duckdb._sources.arrow import ArrowScanSource

    class LanceSource(ArrowScanSource):  # type: ignore[misc, unused-ignore]
        """A Lance table at one version, as DuckDB's scan wants it."""

        schema_is_stable = True

        def __init__(self, table: StoredTable, holding: Holding, fill: Fill) -> None:
            dataset, codes = table.dataset, table.codes
            super().__init__(dataset)
            self._holding, self._fill, self._by_index = holding, fill, table.by_index
            schema = visible_schema(dataset, table.hidden)
            stored = set(dataset.schema.names)
            self._condition, self._batch = table.condition, BATCH_ROWS
            self._codes = {
                c: pa.array(list(values), pa.string()) for c, values in codes.items() if c + CODE_SUFFIX in stored
            }
            self._filters = Filters(
                {c: values for c, values in codes.items() if c in self._codes},
                indexed_columns(dataset) if self._by_index else frozenset(),
                PICTURES if pictures.may_lie_elsewhere([*PICTURES], dataset.schema.names) else frozenset(),
            )
            kinds = (pa.dictionary(pa.int16(), pa.string()) if f.name in self._codes else f.type for f in schema)
            self._declared = pa.schema([pa.field(f.name, k) for f, k in zip(schema, kinds, strict=True)])
            self._rows = self._count(table.condition)

        @property
        def coded(self) -> list[str]:
            """Return the columns that are read as codes."""
            return list(self._codes)

        def showing(self, before: Sequence[pa.Field], behind: Sequence[pa.Field], batch: int) -> LanceSource:
            """Return the same with more columns, in batches of that many rows."""
            self._declared, self._batch = pa.schema([*before, *self._declared, *behind]), batch
            return self

        def rows(self) -> int:
            """Return the true number of rows, for the optimiser."""
            return self._rows

        def __arrow_c_schema__(self) -> Any:
            return self._declared.__arrow_c_schema__()

        def accepts(self, predicate: Any) -> bool:
            """Tell whether Lance can apply the predicate exactly as DuckDB would."""
            return self._filters.render(predicate) is not None

        def stream(self, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[Any, bool]:
            """Return the wanted columns of the rows that pass."""
            chosen = self._declared if columns is None else pa.schema([self._declared.field(i) for i in columns])
            if chosen.names == [COUNTED]:
                return _zeros(self._counted(filters), chosen).__arrow_c_stream__(), columns is not None
            fragments = self._fragments(filters)
            if fragments is not None and not fragments:  # Lance takes none for all
                return pa.RecordBatchReader.from_batches(chosen, []).__arrow_c_stream__(), columns is not None
            stored = [n + CODE_SUFFIX if n in self._codes else n for n in chosen.names]
            told = pictures.columns(chosen.names, self.obj.schema.names)
            reader = self.obj.scanner(
                columns=list(dict.fromkeys([*stored, *told])),
                filter=self._both(self._quickest(filters)),
                batch_size=min(self._batch, _rows_at_once(chosen)),
                blob_handling="all_binary",
                fragments=fragments,
                use_scalar_index=self._by_index and not by_key_range(self.obj, filters),
            ).to_reader()
            if pictures.may_lie_elsewhere(chosen.names, self.obj.schema.names):
                reader = _with_pictures(reader, self._fill)
            if reader.schema.types != chosen.types:
                batches = (self._converted(batch, stored, chosen) for batch in reader)
                reader = pa.RecordBatchReader.from_batches(chosen, batches)
            return reader.__arrow_c_stream__(), columns is not None

        def _fragments(self, filters: Sequence[Any]) -> list[Any] | None:
            """Return those that may hold rows that pass; ``None`` for all."""
            passed: dict[str, NDArray[np.bool_]] = {}
            for column, own in self._filters.on_codes(filters):
                passed[column] = passed[column] & own if column in passed else own
            found = self._holding(passed) if passed else None
            return None if found is None else list(found)

        def _counted(self, filters: Sequence[Any]) -> int:
            """Return how many rows pass; codes are compared here, which costs half of what Lance's own filter does."""
            looked_up = self._filters.on_codes(filters)
            if not looked_up or len(looked_up) < len(filters) or self._condition is not None:
                return self._count(self._both(self._filters.text(filters, by_index=True)))
            names = list(dict.fromkeys(column + CODE_SUFFIX for column, _ in looked_up))
            batches = self.obj.scanner(columns=names, batch_size=BATCH_ROWS).to_reader()
            return sum(_passing([(b.column(c + CODE_SUFFIX), passed) for c, passed in looked_up]) for b in batches)

        def _count(self, text: str | None) -> int:
            if text is None:
                return int(self.obj.count_rows())
            return int(self.obj.scanner(filter=text, use_scalar_index=self._by_index).count_rows())

        def _quickest(self, filters: Sequence[Any]) -> str | None:
            """Choose an index on strings when that finds few rows, else codes."""
            scanned, looked_up = self._filters.text(filters), self._filters.text(filters, by_index=True)
            if looked_up == scanned:
                return scanned
            return looked_up if self._count(looked_up) * _FEW < self._rows else scanned

        def _both(self, text: str | None) -> str | None:
            parts = [f"({part})" for part in (self._condition, text) if part is not None]
            return " AND ".join(parts) or None

        def _converted(self, batch: pa.RecordBatch, stored: Sequence[str], chosen: pa.Schema) -> pa.RecordBatch:
            arrays = []
            for field, name in zip(chosen, stored, strict=True):
                array, dictionary = batch.column(name), self._codes.get(field.name)
                if dictionary is not None:
                    arrays.append(pa.DictionaryArray.from_arrays(array, dictionary))
                else:
                    arrays.append(array if array.type == field.type else array.cast(field.type))
            return pa.record_batch(arrays, schema=chosen)

    return LanceSource


def _with_pictures(reader: pa.RecordBatchReader, fill: Fill) -> pa.RecordBatchReader:
    """Return the same rows, of the same types, with pictures that lie elsewhere (``store/pictures.py``)."""
    return pa.RecordBatchReader.from_batches(reader.schema, map(fill, reader))


def _passing(codes: Sequence[tuple[pa.Array, NDArray[np.bool_]]]) -> int:
    """Return how many rows pass every look-up (of NULL first, then of each code)."""
    keep: NDArray[np.bool_] | None = None
    for column, passed in codes:
        own = passes(column, passed)
        keep = own if keep is None else keep & own
    return 0 if keep is None else int(np.count_nonzero(keep))


def _zeros(rows: int, schema: pa.Schema) -> pa.RecordBatchReader:
    """Return so many rows of one column of zeros."""
    whole = pa.array(np.zeros(min(rows, _ZEROS), np.int8))
    sizes = (min(_ZEROS, rows - start) for start in range(0, rows, _ZEROS))
    return pa.RecordBatchReader.from_batches(
        schema, (pa.record_batch([whole.slice(0, size)], schema=schema) for size in sizes)
    )


class LanceView(pads.Dataset):  # type: ignore[misc, unused-ignore]
    """A Lance table through public API alone: what Lance refuses to filter, Arrow filters."""

    def __init__(self, dataset: lance.LanceDataset, schema: pa.Schema, fill: Fill = pictures.require) -> None:
        self._lance, self._schema, self._fill = dataset, schema, fill

    @property
    def schema(self) -> pa.Schema:
        """Return the visible columns."""
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> pads.Scanner:  # noqa: A002 - pyarrow's name
        """Return what DuckDB asks for, when it scans."""
        return _ViewScanner(self._lance, self._schema, list(columns or self._schema.names), filter, self._fill)


class _ViewScanner(pads.Scanner):  # type: ignore[misc, unused-ignore]
    def __init__(
        self, dataset: lance.LanceDataset, schema: pa.Schema, columns: list[str], predicate: Any, fill: Fill
    ) -> None:
        self._lance, self._schema, self._columns = dataset, schema, columns
        self._predicate, self._fill = predicate, fill

    @property
    def projected_schema(self) -> pa.Schema:
        return pa.schema([self._schema.field(c) for c in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        def cast(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
            for batch in reader:
                yield batch.select(schema.names).cast(schema)

        told = pictures.columns(self._schema.names, self._lance.schema.names)
        stored = self._lance.scanner(columns=[*self._schema.names, *told], blob_handling="all_binary").to_reader()
        if pictures.may_lie_elsewhere(self._schema.names, self._lance.schema.names):
            stored = _with_pictures(stored, self._fill)
        whole = pa.RecordBatchReader.from_batches(self._schema, cast(stored, self._schema))
        return pads.Scanner.from_batches(whole, columns=self._columns, filter=self._predicate).to_reader()

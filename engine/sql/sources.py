"""How DuckDB reads a Lance table: projection, filters and row counts pushed down, nothing refused to the user.

``LanceSource`` speaks DuckDB's own source protocol (private in DuckDB 2, so it is detected and tested): filters reach
Lance as SQL text, which takes every type that its Substrait road refuses; join order sees true row counts; and coded
columns (``write/codes.py``) arrive as dictionary vectors. ``LanceView`` does the same with public API alone, without codes
and row counts, where that protocol is missing. Both hide the bytes of pictures and the code columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads

from counterbalance.engine.schema import CODE_SUFFIX, STAMP_SUFFIX
from counterbalance.engine.sql.filters import Filters, indexed_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    import lance
    from numpy.typing import NDArray

BATCH_ROWS: Final = 65_536
BYTES_ROWS: Final = 256
_COMPARED: Final = 8


def visible_schema(dataset: lance.LanceDataset, hidden: frozenset[str] = frozenset()) -> pa.Schema:
    """The columns that SQL sees: no bytes, no codes, no stamps, nothing hidden; half floats as float32."""
    names = set(dataset.schema.names)
    fields = [
        pa.field(f.name, _widened(f.type)) for f in dataset.schema if _is_visible(f, names) and f.name not in hidden
    ]
    return pa.schema(fields)


def bytes_of(dataset: lance.LanceDataset) -> list[str]:
    """Columns that hold bytes: functions get them, a plain ``SELECT *`` does not."""
    return [f.name for f in dataset.schema if _is_bytes(f)]


def _is_bytes(field: pa.Field) -> bool:
    extension = str(getattr(field.type, "extension_name", ""))
    marked = field.metadata is not None and field.metadata.get(b"lance-encoding:blob") == b"true"
    return extension.startswith("lance.blob") or marked or pa.types.is_binary(field.type)


def _is_visible(field: pa.Field, names: set[str]) -> bool:
    is_stamp = field.name.endswith(STAMP_SUFFIX) and field.name.removesuffix(STAMP_SUFFIX) in names
    return not (field.name.endswith(CODE_SUFFIX) or is_stamp or _is_bytes(field))


def _widened(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_fixed_size_list(kind) and pa.types.is_float16(kind.value_type):
        return pa.list_(pa.float32(), kind.list_size)
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind


def register(
    connection: duckdb.DuckDBPyConnection,
    name: str,
    dataset: lance.LanceDataset,
    *,
    codes: Mapping[str, Sequence[str | None]] | None = None,
    hidden: frozenset[str] = frozenset(),
    show_codes: bool = False,
    with_bytes: bool = False,
) -> None:
    """Make a pinned table readable under ``name``.

    Args:
        connection: The session's connection.
        name: The relation's name there.
        dataset: A private handle that nobody writes with or moves.
        codes: Dictionary of each coded column; leave it out when codes cannot be trusted.
        hidden: Columns that must not be seen.
        show_codes: Show the code columns too, for ``grouping.py``.
        with_bytes: Show the bytes too, for ``pictures.py``.
    """
    add = getattr(connection, "_register_arrow_source", None)
    if add is not None:
        add(name, _source_class()(dataset, codes or {}, hidden, show_codes=show_codes, with_bytes=with_bytes))
    else:
        shown = visible_schema(dataset, hidden)
        more = [pa.field(b, pa.binary()) for b in bytes_of(dataset) if with_bytes and b not in hidden]
        connection.register(name, LanceView(dataset, pa.schema([*shown, *more])))


def _source_class() -> Any:
    from duckdb._sources.arrow import ArrowScanSource

    class LanceSource(ArrowScanSource):  # type: ignore[misc, unused-ignore]
        """A Lance table at one version, as DuckDB's scan wants it."""

        schema_is_stable = True

        def __init__(
            self,
            dataset: lance.LanceDataset,
            codes: Mapping[str, Sequence[str | None]],
            hidden: frozenset[str],
            *,
            show_codes: bool,
            with_bytes: bool,
        ) -> None:
            super().__init__(dataset)
            schema = visible_schema(dataset, hidden)
            stored = set(dataset.schema.names)
            self._codes = {
                c: pa.array(list(values), pa.string()) for c, values in codes.items() if c + CODE_SUFFIX in stored
            }
            self._filters = Filters(
                {c: values for c, values in codes.items() if c in self._codes}, indexed_columns(dataset)
            )
            kinds = (pa.dictionary(pa.int16(), pa.string()) if f.name in self._codes else f.type for f in schema)
            fields = [pa.field(f.name, k) for f, k in zip(schema, kinds, strict=True)]
            if show_codes:
                fields += [pa.field(c + CODE_SUFFIX, pa.int16()) for c in self._codes]
            if with_bytes:
                fields += [pa.field(b, pa.binary()) for b in bytes_of(dataset) if b not in hidden]
            self._declared = pa.schema(fields)
            self._rows = int(dataset.count_rows())
            self._batch = BYTES_ROWS if with_bytes else BATCH_ROWS

        def rows(self) -> int:
            """True number of rows, for the optimiser."""
            return self._rows

        def __arrow_c_schema__(self) -> Any:
            return self._declared.__arrow_c_schema__()

        def accepts(self, predicate: Any) -> bool:
            """Whether Lance can apply the predicate exactly as DuckDB would."""
            return self._filters.render(predicate) is not None

        def stream(self, columns: Sequence[int] | None, filters: Sequence[Any]) -> tuple[Any, bool]:
            """The wanted columns of the rows that pass."""
            chosen = self._declared if columns is None else pa.schema([self._declared.field(i) for i in columns])
            stored = [n + CODE_SUFFIX if n in self._codes else n for n in chosen.names]
            narrow = all(pa.types.is_primitive(f.type) or f.name in self._codes for f in chosen)
            looked_up = [self._filters.on_codes(f) if narrow else None for f in filters]
            texts = [self._filters.render(f) for f, found in zip(filters, looked_up, strict=True) if found is None]
            masks = [(column + CODE_SUFFIX, passed) for column, passed in filter(None, looked_up)]
            reader = self.obj.scanner(
                columns=list(dict.fromkeys([*stored, *(column for column, _ in masks)])),
                filter=" AND ".join(t for t in texts if t is not None) or None,
                batch_size=self._batch,
                blob_handling="all_binary",
            ).to_reader()
            if masks or reader.schema.types != chosen.types:
                batches = (self._converted(batch, stored, chosen) for batch in _passing(reader, masks))
                reader = pa.RecordBatchReader.from_batches(chosen, batches)
            return reader.__arrow_c_stream__(), columns is not None

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


def _passing(reader: pa.RecordBatchReader, masks: Sequence[tuple[str, NDArray[np.bool_]]]) -> Iterator[pa.RecordBatch]:
    """The rows whose codes pass every look-up."""
    for batch in reader:
        keep: NDArray[np.bool_] | None = None
        for column, passed in masks:
            own = _looked_up(batch.column(column), passed)
            keep = own if keep is None else keep & own
        if keep is None or keep.all():
            yield batch
        elif keep.any():
            yield batch.filter(pa.array(keep))


def _looked_up(codes: pa.Array, passed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether the code of each row passes; comparing with few codes is several times quicker than a look-up."""
    whole = (codes.fill_null(-1) if codes.null_count else codes).to_numpy()
    few = bool(passed.sum() * 2 <= len(passed))
    listed = np.flatnonzero(passed == few) - 1
    if len(listed) > _COMPARED:
        return np.asarray(passed[whole + 1], np.bool_)
    found = np.zeros(len(whole), np.bool_)
    for code in listed.astype(np.int16):
        found |= whole == code
    return found if few else ~found


class LanceView(pads.Dataset):  # type: ignore[misc, unused-ignore]
    """A Lance table through public API alone: what Lance refuses to filter, Arrow filters."""

    def __init__(self, dataset: lance.LanceDataset, schema: pa.Schema) -> None:
        self._lance, self._schema = dataset, schema

    @property
    def schema(self) -> pa.Schema:
        """The visible columns."""
        return self._schema

    def scanner(self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any) -> pads.Scanner:  # noqa: A002 - pyarrow's name
        """What DuckDB asks for, when it scans."""
        return _ViewScanner(self._lance, self._schema, list(columns or self._schema.names), filter)


class _ViewScanner(pads.Scanner):  # type: ignore[misc, unused-ignore]
    def __init__(self, dataset: lance.LanceDataset, schema: pa.Schema, columns: list[str], predicate: Any) -> None:
        self._lance, self._schema, self._columns, self._predicate = dataset, schema, columns, predicate

    @property
    def projected_schema(self) -> pa.Schema:
        return pa.schema([self._schema.field(c) for c in self._columns])

    def to_reader(self) -> pa.RecordBatchReader:
        def cast(reader: pa.RecordBatchReader, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
            for batch in reader:
                yield batch.cast(schema)

        stored = self._lance.scanner(columns=self._schema.names, blob_handling="all_binary").to_reader()
        whole = pa.RecordBatchReader.from_batches(self._schema, cast(stored, self._schema))
        return pads.Scanner.from_batches(whole, columns=self._columns, filter=self._predicate).to_reader()

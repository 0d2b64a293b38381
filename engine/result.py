"""The answer to a query: lazy until it is read, in any of the forms that people use."""

from __future__ import annotations

import html
import importlib.util
import threading
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import LimitError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd
    import polars as pl

_SHOWN_ROWS: Final = 10
_ROW_BYTES: Final = 64
_CELL_BYTES: Final = 48
"""What Python takes for a row and for a value beside the value's own bytes, about."""


class Result:
    """Rows of a query. Reading runs the query; the rows of ``to_arrow`` are kept, those of ``to_batches`` are not.

    Args:
        start: Runs the query and returns its schema and batches.
        schema: The columns, without running it.
        sql: The expanded SQL.
        max_rows: Stop after that many rows, and say so in ``notes``.
        done: Called with the number of rows when a read ends.
        most_bytes: Memory that rows which are kept may take.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"a": [1, 2, 3]})
        >>> r = Result(lambda: iter(table.to_batches()), lambda: table.schema, "SELECT 1", max_rows=2)
        >>> r.fetchall(), r.notes
        ([(1,), (2,)], ['stopped after 2 rows'])
    """

    def __init__(
        self,
        start: Callable[[], Iterator[pa.RecordBatch]],
        schema: Callable[[], pa.Schema],
        sql: str,
        *,
        max_rows: int | None = None,
        notes: list[str] | None = None,
        done: Callable[[int], None] | None = None,
        most_bytes: int | None = None,
    ) -> None:
        self._start, self._describe, self.sql = start, schema, sql
        self._max_rows, self._done, self._most_bytes = max_rows, done, most_bytes
        self._schema: pa.Schema | None = None
        self._table: pa.Table | None = None
        self._lock = threading.Lock()
        self.notes: list[str] = notes if notes is not None else []
        self.session: object = None  # whose it is, which stays open while the result may be read

    @property
    def schema(self) -> pa.Schema:
        """Arrow schema of the rows; found without running the query."""
        if self._schema is None:
            self._schema = self._describe()
        return self._schema

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(self.schema.names)

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a stream; each call runs the query again unless ``to_arrow`` kept them."""
        if self._table is not None:
            return self._table.to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        rows = 0
        for batch in self._start():
            if self._max_rows is not None and rows + batch.num_rows > self._max_rows:
                yield self._cast(batch.slice(0, self._max_rows - rows))
                rows = self._max_rows
                if (note := f"stopped after {self._max_rows} rows") not in self.notes:
                    self.notes.append(note)
                break
            rows += batch.num_rows
            yield self._cast(batch)
        if self._done is not None:
            self._done(rows)

    def _cast(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if batch.schema.equals(self.schema):
            return batch
        arrays = [a if a.type == f.type else a.cast(f.type) for a, f in zip(batch.columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table, kept for later reads."""
        with self._lock:
            if self._table is None:
                rows = list(self._kept())  # before the columns, which are known then without another look
                self._table = pa.Table.from_batches(rows, self.schema)
            return self._table

    def _kept(self) -> Iterator[pa.RecordBatch]:
        size = 0
        for batch in self._batches():
            size += batch.nbytes
            self._check_fits(size)
            yield batch

    def _check_fits(self, size: int) -> None:
        if self._most_bytes is not None and size > self._most_bytes:
            raise LimitError(
                f"the rows of the result need more than {self._most_bytes / 1e6:,.0f} MB",
                code="E5002",
                hint="read them with to_batches(), which keeps none, ask for fewer, or raise memory",
            )

    def df(self) -> pd.DataFrame:
        """The rows as a pandas data frame (needs pandas)."""
        _need("pandas", "df")
        return self.to_arrow().to_pandas()

    def pl(self) -> pl.DataFrame:
        """The rows as a polars data frame (needs polars)."""
        _need("polars", "pl")
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    to_pandas = df
    to_polars = pl

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The rows as Python tuples."""
        table = self.to_arrow()
        self._check_fits(table.nbytes + table.num_rows * (_ROW_BYTES + _CELL_BYTES * table.num_columns))
        columns = [c.to_pylist() for c in table.columns]
        return list(zip(*columns, strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The rows as Python tuples, one after the other, without keeping them."""
        for batch in self.to_batches():
            yield from zip(*(c.to_pylist() for c in batch.columns), strict=True)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{f.name} {f.type}" for f in self.schema)
        rows = "not read yet" if self._table is None else f"{self._table.num_rows} rows"
        return f"<Result ({kinds}), {rows}>"

    def _repr_html_(self) -> str:
        rows = self._table
        if rows is None:
            how = ".df(), .pl(), .to_arrow() or .fetchall() read it"
            return f"<p>{html.escape(repr(self))}: {how}</p><pre>{html.escape(self.sql)}</pre>"
        head = "".join(f"<th>{html.escape(c)}</th>" for c in rows.column_names)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(v))}</td>" for v in row.values()) + "</tr>"
            for row in rows.slice(0, _SHOWN_ROWS).to_pylist()
        )
        said = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        more = f"<p>{rows.num_rows} rows, {_SHOWN_ROWS} shown</p>" if rows.num_rows > _SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}{said}"


def _need(package: str, form: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise RequestError(
            f"{form}() needs {package}, which is not installed",
            code="E3044",
            hint=f"pip install {package}, or read the rows with to_arrow() or fetchall()",
        )


def _shown(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= 200 else text[:199] + "…"

"""The answer to a query: lazy until it is read, in any of the forms that people use."""

from __future__ import annotations

import base64
import contextlib
import html
import importlib.util
import threading
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.errors import LimitError, RequestError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    import pandas as pd
    import polars as pl
    from PIL.Image import Image

_SHOWN_ROWS: Final = 20
_SIDE: Final = 128
"""Pixels of the longer side of a picture that is shown."""
_ROW_BYTES: Final = 64
_CELL_BYTES: Final = 48
"""What Python takes for a row and for a value beside the value's own bytes, about."""
_NUMBER: Final = "text-align: right; white-space: nowrap"
_TEXT: Final = "text-align: left; white-space: nowrap; max-width: 30em; overflow: hidden; text-overflow: ellipsis"
"""Of columns of a table in a notebook, whose own style has all at the right and breaks lines."""


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
        self._first: pa.Table | None = None
        self._failed = False
        self._lock = threading.Lock()
        self.notes: list[str] = notes if notes is not None else []
        self.session: object = None  # whose it is, which stays open while the result may be read

    @property
    def schema(self) -> pa.Schema:
        """Return the Arrow schema of the rows; found without running the query."""
        if self._schema is None:
            self._schema = self._describe()
        return self._schema

    @property
    def columns(self) -> list[str]:
        """Return names of the columns."""
        return list(self.schema.names)

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the rows as a stream; each call runs the query again unless ``to_arrow`` kept them."""
        if self._table is not None:
            return self._table.to_reader()
        return pa.RecordBatchReader.from_batches(self.schema, self._batches())

    def _batches(self) -> Generator[pa.RecordBatch]:
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
        """Return the rows as an Arrow table, kept for later reads."""
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
        """Return the rows as a pandas data frame (needs pandas)."""
        _need("pandas", "df")
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def pl(self) -> pl.DataFrame:
        """Return the rows as a polars data frame (needs polars)."""
        _need("polars", "pl")
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()

    to_pandas = df
    to_polars = pl

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return the rows as Python tuples."""
        table = self.to_arrow()
        self._check_fits(table.nbytes + table.num_rows * (_ROW_BYTES + _CELL_BYTES * table.num_columns))
        columns = [c.to_pylist() for c in table.columns]
        return list(zip(*columns, strict=True))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows as Python tuples, one after the other, without keeping them."""
        for batch in self.to_batches():
            yield from zip(*(c.to_pylist() for c in batch.columns), strict=True)

    def images(self, column: str | None = None) -> Iterator[Image | None]:
        """Yield the pictures of a column, decoded one after the other, as stored and in RGB; ``None`` where there is none.

        Args:
            column: Its name; not needed where only one column holds bytes.

        Raises:
            RequestError: It is not clear which column is meant (E3054), or a picture cannot be decoded (E3055).
        """
        from counterbalance.engine import images

        held = [f.name for f in self.schema if pa.types.is_binary(f.type)]
        named = [column] if column is not None else held
        if len(named) != 1 or named[0] not in held:
            raise _no_pictures(column, held)
        at = self.columns.index(named[0])
        for number, row in enumerate(self, 1):
            try:
                yield None if row[at] is None else images.decode(row[at])
            except images.ImageError as error:
                hint = "leave the row out, or read its bytes with fetchall()"
                raise RequestError(f"{named[0]} of row {number}: {error}", code="E3055", hint=hint) from error

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_batches().__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self.to_arrow().num_rows)

    def _head(self) -> pa.Table:
        """Return the first rows, one more than are shown; of what is not read yet they are computed, and no more are kept."""
        wanted = _SHOWN_ROWS + 1
        if self._table is not None:
            return self._table.slice(0, wanted)
        if self._first is None:
            found, rows = [], 0
            self._failed = True
            with contextlib.closing(self._batches()) as batches:
                for batch in batches:
                    found.append(batch.slice(0, wanted - rows))
                    rows += len(found[-1])
                    if rows == wanted:
                        break
            self._failed = False
            self._first = pa.Table.from_batches(found, self.schema)
        return self._first

    def _said(self) -> list[str]:
        """Say how many rows there are, as far as that is known, and the notes."""
        shown = min(len(self._head()), _SHOWN_ROWS)
        if self._table is not None:
            count = f"{len(self._table):,} row{'s' * (len(self._table) != 1)}"
            told = count if len(self._table) <= _SHOWN_ROWS else f"{count}, {shown} shown"
        elif len(self._head()) > _SHOWN_ROWS:
            told = f"the first {shown} rows; .df(), .pl(), .to_arrow() or .fetchall() read all"
        else:
            told = f"{shown} row{'s' * (shown != 1)}"
        return [told, *dict.fromkeys(self.notes)]

    def __repr__(self) -> str:
        import duckdb

        head = _without_bytes(self._head().slice(0, _SHOWN_ROWS))
        if not head.num_columns:
            return "\n".join(self._said())
        with duckdb.connect() as connection:
            return "\n".join([str(connection.from_arrow(head)).rstrip("\n"), *self._said()])

    def _repr_html_(self) -> str | None:
        if self._failed:  # a notebook asks for text first, and would show the error twice
            return None
        rows = self._head()
        columns = []
        for name, column in zip(rows.column_names, rows.slice(0, _SHOWN_ROWS).columns, strict=True):
            is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
            style = _NUMBER if is_number else _TEXT
            values = (f'<td style="{style}">{_in_html(value)}</td>' for value in column.to_pylist())
            columns.append([f'<th style="{style}">{html.escape(name)}</th>', *values])
        made = ["<tr>" + "".join(row) + "</tr>" for row in zip(*columns, strict=True)]
        said = "".join(f"<p>{html.escape(text)}</p>" for text in self._said())
        return f"<table><thead>{''.join(made[:1])}</thead><tbody>{''.join(made[1:])}</tbody></table>{said}"


def _need(package: str, form: str) -> None:
    if importlib.util.find_spec(package) is None:
        raise RequestError(
            f"{form}() needs {package}, which is not installed",
            code="E3044",
            hint=f"pip install {package}, or read the rows with to_arrow() or fetchall()",
        )


def _no_pictures(column: str | None, held: list[str]) -> RequestError:
    told = "no column of bytes" if not held else f"bytes in {', '.join(held)}"
    asked = "images()" if column is None else f"images({column!r})"
    hint = (
        "SELECT image FROM images LIMIT 5 has pictures"
        if not held
        else f"images({held[0]!r}) reads the pictures of one"
    )
    return RequestError(f"{asked}: the result has {told}", code="E3054", hint=hint)


def _without_bytes(rows: pa.Table) -> pa.Table:
    """Return rows with a word on each value of bytes in its place."""
    from counterbalance.engine import images

    for at, field in enumerate(rows.schema):
        if pa.types.is_binary(field.type):
            told = [None if v is None else images.described(v) for v in rows.column(at).to_pylist()]
            rows = rows.set_column(at, field.name, pa.array(told, pa.string()))
    return rows


def _shown(value: Any) -> str:
    text = "NULL" if value is None else str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _in_html(value: Any) -> str:
    """Return a value as what a cell holds: a picture small, a number to six digits, anything else as escaped text."""
    picture = picture_in_html(value) if isinstance(value, bytes) else None
    return picture or html.escape(f"{value:.6g}" if isinstance(value, float) else _shown(value))


def picture_in_html(data: bytes) -> str | None:
    """Return a picture, small, as an element of a page that needs no other file; ``None`` for bytes that are none."""
    from counterbalance.engine import images

    with contextlib.suppress(images.ImageError):
        if images.sniff(data) is not None:
            picture = images.decode(data, side=_SIDE)
            picture.thumbnail((_SIDE, _SIDE))
            coded = base64.b64encode(images.encode(picture, "JPEG")).decode()
            return f'<img src="data:image/jpeg;base64,{coded}" alt="">'
    return None

"""Workbooks of Excel (xlsx), a row at a time: rows wait in temporary files, and no text is taken for a formula or a link."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from counterbalance.engine import temp_dirs
from counterbalance.engine.errors import RequestError
from counterbalance.shell.arrow_values import is_binary, to_json, to_python
from counterbalance.shell.jsonlines import left_out
from counterbalance.shell.output import Written
from counterbalance.shell.text import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from counterbalance.shell.output import Sink

SHEET_ROWS: Final = 1_048_576
"""What Excel takes in a sheet, the header included."""
SHEET_COLUMNS: Final = 16_384
_EXACT: Final = 10**15
"""Excel keeps 15 digits of a number; whole numbers from here on are written as text."""
_CUT: Final = -2
"""What XlsxWriter says of a text that is longer than the 32,767 characters of a cell."""
_NOT_IN_XML: Final = re.compile("[\ufffe\uffff]")
_CREATED: Final = dt.datetime(1980, 1, 1, tzinfo=dt.UTC)
"""The same rows make the same file; this is the moment of the entries of its archive, too."""


def write(reader: pa.RecordBatchReader, sink: Sink) -> Written:
    """Write a header and the rows; bytes are left out with a note. Where a sheet is full, rows go on in the next.

    Raises:
        RequestError: XlsxWriter is not installed (E3056), or a sheet has no room for so many columns (E3057).
    """
    try:
        from xlsxwriter import Workbook
        from xlsxwriter.exceptions import FileCreateError
    except ImportError as error:
        hint = "pip install 'counterbalance[xlsx]', or write .csv, which Excel opens, too"
        raise RequestError("xlsx needs XlsxWriter, which is not installed", code="E3056", hint=hint) from error
    names = [f.name for f in reader.schema if not is_binary(f.type)]
    if len(names) > SHEET_COLUMNS:
        told = f"a sheet of Excel has {SHEET_COLUMNS:,} columns, and the result {len(names):,}"
        raise RequestError(told, code="E3057", hint="select fewer, or write .csv or .parquet")
    folder = temp_dirs.folder()
    book = Workbook(sink.stream, {"constant_memory": True, "tmpdir": folder, "use_zip64": True})
    try:
        book.set_properties({"created": _CREATED})
        pages = _Sheets(book, names)
        for batch in reader:
            columns = [to_python(c) for c in batch.columns if not is_binary(c.type)]
            for row in zip(*columns, strict=True):
                pages.add(row)
        book.close()
    except FileCreateError as error:
        raise error.args[0] from None
    finally:
        for sheet in book.worksheets():
            sheet.row_data_fh.close()
        temp_dirs.remove(folder)
    sink.stream.flush()
    return Written(pages.rows, notes=[*left_out(reader.schema, "xlsx"), *pages.notes()])


class _Sheets:
    """The sheets of a workbook, of which the last is being filled.

    Args:
        book: The workbook of XlsxWriter.
        names: Of the columns.
    """

    def __init__(self, book: Any, names: Sequence[str]) -> None:
        self.rows = self.sheets = 0
        self._book, self._names, self._bold = book, names, book.add_format({"bold": True})
        self._cut: dict[str, int] = {}
        self._begin()

    def _begin(self) -> None:
        self._sheet, self._at = self._book.add_worksheet(), 1
        self._sheet.freeze_panes(1, 0)
        self.sheets += 1
        for column, name in enumerate(self._names):
            self._sheet.write_string(0, column, _text(name), self._bold)

    def add(self, row: Sequence[Any]) -> None:
        """Write a row below the last."""
        if self._at == SHEET_ROWS:
            self._begin()
        for column, value in enumerate(row):
            if value is not None and self._write(column, value) == _CUT:
                name = self._names[column]
                self._cut[name] = self._cut.get(name, 0) + 1
        self._at += 1
        self.rows += 1

    def _write(self, column: int, value: Any) -> int:
        """Write a value; what Excel has no exact number for is text."""
        if isinstance(value, bool):
            done = self._sheet.write_boolean(self._at, column, value)
        elif _is_number(value):
            done = self._sheet.write_number(self._at, column, value)
        else:
            done = self._sheet.write_string(self._at, column, _text(value))
        return int(done)

    def notes(self) -> list[str]:
        """Say what a reader would not see by himself."""
        full = f"a sheet of Excel has room for {SHEET_ROWS - 1:,} rows; {self.rows:,} rows are on {self.sheets} sheets"
        cut = [
            f"{count:,} texts of {name!r} are longer than a cell of Excel, and were cut; .csv and .parquet keep them"
            for name, count in self._cut.items()
        ]
        return [full, *cut] if self.sheets > 1 else cut


def _is_number(value: Any) -> bool:
    """Return whether Excel has this very number."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Decimal):
        return value.is_finite() and len(value.as_tuple().digits) <= 15
    return isinstance(value, int) and abs(value) < _EXACT


def _text(value: Any) -> str:
    text = to_json(value).decode() if isinstance(value, list | dict | tuple) else str(value)
    return _NOT_IN_XML.sub("\ufffd", escape_controls(text))

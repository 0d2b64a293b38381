"""A workbook holds numbers as numbers and every text as text; what Excel cannot hold is told."""

from __future__ import annotations

import datetime as dt
import io
import re
import sys
import zipfile
from decimal import Decimal
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

from counterbalance.__main__ import main
from counterbalance.engine.errors import RequestError
from counterbalance.shell import workbook
from counterbalance.shell.output import OutputOptions, Sink

pytest.importorskip("xlsxwriter", reason="XlsxWriter is not installed: pip install counterbalance[xlsx]")
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def written(table, chunk=2):
    stream = io.BytesIO()
    told = workbook.write(table.to_reader(max_chunksize=chunk), Sink(stream, OutputOptions("xlsx")))
    return told, stream.getvalue()


def sheets(data):
    """Cells by their place, a mapping a sheet: type and value, as the file says them."""
    found = []
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        for name in sorted(n for n in file.namelist() if "/sheet" in n):
            tree = ET.fromstring(file.read(name))
            cells = {}
            for cell in tree.iter(f"{MAIN}c"):
                assert cell.find(f"{MAIN}f") is None
                inline = cell.find(f"{MAIN}is/{MAIN}t")
                value = cell.findtext(f"{MAIN}v") if inline is None else inline.text or ""
                cells[cell.get("r")] = (cell.get("t", "n"), value)
            assert tree.find(f"{MAIN}hyperlinks") is None
            found.append(cells)
    return found


def test_values():
    table = pa.table(
        {
            "whole": [1, None, 10**15],
            "real": [0.25, float("nan"), float("-inf")],
            "exact": pa.array([Decimal("1.50"), None, Decimal("1234567890123456.78")], pa.decimal128(18, 2)),
            "truth": [True, False, None],
            "text": ["a < b & c", "", None],
            "time": pa.array([dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC")),
            "list": [[1, None], [], None],
        }
    )
    told, data = written(table)
    (cells,) = sheets(data)
    assert told.rows == 3
    assert told.notes == []
    assert [cells[f"{c}1"][1] for c in "ABCDEFG"] == table.column_names
    assert {place: cell for place, cell in cells.items() if not place.endswith("1")} == {
        "A2": ("n", "1"),
        "A4": ("inlineStr", "1000000000000000"),
        "B2": ("n", "0.25"),
        "B3": ("inlineStr", "nan"),
        "B4": ("inlineStr", "-inf"),
        "C2": ("n", "1.50"),
        "C4": ("inlineStr", "1234567890123456.78"),
        "D2": ("b", "1"),
        "D3": ("b", "0"),
        "E2": ("inlineStr", "a < b & c"),
        "E3": ("inlineStr", ""),
        "F2": ("inlineStr", "2026-01-02T03:00:00Z"),
        "G2": ("inlineStr", "[1,null]"),
        "G3": ("inlineStr", "[]"),
    }


def test_no_text_becomes_a_formula_a_link_or_a_number():
    texts = [
        "=1+1",
        '=HYPERLINK("http://x.org")',
        "{=SUM(A1:A2)}",
        "http://x.org",
        "mailto:a@x.org",
        "internal:A1",
        "007",
    ]
    told, data = written(pa.table({"=a": texts}))
    assert list(sheets(data)[0].values()) == [("inlineStr", text) for text in ["=a", *texts]]
    assert told.notes == []


def test_hostile_characters_leave_a_file_that_can_be_read():
    _, data = written(pa.table({"t": ["a\x1b[31m\u202eb", "\x00\ufffe\uffff", "_x0041_", "two\nlines"]}))
    assert [text for _, text in sheets(data)[0].values()] == [
        "t",
        "a\\x1b[31m\\u202eb",
        "\\x00\ufffd\ufffd",
        "_x005F_x0041_",  # Excel's own way to write "_x0041_", which would be an "A"
        "two\nlines",
    ]


def test_rows_go_on_in_another_sheet_where_one_is_full(monkeypatch):
    monkeypatch.setattr(workbook, "SHEET_ROWS", 4)
    told, data = written(pa.table({"a": range(7)}))
    assert [[value for _, value in cells.values()] for cells in sheets(data)] == [
        ["a", "0", "1", "2"],
        ["a", "3", "4", "5"],
        ["a", "6"],
    ]
    assert told.rows == 7
    assert told.notes == ["a sheet of Excel has room for 3 rows; 7 rows are on 3 sheets"]


def test_more_columns_than_a_sheet_has(monkeypatch):
    monkeypatch.setattr(workbook, "SHEET_COLUMNS", 1)
    with pytest.raises(RequestError, match="has 1 columns, and the result 2") as caught:
        written(pa.table({"a": [1], "b": [2]}))
    assert caught.value.code == "E3057"


def test_a_text_that_no_cell_holds_is_cut_and_told():
    told, data = written(pa.table({"a": ["x" * 40_000, "y"], "picture": [b"1", b"2"]}))
    assert len(sheets(data)[0]["A2"][1]) == 32_767
    assert told.notes == [
        "column 'picture' holds bytes and is left out of xlsx; parquet and arrow keep it, and export writes pictures as files",
        "1 texts of 'a' are longer than a cell of Excel, and were cut; .csv and .parquet keep them",
    ]


def test_the_same_rows_make_the_same_file(monkeypatch):
    table = pa.table({"a": [1, 2, 3], "t": ["x", "y", "z"]})
    assert written(table)[1] == written(table, chunk=3)[1]
    assert b"1980-01-01" in zipfile.ZipFile(io.BytesIO(written(table)[1])).read("docProps/core.xml")


def test_no_rows_are_a_header():
    assert sheets(written(pa.table({"a": pa.array([], pa.int64())}))[1]) == [{"A1": ("inlineStr", "a")}]


@pytest.mark.parametrize("ends", ["well", "badly"])
def test_no_temporary_files_stay(ends, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def batches():
        yield pa.record_batch({"a": [1]})
        assert re.match("counterbalance-spill-", next(tmp_path.iterdir()).name)
        if ends == "badly":
            raise ValueError("half way")

    reader = pa.RecordBatchReader.from_batches(pa.schema({"a": pa.int64()}), batches())
    stream = io.BytesIO()
    if ends == "badly":
        with pytest.raises(ValueError, match="half way"):
            workbook.write(reader, Sink(stream, OutputOptions("xlsx")))
        assert stream.getvalue() == b""
    else:
        workbook.write(reader, Sink(stream, OutputOptions("xlsx")))
    assert list(tmp_path.iterdir()) == []


def test_a_command_writes_the_same_to_a_file_and_to_a_pipe(lake, tmp_path, capfdbinary):
    asked = ["sql", lake.uri, "SELECT caption_id, text FROM captions WHERE caption_id = 11"]
    path = tmp_path / "out.xlsx"
    assert main([*asked, "-o", str(path)]) == main([*asked, "--format", "xlsx"]) == 0
    expected = {"A1": "caption_id", "B1": "text", "A2": "11", "B2": "a man rides a horse"}
    for data in (path.read_bytes(), capfdbinary.readouterr().out):
        (cells,) = sheets(data)
        assert {place: value for place, (_, value) in cells.items()} == expected


def test_a_missing_library_is_told(lake, tmp_path, monkeypatch, capfd):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    assert main(["sql", lake.uri, "SELECT 1 AS a", "-o", str(tmp_path / "out.xlsx")]) == 1
    told = " ".join(capfd.readouterr().err.split())
    assert "error[E3056]: xlsx needs XlsxWriter, which is not installed" in told
    assert "pip install 'counterbalance[xlsx]'" in told
    assert list(tmp_path.iterdir()) == []

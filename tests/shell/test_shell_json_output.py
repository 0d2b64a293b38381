"""JSON output means the same as the rows."""

from __future__ import annotations

import datetime as dt
import io
import json
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.shell import jsonlines
from counterbalance.shell.output import OutputOptions, Sink

VALUES = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-(2**63), 2**63 - 1),
        "f": st.none() | st.floats(),
        "t": st.none() | st.text(),
        "b": st.none() | st.booleans(),
        "l": st.none() | st.lists(st.none() | st.text(max_size=3), max_size=3),
        "s": st.none() | st.fixed_dictionaries({"x": st.none() | st.floats(), "y": st.none() | st.text(max_size=3)}),
    }
)
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("f", pa.float64()),
        ("t", pa.string()),
        ("b", pa.bool_()),
        ("l", pa.list_(pa.string())),
        ("s", pa.struct([("x", pa.float64()), ("y", pa.string())])),
    ]
)


def written(table, format_="json", *, terminal=False, chunk=3):
    stream = io.BytesIO()
    sink = Sink(stream, OutputOptions(format_), terminal=terminal)
    result = jsonlines.write(table.to_reader(max_chunksize=chunk), sink)
    assert result.rows == table.num_rows
    return stream.getvalue().decode()


def cleaned(value):
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {k: cleaned(v) for k, v in value.items()}
        case list():
            return [cleaned(v) for v in value]
        case _:
            return value


@given(st.lists(VALUES, max_size=8))
def test_round_trip(rows):
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    assert json.loads(written(table)) == [cleaned(r) for r in rows]
    lines = written(table, "jsonl")
    assert [json.loads(line) for line in lines.split("\n")[:-1]] == [cleaned(r) for r in rows]
    assert not rows or lines.endswith("}\n")


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (pa.array([1.0, 0.1, 1e300]), ["1.0", "0.1", "1e+300"]),
        (pa.array([0.1], pa.float32()), ["0.1"]),
        (pa.array([Decimal("1.50")]), ["1.50"]),
        (pa.array([Decimal(2**100)], pa.decimal128(38, 0)), [str(2**100)]),
        (pa.array([dt.date(2026, 1, 2)]), ['"2026-01-02"']),
        (pa.array([1_767_323_045_000_600], pa.timestamp("us")), ['"2026-01-02T03:04:05.000600Z"']),
        (pa.array([0], pa.timestamp("s", tz="America/New_York")), ['"1970-01-01T00:00:00Z"']),
        (pa.array([1], pa.timestamp("ns")), ['"1970-01-01T00:00:00Z"']),
        (pa.array([{"k": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)}]), ['{"k":"2026-01-02T00:00:00Z"}']),
        (pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), ['{"a":1}']),
        (pa.array([(1, 2, 3_000_000_000)], pa.month_day_nano_interval()), ['"P1M2DT3S"']),
        (pa.array([dt.time(1, 2)]), ['"01:02:00"']),
        (pa.array([None], pa.null()), ["null"]),
    ],
)
def test_values(array, text):
    assert [line[5:-1] for line in written(pa.table({"v": array}), "jsonl").splitlines()] == text


def test_no_rows():
    empty = SCHEMA.empty_table()
    assert written(empty) == "[]\n"
    assert written(empty, "jsonl") == ""


def test_names_are_escaped():
    assert json.loads(written(pa.table({'a"\n': [1]}))) == [{'a"\n': 1}]


def test_a_terminal_never_gets_raw_control_characters():
    hostile = "\x1b[2J\x9b\u202e\U000e0041é"
    text = written(pa.table({"t": [hostile]}), terminal=True)
    assert json.loads(text) == [{"t": hostile}]
    assert not {"\x1b", "\x9b", "\u202e", "\U000e0041"} & set(text)
    assert "é" in text


def test_bytes_are_left_out_with_a_note():
    stream = io.BytesIO()
    table = pa.table({"a": [1], "b": [b"x"]})
    result = jsonlines.write(table.to_reader(), Sink(stream, OutputOptions("jsonl")))
    assert stream.getvalue() == b'{"a":1}\n'
    assert len(result.notes) == 1
    assert "'b'" in result.notes[0]


def test_only_bytes():
    assert json.loads(written(pa.table({"b": [b"x", None]}))) == [{}, {}]

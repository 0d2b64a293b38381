"""Tables: all rows, plain, when piped; fitted and announced on a terminal."""

from __future__ import annotations

import datetime as dt
import io
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from counterbalance.shell import table as tables
from counterbalance.shell.output import OutputOptions, Sink
from counterbalance.shell.table import TableColumn, fit


def written(found, *, width=80, terminal=True, **options):
    stream = io.BytesIO()
    sink = Sink(stream, OutputOptions(**options), terminal=terminal, width=width)
    result = tables.write(found.to_reader(max_chunksize=7), sink)
    return re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue().decode()).splitlines(), result


def test_plain_columns():
    rows = pa.table({"name": ["a", None, "日本"], "n": [1, 20, 300], "x": [0.123456789, 1e-9, 1234567.0]})
    lines, result = written(rows, terminal=False)
    assert lines == [
        "name    n          x",
        "----  ---  ---------",
        "a       1   0.123457",
        "NULL   20      1e-09",
        "日本  300  1234567.0",
    ]
    assert (result.rows, result.notes) == (3, [])


def test_plain_shows_all_rows_and_cuts_nothing():
    rows = pa.table({"i": list(range(3000)), "t": ["x" * (i // 10) for i in range(3000)]})
    lines, result = written(rows, terminal=False, width=20)
    assert len(lines) == 3002
    assert lines[-1].split() == ["2999", "x" * 299]
    assert result.rows == 3000


def test_terminal_right_aligns_numbers():
    lines, _ = written(pa.table({"n": [1, 200], "t": ["a", "b"]}))
    assert lines[0] == "  n  t"
    assert lines[2:] == ["  1  a", "200  b"]


def test_terminal_says_that_rows_are_missing():
    lines, result = written(pa.table({"i": list(range(100))}), rows=10)
    assert len(lines) == 12
    assert result.rows == 10
    assert result.notes == [
        "first 10 rows shown; see all with -o FILE (.once FILE in the shell), piped, or with --format jsonl (.mode)"
    ]


def test_terminal_says_nothing_when_all_is_there():
    _, result = written(pa.table({"i": list(range(10))}), rows=10)
    assert result.notes == []


def test_terminal_cuts_the_widest_text_and_says_so():
    lines, result = written(pa.table({"id": [123456789], "t": ["word " * 40], "u": ["short"]}), width=40)
    assert all(cell_len(line) <= 40 for line in lines)
    assert "123456789" in lines[2]
    assert "short" in lines[2]
    assert "…" in lines[2]
    assert result.notes == ["long cells are cut to fit the terminal"]


def test_terminal_drops_columns_and_names_them():
    rows = pa.table({f"column_{i}": [i] for i in range(12)})
    lines, result = written(rows, width=50)
    assert all(cell_len(line) <= 50 for line in lines)
    assert result.notes[0].startswith("7 of 12 columns do not fit: column_5, column_6")


def test_a_constant_column_can_be_said_once():
    rows = pa.table({"n": [1, 2], "params": ['{"k": 5}', '{"k": 5}']})
    lines, result = written(rows, folded=("params",))
    assert lines[0].split() == ["n"]
    assert result.notes == ['params: {"k": 5}']
    lines, result = written(pa.table({"n": [1, 2], "params": ["a", "b"]}), folded=("params",))
    assert lines[0].split() == ["n", "params"]
    lines, _ = written(pa.table({"params": ["a", "a"]}), folded=("params",))
    assert lines[0].split() == ["params"]
    lines, _ = written(rows, folded=("params",), terminal=False)
    assert lines[0].split() == ["n", "params"]


@pytest.mark.parametrize("terminal", [True, False])
def test_hostile_cells_and_names_are_shown_escaped(terminal):
    rows = pa.table({"n\x1b[1m": ["[bold]x[/bold] :smile: \x1b[2J\n\u202e"]})
    stream = io.BytesIO()
    tables.write(rows.to_reader(), Sink(stream, OutputOptions(), terminal=terminal, width=100))
    text = stream.getvalue().decode()
    assert "[bold]x[/bold] :smile: \\x1b[2J\\n\\u202e" in text
    assert "n\\x1b[1m" in text
    assert "\x1b[2J" not in text
    assert "\u202e" not in text


def test_bytes_are_counted_and_not_shown():
    lines, _ = written(pa.table({"b": [b"abc", None]}), terminal=False)
    assert lines[2:] == ["<3 bytes>", "NULL"]


def test_terminal_leaves_out_columns_of_nothing_when_all_do_not_fit():
    rows = pa.table({"code": ["bad_box"], "key": pa.nulls(1, pa.string()), "why": ["w" * 30]})
    lines, result = written(rows, width=40)
    assert lines[0].split() == ["code", "why"]
    assert lines[2].split() == ["bad_box", "w" * 30]
    assert result.notes == ["left out because they are NULL in all these rows: key"]
    assert written(rows, width=60)[0][0].split() == ["code", "key", "why"]


def test_terminal_says_a_number_once_when_all_do_not_fit():
    rows = pa.table(
        {"label": ["female", "male"], "n": [360, 360], "value": [0.25, 0.75], "low": [0.20, 0.70], "k": [5, 5]}
    )
    lines, result = written(rows, width=20)
    assert lines[0].split() == ["label", "value", "low"]
    assert result.notes == ["left out because they are the same in all these rows: n 360, k 5"]
    lines, _ = written(rows, width=22)
    assert lines[0].split() == ["label", "value", "low", "k"]
    assert written(rows, width=60)[0][0].split() == ["label", "n", "value", "low", "k"]
    assert "n" in written(rows.slice(0, 1), width=20)[0][0].split()
    assert written(pa.table({"a": [10**9] * 2, "b": [10**9] * 2}), width=4)[0][0].split() == ["b"]


def test_terminal_keeps_an_estimate_with_its_interval_and_q():
    names = ("label", "concept", "count", "images", "n_label", "expected", "pmi", "low", "high", "npmi", "g2", "p", "q")
    rows = pa.table({n: ["a", "b"] if n in {"label", "concept"} else [0.25, 0.75] for n in names})
    lines, result = written(rows, width=50)
    assert lines[0].split() == ["label", "concept", "count", "pmi", "low", "high", "q"]
    assert result.notes == [
        "6 of 13 columns do not fit: images, n_label, expected, npmi, g2, p; --format record (.mode record) shows all"
    ]
    assert written(rows, width=64)[0][0].split() == [
        *("label", "concept", "count", "images", "n_label", "pmi", "low", "high", "q"),
    ]
    assert written(rows, width=24)[0][0].split() == ["label", "concept", "count"]
    assert written(rows.select(["count", "p", "q"]), width=12)[0][0].split() == ["count", "q"]


def test_terminal_shows_moments_to_the_second():
    at = pa.array([dt.datetime(2026, 11, 22, 1, 2, 3, 456, dt.UTC)], pa.timestamp("us", "UTC"))
    lines, _ = written(pa.table({"at": at, "kind": ["ingest"], "target": ["t" * 50]}), width=40)
    assert lines[2].startswith("2026-11-22T01:02:03…  ingest  ttt")


@pytest.mark.parametrize("terminal", [True, False])
def test_no_rows(terminal):
    lines, result = written(
        pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}), terminal=terminal
    )
    assert lines[0].split() == ["a", "b"]
    assert (result.rows, result.notes) == (0, ["no rows"])


@given(
    st.lists(st.tuples(st.integers(1, 60), st.booleans()), min_size=1, max_size=12),
    st.integers(1, 120),
)
def test_fit(shapes, width):
    columns = [TableColumn(i, "c", right, size) for i, (size, right) in enumerate(shapes)]
    cut, hidden = fit(columns, width)
    kept = columns[: len(columns) - len(hidden)]
    assert kept == [c for c in columns if c not in hidden]
    assert sum(c.width for c in kept) + 2 * (len(kept) - 1) <= width
    assert all(1 <= c.width <= size for c, (size, _) in zip(kept, shapes, strict=False))
    assert cut == any(c.width < size for c, (size, _) in zip(kept, shapes, strict=False))
    if len(kept) > 1:
        assert all(c.width == size for c, (size, right) in zip(kept, shapes, strict=False) if right)

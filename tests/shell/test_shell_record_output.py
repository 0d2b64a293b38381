"""Records: a line for each column, nothing cut; on a terminal the first rows, with what all share said once."""

from __future__ import annotations

import io

import pyarrow as pa

from counterbalance.shell import record
from counterbalance.shell.output import OutputOptions, Sink

ROWS = pa.table({"name": ["a\nb", None], "日本": [1, 2], "params": ["{}", "{}"]})


def written(found, *, terminal=False, **options):
    stream = io.BytesIO()
    result = record.write(found.to_reader(max_chunksize=2), Sink(stream, OutputOptions(**options), terminal, 20))
    return stream.getvalue().decode().splitlines(), result


def test_a_line_for_each_column():
    lines, result = written(ROWS)
    assert lines == [
        "-[ 1 ]".ljust(40, "-"),
        "name    a\\nb",
        "日本    1",
        "params  {}",
        "-[ 2 ]".ljust(40, "-"),
        "name    NULL",
        "日本    2",
        "params  {}",
    ]
    assert (result.rows, result.notes) == (2, [])


def test_a_terminal_is_told_once_what_all_rows_share():
    lines, result = written(ROWS, terminal=True)
    assert not any("{}" in line for line in lines)
    assert result.notes == ["params: {}"]


def test_a_terminal_shows_the_first_rows():
    lines, result = written(pa.table({"i": list(range(9))}), terminal=True, rows=4)
    assert [line for line in lines if line.startswith("i")] == [f"i  {n}" for n in range(4)]
    assert (result.rows, result.more) == (4, True)
    assert result.notes[0].startswith("first 4 rows shown")


def test_all_rows_go_into_a_pipe():
    lines, result = written(pa.table({"i": list(range(3000))}), rows=4)
    assert (len(lines), result.rows, result.more) == (6000, 3000, False)


def test_no_rows():
    lines, result = written(pa.table({"a": pa.array([], pa.string())}), terminal=True)
    assert (lines, result.notes) == ([], ["no rows"])

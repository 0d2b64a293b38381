"""Markdown tables stay tables, whatever the cells hold."""

from __future__ import annotations

import io

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.shell import markdown
from counterbalance.shell.output import OutputOptions, Sink


def written(table):
    stream = io.BytesIO()
    markdown.write(table.to_reader(max_chunksize=2), Sink(stream, OutputOptions("markdown")))
    return stream.getvalue().decode()


def test_table():
    table = pa.table({"name": ["a", None, "c"], "n": [1, 2, None]})
    assert written(table) == "| name | n |\n| --- | ---: |\n| a | 1 |\n|  | 2 |\n| c |  |\n"


def test_no_rows():
    assert written(pa.table({"a": pa.array([], pa.string())})) == "| a |\n| --- |\n"


def test_marks_are_text():
    table = pa.table({"t": ["a|b\nc <b> [x](y) `z` *e*"]})
    assert written(table).splitlines()[2] == "| a\\|b\\\\nc &lt;b> \\[x](y) \\`z\\` \\*e\\* |"


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_every_row_is_one_line_with_one_cell(texts):
    lines = written(pa.table({"t": texts})).split("\n")
    assert len(lines) == len(texts) + 3
    for line in lines[2:-1]:
        bars = [i for i, c in enumerate(line) if c == "|" and (len(line[:i]) - len(line[:i].rstrip("\\"))) % 2 == 0]
        assert len(bars) == 2

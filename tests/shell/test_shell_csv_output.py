"""CSV and TSV mean the same as the rows, and run nothing in a spreadsheet."""

from __future__ import annotations

import csv
import datetime as dt
import io
import unicodedata
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.shell import delimited
from counterbalance.shell.output import OutputOptions, Sink


def written(table, format_="csv", *, terminal=False):
    stream = io.BytesIO()
    result = delimited.write(table.to_reader(max_chunksize=3), Sink(stream, OutputOptions(format_), terminal=terminal))
    assert result.rows == table.num_rows
    return stream.getvalue().decode()


def read(text, delimiter=","):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


def as_written(text):
    """A text as it stands in a file: control characters visible, a formula with an apostrophe."""
    blank = {c for c in text if unicodedata.category(c) in {"Zs", "Zl", "Zp", "Cc", "Cf", "Co"}}
    bare = text.lstrip("".join(blank))
    formula = text[:1] in {"\t", "\r"} or unicodedata.normalize("NFKC", bare[:1]) in set("=+-@")
    shown = [f"\\x{ord(c):02x}" if unicodedata.category(c) == "Cc" and c not in "\t\r\n" else c for c in text]
    return "'" * formula + "".join(shown)


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\x00"))


@given(st.lists(st.tuples(st.integers(-9, 9), st.none() | TEXTS), max_size=8), st.sampled_from(["csv", "tsv"]))
def test_round_trip(rows, format_):
    table = pa.table(
        {"i": pa.array([r[0] for r in rows], pa.int64()), "t": pa.array([r[1] for r in rows], pa.string())}
    )
    found = read(written(table, format_), "," if format_ == "csv" else "\t")
    assert found[0] == ["i", "t"]
    expected = [[str(i), "" if t is None else as_written(t)] for i, t in rows]
    assert found[1:] == expected


def test_null_and_empty_text_differ():
    assert written(pa.table({"a": [1, 2], "t": [None, ""]})) == 'a,t\n1,\n2,""\n'


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1+1",
        "\u3000=1",
        "\xa0-1",
        "\ufeff=1",
        "\u200b@A1",
        "\uff1d1+1",
        "\uff0b1",
        "\uff0d1",
        "\uff20SUM(A1)",
        " \uff1d1",
        "﹦1",
    ],
)
def test_formulas_are_text(text, record_property):
    record_property("texts", 1)
    ((_,), (cell,)) = read(written(pa.table({"t": [text]})))
    assert cell == "'" + text


@pytest.mark.parametrize(
    "text", ["a = b", "1 - 2", "mail@example.org", "two\nlines", "a\tb", "…", "é", "שלום\u200f", "👩\u200d🚀"]
)
@pytest.mark.parametrize("format_", ["csv", "tsv"])
def test_ordinary_texts_come_back(text, format_):
    ((_,), (cell,)) = read(written(pa.table({"t": [text]}), format_), "," if format_ == "csv" else "\t")
    assert cell == text


def test_numbers_keep_their_sign():
    assert written(pa.table({"i": [-1], "f": [-1.5]})) == "i,f\n-1,-1.5\n"


def test_a_formula_as_name_or_in_a_list_is_text_too():
    table = pa.table({"=x": [{"a": 1}], "l": [["-1"]]})
    assert read(written(table))[0] == ["'=x", "l"]
    assert read(written(table))[1] == ['{"a":1}', '["-1"]']


@pytest.mark.parametrize(
    ("array", "cell"),
    [
        (pa.array([1.0]), "1.0"),
        (pa.array([float("nan")]), "nan"),
        (pa.array([0.1], pa.float32()), "0.1"),
        (pa.array([True]), "true"),
        (pa.array([Decimal("1.50")]), "1.50"),
        (pa.array([dt.date(2026, 1, 2)]), "2026-01-02"),
        (pa.array([dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)], pa.timestamp("us", tz="UTC")), "2026-01-02T03:00:00Z"),
        (pa.array([dt.time(1, 2)]), "01:02:00"),
    ],
)
def test_values(array, cell):
    assert read(written(pa.table({"v": array})))[1] == [cell]


def test_no_rows_still_has_a_header():
    assert written(pa.table({"a": pa.array([], pa.int64())})) == "a\n"


def test_text_of_a_terminal_is_escaped():
    assert written(pa.table({"t": ["\x1b[2J"]}), terminal=True) == "t\n\\x1b[2J\n"
    assert written(pa.table({"t": ["a\u202eb"]}), terminal=True) == "t\na\\u202eb\n"


def test_text_of_a_file_keeps_all_but_what_controls_or_reorders():
    assert written(pa.table({"t": ["a\u202eb", "\u2066c"]})) == "t\na\\u202eb\n\\u2066c\n"
    assert (
        written(pa.table({"t": ["\U0001f468\u200d\U0001f469", "\u06a9\u200c\u06af"]}))
        == "t\n\U0001f468\u200d\U0001f469\n\u06a9\u200c\u06af\n"
    )
    assert written(pa.table({"t": ["\u22121+1"]})) == "t\n'\u22121+1\n"


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_kind_of_text(kind):
    assert written(pa.table({"t": pa.array(["a,b", None], kind)})) == 't\n"a,b"\n\n'


def test_slices_of_a_batch():
    table = pa.table({"t": [f"row {i}" for i in range(10)], "i": list(range(10))}).slice(4, 5)
    assert written(table) == "t,i\n" + "".join(f"row {i},{i}\n" for i in range(4, 9))

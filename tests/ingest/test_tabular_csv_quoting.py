"""CSV is cut as RFC 4180 says; a stray quote costs its line and nothing else."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.ingest import csvtext
from counterbalance.ingest.csvtext import Dialect, read_cells

CELL = st.text(st.sampled_from('ab,"\n\t é;'), max_size=6)
RECORDS = st.lists(st.lists(CELL, min_size=3, max_size=3), max_size=8)


def cut(data, dialect=None, block=1 << 20, header=False):
    """(line, cells …) of each record, and (line, code) of each refusal."""
    dialect = dialect or Dialect(b",", 2)
    found, refused = [], []
    for cells in read_cells(io.BytesIO(data), dialect, range(dialect.width), header=header, block=block):
        found += zip(cells.lines.tolist(), *[c.to_pylist() for c in cells.columns], strict=True)
        refused += [(r.number, r.code) for r in cells.refused]
    return found, refused


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@given(records=RECORDS, block=st.integers(1, 60))
def test_equals_the_csv_module(ending, records, block):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=ending).writerows(records)
    found, refused = cut(text.getvalue().encode(), Dialect(b",", 3), block)
    assert [[c.decode() for c in r[1:]] for r in found] == records
    assert refused == []


@given(records=RECORDS, block=st.integers(1, 60))
def test_the_careful_road_equals_the_fast_one(records, block):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(records)
    data = text.getvalue().encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csvtext, "_fast", lambda *_: None)
        slow = cut(data, Dialect(b",", 3), block)
    assert slow == cut(data, Dialect(b",", 3), block)


@given(data=st.binary(max_size=80), block=st.integers(1, 30))
def test_any_bytes_are_taken_or_refused_line_by_line(data, block):
    data = data.replace(b"\0", b"")
    found, refused = cut(data, Dialect(b",", 2), block)
    whole = cut(data, Dialect(b",", 2))
    assert (found, refused) == whole  # where the blocks begin changes nothing
    lines = {n for n, *_ in [*found, *refused]}
    assert lines <= set(range(1, data.count(b"\n") + 2))


def test_a_stray_quote_costs_its_line():
    data = b'a,b\n"stray,x\n"good, one",y\nc,d\n"e\nf",g\n'
    found, refused = cut(data)
    assert found == [(1, b"a", b"b"), (3, b"good, one", b"y"), (4, b"c", b"d"), (5, b"e\nf", b"g")]
    assert refused == [(2, "bad_quote")]


def test_a_quote_that_is_never_closed_costs_its_line():
    found, refused = cut(b'a,b\n"stray,x\nc,d\ne,f\n', block=7)
    assert [r[0] for r in found] == [1, 3, 4]
    assert refused == [(2, "bad_quote")]


def test_text_after_a_closing_quote_is_no_csv():
    assert cut(b'"he" said,x\n') == ([], [(1, "bad_quote")])


def test_a_quote_inside_an_unquoted_cell_is_text():
    assert cut(b'5" nail,x\n') == ([(1, b'5" nail', b"x")], [])


def test_tab_separated_lines_with_wrong_quotes_are_taken_as_they_are():
    tabs = Dialect(b"\t", 2, lenient=True)
    assert cut(b'"he" said\tx\n"a\tb"\ty\n', tabs) == ([(1, b'"he" said', b"x"), (2, b"a\tb", b"y")], [])


def test_without_quoting_quotes_and_carriage_returns_are_text():
    plain = Dialect(b"\t", 2, quoting=False)
    found, refused = cut(b'"a\tb\r\nc\rd\t"e"\n\nf\tg', plain)
    assert found == [(1, b'"a', b"b"), (2, b"c\rd", b'"e"'), (4, b"f", b"g")]
    assert refused == []


def test_wrong_numbers_of_cells_are_refused_with_their_lines():
    found, refused = cut(b'a,b\n\n1\n1,2,3\n\xff,\xff,\xff\n"x\ny",z\nq,\n')
    assert found == [(1, b"a", b"b"), (6, b"x\ny", b"z"), (8, b"q", b"")]
    assert refused == [(3, "bad_columns"), (4, "bad_columns"), (5, "bad_columns")]


def test_a_quoted_cell_of_two_lines_in_a_record_of_wrong_width_is_looked_at_again():
    found, refused = cut(b'"a,1\nb",2,3\nc,d\n')
    assert found == [(3, b"c", b"d")]
    assert refused == [(1, "bad_quote"), (2, "bad_columns")]


def test_the_header_may_be_quoted_and_hold_a_line_feed():
    assert cut(b'\xef\xbb\xbf"u\nrl",b\n1,2\n', header=True) == ([(3, b"1", b"2")], [])


def test_a_line_without_end_is_refused_and_the_next_is_taken(monkeypatch):
    monkeypatch.setattr(csvtext, "MAX_RECORD", 50)
    for block in (10, 1000):
        found, refused = cut(b"a,b\n" + b"x" * 500 + b",y\nc,d\n", block=block)
        if block == 10:
            assert (found, refused) == ([(1, b"a", b"b"), (3, b"c", b"d")], [(2, "too_long")])
        else:
            assert [r[0] for r in found] == [1, 2, 3]  # it was in memory anyway; its cells have a limit of their own

"""JSON lines: bad lines are refused one by one, and a key that turns up late is not lost in silence."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from json_values import VALUE

from counterbalance.ingest.jsonlines import read_values


def read(data, names=("a", "b"), matters=lambda _: False, block=1 << 20):
    found, refused = [], []
    for cells in read_values(io.BytesIO(data), names, known=frozenset(names), matters=matters, block=block):
        found += zip(cells.lines.tolist(), *[c.to_pylist() for c in cells.columns], strict=True)
        refused += [(r.number, r.code) for r in cells.refused]
    return found, refused


@given(rows=st.lists(st.fixed_dictionaries({"a": VALUE, "b": VALUE}), max_size=6), block=st.integers(1, 50))
def test_values_come_as_text(rows, block):
    data = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows).encode("utf-8", "surrogatepass")
    found, refused = read(data, block=block)
    assert not refused

    def text(value):
        plain = value is None or isinstance(value, str)
        return value if plain else json.dumps(value, separators=(",", ":"))

    assert found == [(i, text(r["a"]), text(r["b"])) for i, r in enumerate(rows, 1)]


def test_bad_lines_are_refused_with_their_numbers():
    data = b'{"a": 1}\n\nnope\n[1]\n{"a": nan}\n{"a": "\xff"}\n{"a": "\\ud800"}\n  {"b": "x"}  \r\n{"a": 2'
    found, refused = read(data)
    assert found == [(1, "1", None), (8, None, "x")]
    assert refused == [(n, "bad_json") for n in (3, 4, 5, 6, 7, 9)]


@pytest.mark.parametrize(("matters", "codes"), [(True, ["unknown_key"]), (False, [])])
def test_a_late_key_that_matters_refuses_its_row(matters, codes):
    found, refused = read(b'{"a": 1}\n{"a": 2, "score": 3}\n', matters=lambda name: matters and name == "score")
    assert [c for _, c in refused] == codes
    assert len(found) == 2 - len(codes)


def test_integers_of_any_length_are_exact():
    long = [123456789012345678901, 123456789012345678902, -(2**63) - 1]
    found, refused = read("".join(f'{{"a": {n}, "b": [{n}]}}\n' for n in long).encode())
    assert [a for _, a, _ in found] == [str(n) for n in long]
    assert not refused


def test_whole_floats_are_written_as_in_parquet():
    found, _ = read(b'{"a": 139.0, "b": -0.0}\n{"a": 1e20, "b": 139.5}\n')
    assert [row[1:] for row in found] == [("139", "0"), ("1e+20", "139.5")]


def test_numbers_of_thousands_of_digits_are_no_crash():
    found, refused = read(b'{"a": 1, "b": ' + b"9" * 5000 + b'}\n{"a": 2}\n')
    assert found[-1] == (2, "2", None)
    assert len(found) + len(refused) == 2

"""Rows that are left are numbered anew in every table, and as many are shown as asked for, after small cells are hidden."""

from __future__ import annotations

import pyarrow as pa

from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import protect

ROWS = pa.table(
    {
        "label": ["f", "f", "f", "f", "m", "m", "m"],
        "place": pa.array([1, 2, 3, None, 1, 2, 3], pa.int32()),
        "word": ["tie", "hat", "bag", "cap", "tie", "hat", "bag"],
        "count": [30, 3, 40, 50, 20, 25, 4],
    }
)
CELLS = [
    Cells("count", by=("label",), within=("word",), omit=True),
    Cells("count", within=("label",), omit=True, places=("place", "top")),
]


def shown(params):
    rows = protect(ROWS, CELLS, 10, params, closed=False, in_order=True).to_pylist()
    return [(r["label"], r["place"], r["word"]) for r in rows], {r["n_suppressed"] for r in rows}


def test_places_have_no_gaps():
    rows, suppressed = shown('{"top": null}')
    assert rows == [("f", 1, "tie"), ("m", 1, "tie")]
    assert suppressed == {4}


def test_rows_without_a_place_are_never_shown():
    own = ROWS.set_column(3, "count", pa.array([30, 20, 40, 50, 20, 25, 24]))
    rows = protect(own, CELLS, 10, '{"top": null}', closed=False, in_order=True).to_pylist()
    assert [(r["label"], r["place"], r["word"]) for r in rows] == [
        ("f", 1, "tie"), ("f", 2, "hat"), ("f", 3, "bag"), ("m", 1, "tie"), ("m", 2, "hat"), ("m", 3, "bag"),
    ]  # fmt: skip
    small = own.set_column(3, "count", pa.array([30, 20, 40, 5, 20, 25, 24]))
    few = protect(small, CELLS, 10, '{"top": null}', closed=False, in_order=True)
    assert {r["n_suppressed"] for r in few.to_pylist()} == {0}, "it would not have been shown"


def test_as_many_as_asked_for_are_left():
    own = ROWS.set_column(3, "count", pa.array([30, 3, 40, 50, 20, 25, 24]))
    rows = protect(own, CELLS, 10, '{"top": 1}', closed=False, in_order=True).to_pylist()
    assert [(r["label"], r["place"], r["word"]) for r in rows] == [("f", 1, "tie"), ("m", 1, "tie")]
    own = ROWS.set_column(3, "count", pa.array([3, 30, 40, 50, 20, 25, 24]))
    rows = protect(own, CELLS, 10, '{"top": 1}', closed=False, in_order=True).to_pylist()
    assert [(r["label"], r["place"], r["word"]) for r in rows] == [("f", 1, "hat"), ("m", 1, "hat")]

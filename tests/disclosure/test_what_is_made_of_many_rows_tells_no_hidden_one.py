"""Statistics of a whole table, and q over all rows, are made of what is shown: neither tells a hidden row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from statsmodels.stats.multitest import multipletests

from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import protect

COUNTS = {"tie": [3, 30, 40, 50], "hat": [20, 30, 40, 50]}
ROWS = pa.table(
    {
        "concept": [c for c in COUNTS for _ in range(4)],
        "label": list("abcd") * 2,
        "count": [n for own in COUNTS.values() for n in own],
        "entropy": [0.7] * 4 + [0.9] * 4,
        "p": [0.001, 0.02, 0.02, 0.4, 0.03, 0.2, 0.9, None],
        "q": [1.0] * 7 + [None],
    }
)


def shown(rows, **more):
    cells = Cells("count", by=("label",), within=("concept",), **more)
    return protect(rows, [cells], 10, "{}", closed=False, in_order=True)


def test_a_statistic_of_a_table_goes_with_any_of_its_rows():
    found = shown(ROWS, whole=("entropy",))
    assert found["count"].to_pylist() == [None, None, 40, 50, 20, 30, 40, 50]
    assert found["entropy"].to_pylist() == [None] * 4 + [0.9] * 4


def test_q_takes_hidden_p_for_one():
    found = shown(ROWS, tests=("p", "q"))
    left = [0.02, 0.4, 0.03, 0.2, 0.9]
    assert [p for p in found["p"].to_pylist() if p is not None] == left
    q = found["q"].to_pylist()
    assert q[:2] == [None, None]
    assert q[7] is None
    assert q[2:7] == pytest.approx(list(multipletests([*left, 1, 1], method="fdr_bh")[1][:5]), rel=1e-12)


def test_q_stays_where_nothing_is_hidden():
    rows = ROWS.slice(4)
    assert shown(rows, tests=("p", "q"))["q"].to_pylist() == [1.0, 1.0, 1.0, None]


def test_a_row_without_a_number_hides_no_other():
    """A label that takes no part is in no total: hidden in place of another it would protect nothing."""
    rows = pa.table({"label": list("abc"), "count": pa.array([None, 12, 0], pa.int64()), "whole": [50, 15, 40]})
    found = protect(rows, [Cells("count", by=("label",), out_of="whole")], 10, "{}", closed=False, in_order=True)
    assert found["suppressed"].to_pylist() == [False, True, True]
    told = rows.append_column("suppressed", pa.array([True, False, False])).set_column(
        1, "count", pa.array([None, 30, 40])
    )
    found = protect(told, [Cells("count", by=("label",))], 10, "{}", closed=False, in_order=True)
    assert found["suppressed"].to_pylist() == [True, False, False]
    assert np.asarray(found["count"].to_pylist()[1:]).tolist() == [30, 40]

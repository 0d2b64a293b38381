"""Where it is known how many there are of every label, a hidden count has bounds, which leave it as many values all the same."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.disclosure.cells import SMALL, Cells
from counterbalance.engine.disclosure.suppression import hidden_rows

LEVELS = Cells("count", of="n", out_of="base", by=("label",), totals=("class",))


def hidden(counts, bases, n):
    rows = {
        "class": pa.nulls(len(counts), pa.string()),
        "label": [*"abcd"[: len(counts)]],
        "count": counts,
        "base": bases,
    }
    return hidden_rows(pa.table({**rows, "n": [n] * len(counts)}), LEVELS, 10).tolist()


def test_two_that_add_up_to_a_known_number_may_not_be_enough():
    """c is 8 of 10 and a 79 of 84, together 87: with b shown c could be 3 to 10 only, for a is no more than 84."""
    assert 0 not in hidden([79, 78, 8], [84, 97, 10], 165)


@pytest.mark.parametrize("spare", [20, 400])
def test_they_are_where_there_is_room(spare):
    """a could be anything up to its 79 + spare, so that c could be 0 to 10."""
    found = hidden([79, 78, 8], [79 + spare, 97, 10], 165)
    assert found[2] == SMALL
    assert found.count(0) == 1

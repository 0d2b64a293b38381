"""``$name`` ends where its letters end, also where another one follows at once, as DuckDB reads it."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import SqlError


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("SELECT concat($a,$b)", "xy"),
        ("SELECT $a||$b", "xy"),
        ("SELECT $a IN ($b,$a)", True),
        ("SELECT $a||'$b,$'||$b", "x$b,$y"),
        ("SELECT $a || $$ $b,$ $$ || $b", "x $b,$ y"),
        ("SELECT $a || $t$ $b $t$ || $b", "x $b y"),
        ('SELECT $a||$b AS "$b,$a"', "xy"),
    ],
)
def test_values(lake, query, value):
    assert lake.sql(query, a="x", b="y").fetchall() == [(value,)]


def test_one_that_was_not_given(lake):
    with pytest.raises(SqlError, match=r"no value for \$c"):
        lake.sql("SELECT concat($a,$c)", a="x")

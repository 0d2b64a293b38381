"""Of how many a row is stays in sight on a telephone: in narrow charts, and in tables that are wider than the screen."""

from __future__ import annotations

import re

from counterbalance.report.figures import Figure
from counterbalance.report.pages import read_text
from counterbalance.report.svg import NARROW, Axis, Mark, bars, dots


def test_narrow_charts_have_it_beside_the_value():
    rows = [Mark("a", 0.25, 0.2, 0.3, "n = 1,234"), Mark("b", 0.5, 0.4, 0.6, "n = 20")]
    for draw in (bars, dots):
        chart = draw(rows, Axis("share"), title="t", desc="d", name="x", width=NARROW)
        assert "0.25 · n = 1,234" in chart
        assert "0.50 · n = 20" in chart


def test_a_table_keeps_one_column_where_it_is():
    names = ["label", "count", "n", "share"]
    assert Figure("a", "b", "c", columns=names).counted == "n"
    assert Figure("a", "b", "c", columns=names[:2]).counted == "count"
    assert Figure("a", "b", "c", columns=names[:1]).counted == ""
    small = read_text("counterbalance.report", "report.css").partition("@media (max-width: 620px)")[2]
    assert re.search(r"\.counted \{ position: sticky;", small)

"""A column's head sorts the rows of a table: up, down, as they came; by number where cells begin with one."""

from __future__ import annotations

from urllib.parse import quote

import pytest

pytestmark = pytest.mark.slow
NOTHING = "\N{EN DASH}"
SQL = "SELECT * FROM (VALUES (10, 'b'), (9, 'a'), (NULL, 'c'), (1000000, 'A')) AS t(n, word)"
COLUMN = "[...document.querySelectorAll('#result tbody tr')].map((row) => row.cells[{}].textContent)"


def test_heads_are_buttons(browser, served, lake):
    address = served(lake)
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    browser("Page.navigate", url=f"{address}/lakes/demo/sql?q={quote(SQL)}")
    browser.until("document.querySelectorAll('#result .sort').length === 2")
    click = "document.querySelectorAll('#result .sort')[{}].click()"
    seen = []
    for at in (0, 0, 0, 1):
        browser.js(click.format(at))
        seen.append(browser.js(COLUMN.format(at)))
    assert seen == [
        ["9", "10", "1000000", NOTHING],
        ["1000000", "10", "9", NOTHING],
        ["10", "9", NOTHING, "1000000"],
        ["a", "A", "b", "c"],
    ]
    assert browser.js("document.querySelectorAll('#result [aria-sort]').length") == 1

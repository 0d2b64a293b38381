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


def test_the_order_of_an_audit_is_in_its_address(browser, served, lake):
    address = served(lake)
    browser("Page.navigate", url=f"{address}/lakes/demo/audits/demographics?token=secret")
    browser.until("document.readyState === 'complete' && document.querySelectorAll('main .sort').length > 3")
    labels = (
        "[...document.querySelectorAll('main tbody tr')].map((row) => row.querySelector('td:not(:has(a))').textContent)"
    )
    names = "[...document.querySelectorAll('main .sort')].map((b) => b.textContent)"
    label = f"document.querySelectorAll('main .sort')[{browser.js(names).index('label')}]"
    came = browser.js(labels)
    browser.js(f"{label}.click()")
    browser.js(f"{label}.click()")
    assert browser.js(labels) == sorted(came, reverse=True)
    assert browser.js("location.hash") == "#order=-label"
    browser("Page.reload")
    browser.until("document.querySelector('main [aria-sort=descending]') !== null")
    assert browser.js(labels) == sorted(came, reverse=True)
    browser.js(f"{label}.click()")  # as they came
    assert browser.js("location.hash") == ""
    assert browser.js(labels) == came

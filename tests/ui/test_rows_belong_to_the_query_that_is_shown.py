"""Rows, chart and files of the SQL page are those of the query that gave them, and go when the next one fails."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
HIDDEN = "['result', 'chart'].every((n) => document.getElementById(n).hidden)"
CLOSED = "['save', 'draw'].every((n) => document.getElementById(n).disabled)"


@pytest.fixture
def page(browser, served, disk_lake, build):
    """The editor, with a query that has run."""
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    browser(
        "Page.navigate",
        url=f"{served(disk_lake)}/lakes/demo/sql?q=SELECT+key,+7+AS+n+FROM+images+ORDER+BY+1&token=secret",
    )
    browser.until("document.querySelectorAll('#result tbody tr').length === 2")
    return browser


def write(page, text):
    page.js(f"document.querySelector('.CodeMirror').CodeMirror.setValue({text!r})")


def test_a_file_has_the_rows_that_are_shown(page):
    write(page, "SELECT 'another' AS one")
    page.js("{ const s = document.getElementById('save'); s.value = 'csv'; s.dispatchEvent(new Event('change')) }")
    assert page.saved("rows*.csv").read_text().split() == ["key,n", "a,7", "b,7"]


def test_nothing_is_shown_under_an_error(page):
    page.click("draw")
    page.until("!document.getElementById('chart').hidden")
    write(page, "SELECT nothing FROM images")
    page.click("run")
    page.until("!document.getElementById('error').hidden")
    assert page.js(f"[{HIDDEN}, {CLOSED}]") == [True, True]
    write(page, "SELECT 1 AS n")
    page.click("run")
    page.until(f"document.getElementById('error').hidden && !({HIDDEN}) && !({CLOSED})")

"""An audit in a real browser: a slider moves its number, a parameter makes a short address, a row opens its pictures."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture
def address(served, counted_lake):
    return served(counted_lake)


def test_a_parameter_is_changed_and_a_row_opened(browser, address):
    browser("Page.navigate", url=f"{address}/lakes/demo/audits/bias_transfer?token=secret")
    slider = "document.querySelector('input[type=range]')"
    browser.until(f"location.search === '' && {slider} !== null && !{slider}.hidden")
    browser.js(f"{slider}.value = '3'; {slider}.dispatchEvent(new Event('input'))")
    assert browser.js("document.getElementById('p-degree').value") == "3"

    browser("Page.navigate", url=f"{address}/lakes/demo/audits/cooccurrence")
    browser.until("document.querySelector('#copies')?.hidden === false")
    assert browser.js("document.querySelector('svg.chart').getBoundingClientRect().width") > 100
    browser.js("document.getElementById('p-min_count').value = '12'; document.getElementById('count').click()")
    browser.until("location.search === '?min_count=12' && document.querySelector('#copies')?.hidden === false")
    assert (
        browser.js("document.getElementById('copy-SQL').textContent") == "SELECT * FROM cooccurrence(min_count := 12)"
    )
    refused = [entry for entry in browser.failed if "Content Security Policy" in entry or "exception" in entry]
    assert refused == []

    browser.js("document.querySelector('tbody a').click()")
    browser.until("location.pathname === '/lakes/demo/browse'")
    sql = browser.js("new URLSearchParams(location.search).get('sql')")
    assert sql.startswith("SELECT DISTINCT image_id FROM caption_gender WHERE label = '")

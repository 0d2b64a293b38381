"""On paper a page has no forms, no table that is wider, and light colours, whatever the screen has."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
PAPER = 718
"""Pixels of CSS between the margins of A4."""
SEEN = "[...document.querySelectorAll('form, dialog, .top')].filter((f) => f.checkVisibility()).map((f) => f.className)"
WIDEST = "Math.max(0, ...[...document.querySelectorAll('main table')].map((t) => t.getBoundingClientRect().right))"


@pytest.fixture
def lake(empty_lake, build):
    n = 60
    empty_lake.ingest({
        "images": build.images(image_id=list(range(n))),
        "captions": build.captions(caption_id=list(range(n)), image_id=list(range(n)), text=["a man", "a woman"] * (n // 2)),
        "detections": build.detections(detection_id=list(range(n)), image_id=list(range(n)), category=["dog", "cat"] * (n // 2)),
    })  # fmt: skip
    return empty_lake


@pytest.mark.parametrize("page", ["audits/cooccurrence", "browse", "compare?with=demo", "images/1"])
def test_a_page(browser, served, lake, page):
    browser("Emulation.setDeviceMetricsOverride", width=PAPER, height=1000, deviceScaleFactor=1, mobile=False)
    browser("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser("Page.navigate", url=f"{served(lake)}/lakes/demo/{page}{'&' if '?' in page else '?'}token=secret")
    browser.until("document.readyState === 'complete' && document.querySelector('h1') !== null")
    assert browser.js(SEEN) == []
    assert browser.js(WIDEST) <= PAPER
    assert browser.js("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 33, 48)"


def test_a_query_stands_above_its_rows(browser, served, lake):
    browser("Emulation.setEmulatedMedia", media="print")
    browser("Page.navigate", url=f"{served(lake)}/lakes/demo/sql?q=SELECT+count(*)+AS+n+FROM+images&token=secret")
    browser.until("document.readyState === 'complete' && document.querySelector('.CodeMirror') !== null")
    browser.js("document.getElementById('run').click()")
    browser.until("document.querySelector('#result td') !== null")
    assert "SELECT count(*) AS n FROM images" in browser.js("document.querySelector('main').innerText")

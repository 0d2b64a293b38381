"""The grid in a real browser: scrolling brings further images and drops far ones, keys lead from image to image and back."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.slow
COUNT = 900


@pytest.fixture
def address(served, build, empty_lake, picture):
    data = [picture(), *[None] * 29] * (COUNT // 30)
    ids = [*range(1, COUNT + 1)]
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids, width=[800] * COUNT, height=[600] * COUNT, image=data),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"<b>{i}</b>" for i in ids]),
        }
    )
    return served(empty_lake)


def test_scroll_and_keys(browser, address):
    tiles = "document.querySelectorAll('#grid li').length"
    browser("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    browser("Page.navigate", url=f"{address}/lakes/demo/browse?token=secret&sort=random")
    browser.until(f"document.readyState === 'complete' && {tiles} >= 60")
    order = browser.js("[...document.querySelectorAll('#grid li')].map((t) => t.id)")
    assert browser.js("document.querySelector('#grid bdi').textContent").startswith("<b>")
    browser.until("document.querySelectorAll('#grid span.missing').length > 0")  # most have no picture
    browser.until("[...document.images].some((i) => i.complete && i.naturalWidth)")

    browser.until("scrollTo(0, document.documentElement.scrollHeight), document.getElementById('after') === null")
    browser.until("document.getElementById('counted').textContent.includes('900 shown')")
    browser.until(f"{tiles} < 600")  # the first ones have gone
    assert browser.js("document.querySelectorAll('#grid ul').length") == COUNT // 60
    browser.until("location.search.includes('offset=')")
    browser.js("scrollTo(0, 0)")
    browser.until("document.querySelectorAll('#grid ul')[0].children.length === 60")  # and are back

    browser.js(f"document.querySelector('#{order[0]} a').click()")
    browser.until(f"location.pathname.endsWith('/images/{order[0][1:]}') && document.readyState === 'complete'")
    browser.key("ArrowRight")
    browser.until(f"location.pathname.endsWith('/images/{order[1][1:]}') && document.readyState === 'complete'")
    browser.key("ArrowLeft")
    browser.until(f"location.pathname.endsWith('/images/{order[0][1:]}') && document.readyState === 'complete'")
    browser.key("Escape")
    browser.until(f"location.pathname.endsWith('/browse') && location.hash === '#{order[0]}'")
    told = [json.loads(f) for f in browser.failed if f.startswith("{")]
    texts = [t.get("entry", t.get("exceptionDetails", {})).get("text", "") for t in told]
    assert [t for t in texts if "404" not in t and "favicon" not in t] == []


@pytest.mark.parametrize(("width", "columns"), [(390, 2), (700, 3), (1280, 4), (1920, 6), (3840, 12)])
def test_rows_of_all_pages_are_full(browser, address, width, columns):
    browser("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser("Page.navigate", url=f"{address}/lakes/demo/browse?token=secret")
    browser.until("document.readyState === 'complete' && document.querySelectorAll('#grid li').length >= 60")
    lefts = "[...document.querySelector('#grid ul').children].map((t) => t.getBoundingClientRect().left)"
    assert browser.js(f"new Set({lefts}).size") == columns
    assert 60 % columns == 0

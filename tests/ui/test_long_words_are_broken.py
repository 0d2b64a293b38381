"""A word that is longer than the window makes no page wider than it."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
LONG = "x" * 600


@pytest.fixture
def lake(empty_lake, build):
    empty_lake.ingest({
        "images": build.images(image_id=[1, 2], key=[LONG, "b"]),
        "captions": build.captions(caption_id=[1], image_id=[1], text=[LONG], origin=[LONG]),
        "detections": build.detections(detection_id=[1], image_id=[1], category=[LONG]),
    })  # fmt: skip
    select = f"SELECT image_id AS edit_id, CAST(1 AS BIGINT) AS image_id, '{LONG}' AS label, '{LONG}' AS prompt, list_first([image]) AS image FROM images"
    empty_lake.create_materialized_view("edited", select, "edit_id")
    empty_lake.refresh()
    return empty_lake


@pytest.mark.parametrize("page", ["edits?view=edited", "browse", "images/1"])
def test_no_page_is_wider_than_the_window(browser, served, lake, page):
    browser("Page.navigate", url=f"{served(lake)}/lakes/demo/{page}{'&' if '?' in page else '?'}token=secret")
    browser.until("document.readyState === 'complete' && document.querySelector('h1') !== null")
    assert LONG[:100] in browser.js("document.body.innerHTML"), browser.js("document.body.innerText")
    for width in (1280, 390):
        browser("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        assert browser.js("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0

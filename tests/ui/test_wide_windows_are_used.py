"""The grid and the map use all of a wide window; pages to read do not, for lines of text would be too long."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("page", "is_whole"), [("browse", True), ("map", True), ("", False), ("state", False)])
def test_the_width_of_a_page(browser, served, lake, page, is_whole):
    browser("Emulation.setDeviceMetricsOverride", width=3840, height=2000, deviceScaleFactor=1, mobile=False)
    browser("Page.navigate", url=f"{served(lake)}/lakes/demo/{page}".rstrip("/") + "?token=secret")
    browser.until("document.readyState === 'complete' && document.querySelector('h1') !== null")
    assert (browser.js("document.querySelector('main').getBoundingClientRect().width") > 3600) == is_whole

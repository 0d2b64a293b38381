"""The choice of a lake leads to the same page of it, with what was asked; from an image to the grid."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow
CHOOSE = """
(() => { const c = document.getElementById('lake-choice'); c.value = '/lakes/other'; c.dispatchEvent(new Event('change')); })()
"""


@pytest.mark.parametrize(
    ("here", "there"),
    [
        ("/lakes/demo", "/lakes/other"),
        ("/lakes/demo/browse?sort=random&words=man", "/lakes/other/browse?sort=random&words=man"),
        (
            "/lakes/demo/audits/demographics?groups=caption_gender",
            "/lakes/other/audits/demographics?groups=caption_gender",
        ),
        ("/lakes/demo/images/1?sort=random", "/lakes/other/browse"),
        ("/lakes/demo/map?view=places", "/lakes/other/map"),
    ],
)
def test_it_is_kept(browser, served, lake, empty_lake, build, here, there):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    address = served(lake, empty_lake)
    browser("Page.navigate", url=f"{address}/?token=secret")
    browser.until("location.pathname === '/lakes/demo' && document.readyState === 'complete'")
    browser("Page.navigate", url=f"{address}{here}")
    browser.until(f"location.href.endsWith({here!r}) && document.readyState === 'complete'")
    browser.js(CHOOSE)
    browser.until(f"location.href.endsWith({there!r}) && document.readyState === 'complete'")
    assert browser.js("document.getElementById('lake-choice').value") == "/lakes/other"

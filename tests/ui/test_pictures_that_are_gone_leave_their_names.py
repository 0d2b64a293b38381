"""Of pictures that one version had alone those that are there still are shown, and of the others their names."""

from __future__ import annotations

import pytest
from image_files import image_bytes
from PIL import Image

pytestmark = pytest.mark.slow


def test_of_two_that_went_one_is_there_still(browser, served, disk_lake, build):
    data = image_bytes(Image.new("RGB", (64, 48), "red"), "PNG")
    disk_lake.ingest({"images": build.images(image_id=[1], key=["first"], image=[data])})
    disk_lake.tag("before")
    disk_lake.ingest({"images": build.images(image_id=[2, 3], key=["kept", "lost"], image=[data, data])})
    disk_lake.tag("between")
    disk_lake.delete(where="image_id = 3", apply=True)
    address = served(disk_lake)
    browser("Page.navigate", url=f"{address}/lakes/demo/compare?with=demo&at=between&with_at=before&token=secret")
    browser.until("document.readyState === 'complete' && document.querySelectorAll('.strip li').length === 2")
    strip = "[...document.querySelectorAll('.strip li')].map((i) => [i.textContent.trim(), i.querySelectorAll('a img').length])"
    browser.until(f"JSON.stringify({strip}) === JSON.stringify([['kept', 1], ['lost', 0]])")

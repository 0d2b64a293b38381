"""The SQL page tells of bytes how many there are, beside the picture that they may be."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.slow


def test_a_column_of_bytes(browser, served, disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2, 3, 4], image=[b"abc", b"a" * 2000, b"abcde", None])})
    query = "SELECT+image_id,+image+FROM+images+ORDER+BY+1"
    browser("Page.navigate", url=f"{served(disk_lake)}/lakes/demo/sql?q={query}&token=secret")
    browser.until("document.querySelectorAll('#result tbody tr').length === 4")
    told = browser.js("[...document.querySelectorAll('#result tbody tr')].map((r) => r.lastChild.textContent)")
    assert told == ["3 bytes", "2,000 bytes", "5 bytes", "\u2013"]

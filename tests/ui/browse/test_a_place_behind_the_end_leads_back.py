"""A page behind the last image says so, and leads to the last that there are."""

from __future__ import annotations

import re

import pytest


@pytest.fixture
def page(empty_lake, build, serve):
    empty_lake.ingest({"images": build.images(image_id=list(range(70)))})
    return lambda address: serve(empty_lake).get(f"/lakes/demo/browse?{address}").text


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("offset=999999", ("60", "Images 61 to 70")),
        ("offset=70", ("60", "Images 61 to 70")),
        ("offset=65", ("5", "Images 6 to 65")),
        ("offset=5&words=zebra", None),
    ],
)
def test_what_came_before(page, address, told):
    found = re.search(r'id="before".*offset=(\d+)">(.*?)</a>', text := page(address))
    assert (found and found.groups()) == told
    assert "Images 1000000" not in text

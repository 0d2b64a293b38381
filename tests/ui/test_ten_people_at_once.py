"""Ten browsers that open two pages each at once, all pages together, get answers, each its own, and no error."""

from __future__ import annotations

import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

PAGES = ("", "/audits/demographics", "/browse", "/images/1", "/state")


@pytest.fixture
def address(served, disk_lake, build):
    n = 40
    disk_lake.ingest({
        "images": build.images(image_id=list(range(n)), key=[str(i) for i in range(n)]),
        "captions": build.captions(caption_id=list(range(n)), image_id=list(range(n)), text=["a man", "a woman"] * (n // 2)),
    })  # fmt: skip
    return served(disk_lake)


def test_all_are_answered(address):
    def person(number: int) -> list[tuple[int, bool]]:
        found = []
        for page in (*PAGES[number % 5 :], *PAGES[: number % 5])[:2]:
            asked = urllib.request.Request(f"{address}/lakes/demo{page}", headers={"Authorization": "Bearer secret"})
            with urllib.request.urlopen(asked, timeout=300) as answer:
                found.append((answer.status, b"</html>" in answer.read()))
        return found

    with ThreadPoolExecutor(10) as people:
        assert list(people.map(person, range(10))) == [[(200, True)] * 2] * 10

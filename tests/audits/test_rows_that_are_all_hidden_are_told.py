"""An audit of which every row is hidden says so: rows without a number are a riddle otherwise."""

from __future__ import annotations

import pytest


@pytest.fixture
def lake(empty_lake, build):
    ids = [*range(24)]
    texts = ["a man" if i % 2 else "a woman" for i in ids]
    empty_lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    return empty_lake


def notes(lake, query):
    result = lake.sql(query)
    result.fetchall()
    return result.notes


def test_all_are_hidden(lake):
    told = "every row of demographics() is hidden: each counts fewer than 20, or would tell a count that is"
    assert told in notes(lake, "FROM demographics(min_count := 20)")


@pytest.mark.parametrize("query", ["FROM demographics()", "FROM demographics(min_count := 1)", "SELECT 1"])
def test_others_are_not(lake, query):
    assert not [note for note in notes(lake, query) if "hidden" in note]

"""A query that reads a generated column which no refresh has computed says so: its values are NULL, and why is not seen."""

from __future__ import annotations

import pytest


@pytest.fixture
def declared(lake, build):
    lake.ingest({"images": build.images(image_id=[901], key=["z"], width=[640])})
    lake.sql("ALTER TABLE images ADD COLUMN double_width AS (width * 2)").fetchall()
    return lake


TOLD = ["images.double_width is NULL until it is computed: REFRESH images.double_width"]


def notes(lake, text):
    found = lake.sql(text)
    found.fetchall()
    return list(found.notes)


def test_until_it_is_refreshed(declared):
    read = "SELECT i.double_width FROM captions AS c JOIN images AS i USING (image_id)"
    assert notes(declared, read) == TOLD
    assert notes(declared, "SELECT width, count(*) FROM images GROUP BY ALL") == []
    declared.refresh()
    assert notes(declared, read) == []

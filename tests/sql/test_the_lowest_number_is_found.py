"""The lowest integer of 64 bits, which is no literal of Lance's SQL, is found like any other."""

from __future__ import annotations

import pytest

LOWEST = -(2**63)


@pytest.fixture
def lake(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[LOWEST, 1], key=["low", "one"])})
    return empty_lake


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        (f"image_id = {LOWEST}", ["low"]),
        (f"image_id IN ({LOWEST}, 1)", ["low", "one"]),
        (f"image_id IN ({LOWEST}, 5)", ["low"]),
        (f"NOT image_id = {LOWEST}", ["one"]),
        (f"image_id > {LOWEST}", ["one"]),
        (f"image_id = {LOWEST} OR key = 'one'", ["low", "one"]),
    ],
)
def test_it_is_compared(lake, where, keys):
    assert lake.sql(f"SELECT key FROM images WHERE {where} ORDER BY key").fetchall() == [(key,) for key in keys]

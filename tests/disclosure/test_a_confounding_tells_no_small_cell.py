"""attribute_confounding of a table of any size hides what would tell a small count: with the margins, G2 is an equation."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables

MEASURES = ("cramers_v", "g2", "df", "p", "q", "n", "smallest")


def asked(build, uri, counts):
    """The row of two categories, the first perceived, with so many images in each cell."""
    cells = [cell for cell, n in counts.items() for _ in range(n)]
    ids = list(range(len(cells)))
    lake = cb.connect(uri)
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=[a for a, _ in cells]),
        }
    )  # fmt: skip
    tables.append(lake.location, "places", pa.table({"image_id": ids, "attribute": [b for _, b in cells]}))
    attributes = (
        "SELECT image_id, 'look' AS category, value AS attribute FROM labels UNION ALL "
        "SELECT image_id, 'place' AS category, attribute FROM places"
    )
    lake.create_materialized_view(
        "attributes", f"SELECT row_number() OVER () AS row_id, * FROM ({attributes})", "row_id", purpose="the owner's"
    )
    lake.refresh(executor="inline")
    (row,) = lake.sql("FROM attribute_confounding(attributes)").to_arrow().to_pylist()
    return row


@pytest.mark.parametrize(("few", "hidden"), [(3, True), (0, False), (12, False)])
def test_three_places_and_two_labels(build, tmp_path, few, hidden):
    counts = {("female", "far"): few, ("male", "far"): 14}
    counts |= {(label, place): 20 for label in ("female", "male") for place in ("in", "out")}
    row = asked(build, str(tmp_path / "a.lake"), counts)
    assert {row[column] is None for column in MEASURES} == {hidden}

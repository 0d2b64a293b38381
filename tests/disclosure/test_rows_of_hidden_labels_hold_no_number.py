"""Where a label is hidden as a whole, its rows hold no number at all, also none that another cell is a part of."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.disclosure.cells import Cells
from counterbalance.engine.disclosure.protection import Unseen, protect

G = "image_labels('perceived_gender')"


def test_nor_the_whole_of_which_a_count_is_a_part():
    rows = pa.table(
        {"cluster": ["x"] * 3, "label": list("abc"), "count": [20, 30, 40], "whole": [50, 60, 70], "n": [90] * 3}
    )
    cells = [Cells("count", of="n", out_of="whole", by=("label",), within=("cluster",), measures=("n",))]
    unseen = Unseen(((None, False, frozenset({"b"})),))
    made = protect(rows, cells, 10, "{}", closed=True, in_order=True, unseen=unseen)
    hidden = [row for row in made.to_pylist() if row["label"] == "b"]
    assert [(row["count"], row["whole"], row["n"]) for row in hidden] == [(None, None, None)]
    assert [row["whole"] for row in made.to_pylist() if row["label"] == "c"] == [70]


@pytest.fixture(scope="module")
def lake(build):
    """Of d there are 7, which c shelters."""
    values = ["a"] * 120 + ["b"] * 80 + ["c"] * 43 + ["d"] * 7
    ids = list(range(len(values)))
    lake = cb.connect("memory://hidden-rows")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    of_images = {
        "vecs": "SELECT image_id, CAST([image_id % 7 + 1, image_id % 5 - 2] AS FLOAT[]) AS embedding FROM images",
        "halves": "SELECT image_id, CASE WHEN image_id % 2 = 0 THEN 'x' ELSE 'y' END AS label FROM images",
    }
    for name, query in of_images.items():
        lake.create_materialized_view(name, query, "image_id")
    lake.refresh(executor="inline")
    return lake


@pytest.mark.parametrize(
    "sides",
    [
        "attributes := {0}, targets := halves, a := 'c', b := 'a', x := 'x', y := 'y'",
        "attributes := halves, targets := {0}, a := 'x', b := 'y', x := 'c', y := 'a'",
    ],
)
def test_whichever_side_a_call_names_it_for(lake, sides):
    call = f"SELECT * FROM ieat(images := vecs, {sides.format(G)}, permutations := 10)"
    for row in lake.sql(call).to_arrow().to_pylist():
        numbers = {v for k, v in row.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        assert row["suppressed"]
        assert not numbers

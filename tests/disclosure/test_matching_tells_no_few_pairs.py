"""image_text_matching hides the share of right pairs where few are right, or wrong; and a mean of so few values that tells it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables

SHARE = ("correct", "correct_low", "correct_high")


def asked(build, uri, differences):
    """IR_r of closed pairs with such differences of scores, which anybody can read."""
    ids = list(range(len(differences)))
    lake = cb.connect(uri)
    labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * len(ids), "value": ["x"] * len(ids)}
    lake.ingest({"images": build.images(image_id=ids), "labels": build.labels(**labels)})
    scores = {"rr": differences, **{head: [0.0] * len(ids) for head in ("r_o", "o_r", "cc", "c_o", "o_c")}}
    tables.append(lake.location, "open_scores", pa.table({"pair_id": ids, **scores}))
    reads = "SELECT * FROM open_scores WHERE pair_id IN (SELECT label_id FROM labels)"
    lake.create_materialized_view("scores", reads, "pair_id", purpose="the owner's")
    lake.refresh(executor="inline")
    rows = lake.sql("FROM image_text_matching(scores)").to_arrow().to_pylist()
    return next(r for r in rows if r["metric"] == "IR_r")


@pytest.mark.parametrize(("right", "hidden"), [(3, True), (37, True), (20, False), (0, False)])
def test_few_right_or_wrong(build, tmp_path, right, hidden):
    row = asked(build, str(tmp_path / "a.lake"), [i + 1.0 if i < right else -i - 1.0 for i in range(40)])
    assert {row[column] is None for column in SHARE} == {hidden}
    assert {row[column] is None for column in ("n_right", "n_wrong")} == {hidden}
    assert None not in {row[column] for column in ("n", "value", "low", "high")}


@pytest.mark.parametrize(("ties", "hidden"), [(3, True), (12, False)])
def test_a_mean_of_three_values(build, tmp_path, ties, hidden):
    """Mean and spread of so many 1, 0 and -1 are enough to tell how many there are of each."""
    row = asked(build, str(tmp_path / "a.lake"), [1.0] * 15 + [0.0] * ties + [-1.0] * 15)
    assert {row[column] is None for column in (*SHARE, "value", "low", "high")} == {hidden}
    assert row["n"] == 30 + ties

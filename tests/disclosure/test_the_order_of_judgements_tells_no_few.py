"""win_rates hides how often what was shown first wins where few images had the first, or the second, win."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables


@pytest.mark.parametrize(("few", "hidden"), [(5, True), (0, False), (20, False)])
@pytest.mark.parametrize("times", [1, 4])
@pytest.mark.parametrize("wins", [True, False])
def test_few_where_the_second_wins(build, tmp_path, few, hidden, times, wins):
    """Of 90 images, each judged so many times, a wins 60 and b 30; the second of the two in so many, or in all others."""
    ids = list(range(90))
    lake = cb.connect(str(tmp_path / "a.lake"))
    labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * 90, "value": ["x"] * 90}
    lake.ingest({"images": build.images(image_id=ids), "labels": build.labels(**labels)})
    winner = ["a" if i % 3 else "b" for i in ids]
    first = [w if (i < few) != wins else "ab"[w == "a"] for i, w in zip(ids, winner, strict=True)]
    second = ["ab"[f == "a"] for f in first]
    judged = {"image_id": ids, "first": first, "second": second, "winner": winner}
    table = pa.table({c: v * times for c, v in judged.items()} | {"row_id": list(range(90 * times))})
    tables.append(lake.location, "judged", table)
    reads = "SELECT * FROM judged WHERE image_id IN (SELECT image_id FROM labels)"
    lake.create_materialized_view("judgements", reads, "row_id", purpose="the owner's")
    lake.refresh(executor="inline")
    rows = lake.sql("FROM win_rates(judgements)").to_arrow().to_pylist()
    assert {r["first_rate"] is None for r in rows} == {hidden}
    assert {r["by_order"] is None for r in rows} == {hidden}
    assert {(r["wins"], r["losses"]) for r in rows} == {(60 * times, 30 * times), (30 * times, 60 * times)}
    assert None not in {r[c] for r in rows for c in ("rate", "low", "high", "p", "q", "images")}

"""win_rates hides how often what was shown first wins where few images had the first, or the second, win."""

from __future__ import annotations

import pytest
from repeats import again

import counterbalance as cb


@pytest.mark.parametrize(
    ("few", "hidden", "times", "wins"),
    [
        *((5, True, times, wins) for times in (1, 4) for wins in (True, False)),
        (0, False, 1, True),
        (20, False, 4, False),
        *again((0, False, 1, False), (0, False, 4, True), (0, False, 4, False)),
        *again((20, False, 1, True), (20, False, 1, False), (20, False, 4, True)),
    ],
)
def test_few_where_the_second_wins(build, store_closed, tmp_path, few, hidden, times, wins):
    """Of 90 images, each judged so many times, a wins 60 and b 30; the second of the two in so many, or in all others."""
    ids = list(range(90))
    lake = cb.connect(str(tmp_path / "a.lake"))
    labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * 90, "value": ["x"] * 90}
    lake.ingest({"images": build.images(image_id=ids), "labels": build.labels(**labels)})
    winner = ["a" if i % 3 else "b" for i in ids]
    first = [w if (i < few) != wins else "ab"[w == "a"] for i, w in zip(ids, winner, strict=True)]
    second = ["ab"[f == "a"] for f in first]
    judged = {"image_id": ids, "first": first, "second": second, "winner": winner}
    rows = {c: v * times for c, v in judged.items()} | {"row_id": list(range(90 * times))}
    store_closed(lake, "judgements", rows, "row_id")
    rows = lake.sql("FROM win_rates(judgements)").to_arrow().to_pylist()
    assert {r["first_rate"] is None for r in rows} == {hidden}
    assert {r["by_order"] is None for r in rows} == {hidden}
    assert {(r["wins"], r["losses"]) for r in rows} == {(60 * times, 30 * times), (30 * times, 60 * times)}
    assert None not in {r[c] for r in rows for c in ("rate", "low", "high", "p", "q", "images")}

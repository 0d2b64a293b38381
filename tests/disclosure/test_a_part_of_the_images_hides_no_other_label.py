"""Labels are shown or hidden alike whichever of the hidden labels few images without a scene have, and no count of these is shown."""

from __future__ import annotations

import pyarrow as pa

import counterbalance as cb
from counterbalance.engine.store import tables

G, S = "image_labels('perceived_gender')", "image_labels('scene')"


def lake_of(build, place, values, scenes):
    ids = [*range(len(values))]
    seen = [i for i in ids if scenes[i]]
    lake = cb.connect(str(place))
    labels = build.labels(
        label_id=[*range(len(ids) + len(seen))],
        image_id=ids + seen,
        attribute=["perceived_gender"] * len(ids) + ["scene"] * len(seen),
        value=[*values, *(scenes[i] for i in seen)],
    )
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    return lake


def halves(n, without=0):
    return ["in"] * (n // 2) + ["out"] * (n - n // 2) + [None] * without


def test_a_third_label_is_shown_or_hidden_alike(build, tmp_path):
    """Beside a scene, of d and e the one with fewer images was hidden with c: of twelve d without one, or of ten and two c."""
    values = ["a"] * 100 + ["b"] * 90 + ["e"] * 40
    scenes = halves(100) + halves(90) + halves(19, 21) + halves(25) + [None] * 12
    twins = (["c"] * 7 + ["d"] * 30, ["c"] * 5 + ["d"] * 20 + ["c"] * 2 + ["d"] * 10)
    rows = [
        lake_of(build, tmp_path / f"{n}.lake", values + hidden, scenes)
        .sql(f"FROM intersections({G}, {S})")
        .to_arrow()
        .to_pylist()
        for n, hidden in enumerate(twins)
    ]
    assert rows[0] == rows[1]


def test_a_category_is_shown_or_hidden_alike(build, tmp_path):
    """Of generations of two categories, 14 and 7 images had hidden labels: all of d the one, or one of c among them."""
    values = (["a"] * 40 + ["b"] * 40) * 2
    ids = [*range(len(values) + 21)]
    rows = []
    for n, hidden in enumerate((["d"] * 14 + ["c"] * 7, ["c", *["d"] * 13, "d", *["c"] * 6])):
        lake = lake_of(build, tmp_path / f"{n}.lake", values + hidden, [None] * len(ids))
        made = pa.table({"image_id": ids, "category": ["x"] * 80 + ["y"] * 80 + ["x"] * 14 + ["y"] * 7, "place": ids})
        tables.append(lake.location, "generations", made)
        called = f"generated_ratio(generations := generations, groups := {G}, label := 'a')"
        rows.append(lake.sql(f"FROM {called}").to_arrow().to_pylist())
    assert rows[0] == rows[1]
    assert {row["rarest"] for row in rows[0]} <= {None, 40}

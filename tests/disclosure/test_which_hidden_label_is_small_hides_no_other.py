"""Of labels that are hidden together, which has few images with something hides nothing of others, and shows nothing."""

from __future__ import annotations

import counterbalance as cb

G, S = "image_labels('perceived_gender')", "image_labels('scene')"
LARGE = {"a": {"thief": 45, "ape": 30, "tree": 72}, "b": {"thief": 40, "ape": 25, "tree": 60}}


def lake_of(build, name, counts):
    """A lake in which so many images of each label are taken for something, and have it as their scene."""
    rows = [(label, seen) for label, of in counts.items() for seen, n in of.items() for _ in range(n)]
    ids = [*range(len(rows))]
    lake = cb.connect(f"memory://{name}")
    values = [*(label for label, _ in rows), *(seen for _, seen in rows)]
    attributes = ["perceived_gender"] * len(ids) + ["scene"] * len(ids)
    labels = build.labels(label_id=[*range(2 * len(ids))], image_id=ids * 2, attribute=attributes, value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    seen = f"SELECT image_id, label AS predicted FROM {S}"
    lake.create_materialized_view("seen", seen, "image_id")
    harm = "SELECT * FROM (VALUES ('thief', 'crime'), ('ape', 'animal')) AS t(term, class)"
    lake.create_materialized_view("harm", harm, "term")
    lake.refresh(executor="inline")
    return lake


def test_twins_have_the_same_rows(build):
    """Of twelve images with an ape of the labels c, of 7 in all, and d, of 35, more are of one or of the other."""
    found = []
    for few in (1, 6):
        hidden = {"c": {"ape": few, "tree": 7 - few}, "d": {"ape": 12 - few, "tree": 23 + few}}
        lake = lake_of(build, f"twin-{few}", LARGE | hidden)
        found.append(lake.sql(f"FROM harmful_zero_shot(seen, {G}, harm)").to_arrow().to_pylist())
    assert found[0] == found[1]
    shown = {row["label"] for row in found[0] if not row["suppressed"]}
    assert shown == {"a", "b"}

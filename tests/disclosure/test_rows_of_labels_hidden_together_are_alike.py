"""Of labels that are hidden together nothing tells which is the small one: neither how many rows each has, nor a 0 in one of them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables

G, SCENE = "image_labels('perceived_gender')", "image_labels('scene')"
CALLS = {
    "intersections": f"intersections(groups := {G}, others := {SCENE})",
    "intersections, turned": f"intersections(groups := {SCENE}, others := {G})",
    "compare_intersections": f"compare_intersections({G}, {SCENE}, {SCENE}, {SCENE})",
    "attribute_matrix": "attribute_matrix(attributes, 'look', 'place')",
    "score_distribution": f"score_distribution('hateful', groups := {G})",
    "hate_content_rate": f"hate_content_rate(groups := {G})",
    "harmful_zero_shot": f"harmful_zero_shot(seen, {G})",
    "cluster_representation": f"cluster_representation(clusters, {G})",
    "crime_words": f"crime_words({G})",
    "geography": f"geography({G})",
}


def lake_of(build, path, seed):
    """A lake in which label b or c has few images, and the other just enough; both are hidden."""
    draw = random.Random(seed)
    few, enough = draw.randint(1, 2), draw.randint(10, 12)
    counts = {"a": 70, **dict(zip(draw.sample(["b", "c"], 2), (few, enough), strict=True))}
    values = [label for label, count in counts.items() for _ in range(count)]
    draw.shuffle(values)
    size = len(values)
    ids = list(range(size))
    scene = draw.choices(["s1", "s2", "s3"], [70, 22, 8], k=size)
    texts = [draw.choice(["a thief in France", "a walk in Japan", "a murderer", "a dog"]) for _ in ids]
    lake = cb.connect(str(path))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "labels": build.labels(
                label_id=list(range(3 * size)), image_id=ids * 3,
                attribute=["perceived_gender"] * size + ["scene"] * size + ["hateful"] * size,
                value=[*values, *scene, *["yes"] * size], score=[draw.random() for _ in range(3 * size)],
                annotator=["x"] * 3 * size,
            ),
        }
    )  # fmt: skip
    stored = {
        "seen": {"image_id": ids, "predicted": draw.choices(["thief", "animal", "tree"], k=size)},
        "clusters": {"image_id": ids, "cluster": draw.choices([1, 2, 3], [60, 35, 5], k=size)},
    }
    for name, columns in stored.items():
        tables.append(lake.location, name, pa.table(columns))
    lake.create_materialized_view(
        "attributes",
        "SELECT label_id, image_id, CASE attribute WHEN 'scene' THEN 'place' ELSE 'look' END AS category, value AS attribute"
        " FROM labels WHERE attribute <> 'hateful'",
        "label_id",
        purpose="the owner's",
    )
    lake.refresh(executor="inline")
    return lake


def seen_of(rows, label, swapped):
    """Which numbers the rows of a label show, with the names of the other label put in place."""
    found = []
    for row in rows:
        if label in row.values():
            keys = tuple(sorted((k, swapped if v == label else v) for k, v in row.items() if isinstance(v, str)))
            own = [k for k, v in row.items() if v is not None and not isinstance(v, (str, bool))]
            found.append((keys, tuple(sorted(own))))
    return sorted(found)


@pytest.fixture(scope="module", params=[0, *(pytest.param(s, marks=pytest.mark.thorough) for s in (1, 2))])
def lake(build, tmp_path_factory, request):
    return lake_of(build, tmp_path_factory.mktemp("alike") / "a.lake", request.param)


@pytest.mark.parametrize("audit", CALLS)
def test_the_same_is_shown_of_both(lake, audit):
    rows = lake.sql(f"SELECT * EXCLUDE (params) FROM {CALLS[audit]}").to_arrow().to_pylist()
    assert seen_of(rows, "b", "c") == seen_of(rows, "c", "c")

"""The same data gives the same bytes: on one thread or several, run again, and whatever the order rows were stored in."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.schema import BASE_TABLES

IMAGES = 40_000  # enough rows for DuckDB to share them out between threads
WORDS = "man woman boy girl he she dog cat table tree red blue ball park murder robber France German happy sad awful".split()  # noqa: SIM905
CALLS = {
    "agreement": {"attribute": "scene"},
    "balance": {},
    "compare_crime_words": {"others": "image_labels('scene')", "other_texts": "captions"},
    "compare_demographics": {"others": "image_labels('scene')", "groups": "image_labels('scene', annotator := 'A')"},
    "compare_intersections": {
        "others": "image_labels('scene')",
        "crossed": "image_labels('scene', annotator := 'A')",
        "others_crossed": "caption_gender",
    },
    "compare_sentiment": {"others": "image_labels('scene')", "other_texts": "captions"},
    "concept_ratio": {"min_count": 20, "definition": "rate_difference"},
    "cooccurrence": {"concepts": "word_concepts", "population": "labelled"},
    "crime_words": {"groups": "image_labels('scene')"},
    "demographics": {"groups": "image_labels('scene')"},
    "detection_recall": {
        "predicted": "(SELECT image_id, 'a' AS category, caption_id % 7 AS x, 0 AS y, 40 AS width, 30 + caption_id % 5 AS height, "
        "caption_id * 37 % 101 AS score FROM captions)",
        "truth": "(SELECT image_id, 'a' AS category, 9 * (caption_id % 2) AS x, 0 AS y, 40 AS width, 30 AS height, "
        "false AS is_crowd FROM captions)",
        "groups": "image_labels('scene')",
    },
    "geography": {},
    "hate_content_rate": {"attribute": "hateful", "groups": "caption_gender", "tau": [0.3, 0.5]},
    "intersections": {"groups": "caption_gender", "others": "image_labels('scene')"},
    "keyword_profile": {"groups": "image_labels('scene')"},
    "label_validation": {"attribute": "scene", "model": "image_labels('scene', annotator := 'A')"},
    "min_size_study": {
        "labels": "(SELECT image_id AS detection_id, value AS label FROM labels WHERE annotator = 'A')",
        "reference": "(SELECT image_id AS detection_id, value AS label FROM labels WHERE annotator = 'b@s')",
        "detections": "(SELECT image_id AS detection_id, image_id % 400 AS width, 350 AS height FROM images)",
    },
    "retrieval_bias": {
        "items": "(SELECT * FROM captions WHERE caption_id < 400)",
        "groups": "caption_gender",
        "skew_k": [5, 30],
    },
    "retrieval_bias_queries": {
        "items": "(SELECT * FROM captions WHERE caption_id < 200)",
        "groups": "caption_gender",
        "skew_k": [5],
    },
    "sentiment": {"groups": "image_labels('scene')"},
}


def tables(order):
    """Base tables; ``order`` shuffles their rows, nothing else."""
    draw = np.random.default_rng(11)
    n = IMAGES
    pool = np.array([" ".join(draw.choice(WORDS, draw.integers(1, 7))) for _ in range(2_000)])
    shuffle = np.random.default_rng(order).permutation
    scenes = draw.choice(["in", "out", "unclear"], 3 * n, p=[0.5, 0.4, 0.1]).tolist()
    labels = {
        "label_id": list(range(4 * n)),
        "image_id": [*np.repeat(range(n), 3).tolist(), *range(n)],
        "attribute": ["scene"] * 3 * n + ["hateful"] * n,
        "value": scenes + ["yes"] * n,
        "score": [None] * 3 * n + draw.random(n).tolist(),
        "annotator": ["A", "b@s", "c@s"] * n + ["model"] * n,
    }
    columns = {
        "images": {"image_id": list(range(n))},
        "captions": {
            "caption_id": list(range(2 * n)),
            "image_id": np.repeat(range(n), 2).tolist(),
            "text": draw.choice(pool, 2 * n).tolist(),
        },
        "labels": labels,
    }
    found = {}
    for name, own in columns.items():
        schema = BASE_TABLES[name].schema()
        table = pa.table({c: pa.array(v, schema.field(c).type) for c, v in own.items()})
        found[name] = table.take(shuffle(len(table)))
    return found


@pytest.fixture(scope="module")
def lakes():
    made = []
    for order in (0, 1):
        lake = cb.connect(f"memory://reproducible-{os.getpid()}-{order}")
        for name, table in tables(order).items():
            lake.ingest({name: table.slice(0, len(table) // 2)})
            lake.ingest({name: table.slice(len(table) // 2)})
        made.append(lake)
    return made


def answer(lake, name, threads):
    with lake.session(threads=threads) as session:
        return session.audit(name, **CALLS[name]).to_arrow()


def test_every_audit_is_here():
    assert set(CALLS) == set(cb.audits())


@pytest.mark.parametrize("name", sorted(CALLS))
def test_same_bytes(lakes, name):
    first = answer(lakes[0], name, 1)
    assert first.num_rows > 0
    for lake, threads in ((lakes[0], 2), (lakes[0], 4), (lakes[1], 2)):
        assert answer(lake, name, threads).equals(first)


def test_same_bytes_of_many_hits(lakes):
    """Averages of half a million irrational numbers."""
    draw = np.random.default_rng(5)
    queries, cut, items = 10_000, 50, 2_000
    hits = pa.table(
        {
            "query_id": np.repeat(np.arange(queries), cut),
            "item_id": (draw.integers(0, items, (queries, 1)) + 7 * np.arange(cut)).ravel() % items,
            "rank": pa.array(np.tile(np.arange(1, cut + 1), queries), pa.int32()),
            "score": draw.random(queries * cut),
        }
    )
    labels = pa.table({"item_id": np.arange(items), "label": draw.choice(["male", "female", "other"], items).tolist()})
    given = {"item_groups": labels, "k": [5], "skew_k": [10, 50]}
    answers = []
    for order, threads in ((None, 1), (None, 2), (1, 4)):
        rows = hits if order is None else hits.take(np.random.default_rng(order).permutation(len(hits)))
        with lakes[0].session(threads=threads) as session:
            result = session.audit("retrieval_bias", hits=rows, labelled_hits=rows, **given).to_arrow()
        answers.append(result.drop_columns("params"))
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])


@pytest.mark.parametrize(
    "view", ["balanced_subset(seed := 3, rest := 'proportional')", "image_labels('scene')", "caption_gender"]
)
def test_same_rows_of_views(lakes, view):
    rows = {
        tuple(lake.sql(f"SELECT * FROM {view} ORDER BY ALL", threads=threads).fetchall())
        for lake, threads in ((lakes[0], 1), (lakes[0], 2), (lakes[1], 2))
    }
    assert len(rows) == 1

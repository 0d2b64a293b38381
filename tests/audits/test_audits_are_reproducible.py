"""The same data gives the same bytes: on one thread or several, run again, and whatever the order rows were stored in."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from repeats import again, chosen

import counterbalance as cb
from counterbalance.engine.schema import BASE_TABLES

IMAGES = 20_000  # enough rows for DuckDB to share them out between threads
WORDS = "man woman boy girl he she dog cat table tree red blue ball park murder robber France German happy sad awful".split()  # noqa: SIM905
EDITS = (
    "(SELECT caption_id AS edit_id, image_id, CASE WHEN caption_id % 2 = 0 THEN 'male' ELSE 'female' END AS label "
    "FROM captions WHERE caption_id % 50 <> 0)"
)
HITS = (
    "(SELECT caption_id % 20 AS query_id, caption_id * {} % 997 AS item_id, CAST(caption_id // 20 + 1 AS INTEGER) AS rank, "
    "0.5 AS score FROM captions WHERE caption_id < 200)"
)
VECTORS = "(SELECT {0} AS {1}, image_id, [sin({0} * 7), cos({0} * 3)] AS a, [sin({0}), cos({0} * 5)] AS b, [sin({0}), cos({0})] AS embedding FROM {2})"
ITEMS = (
    "(SELECT image_id AS item_id, image_id, CASE WHEN image_id % 3 = 0 THEN 'male' ELSE 'female' END AS label, "
    "[sin(image_id * {}), cos(image_id)] AS embedding FROM images)"
)
FEATURES = {
    "features": (
        "(SELECT image_id, 0 AS sae, caption_id % 50 AS feature FROM captions UNION ALL SELECT image_id, 1, "
        "1048576 + caption_id % 37 FROM captions)"
    ),
    "shares": (
        "(SELECT DISTINCT 1 + caption_id % 2 AS step, 0 AS sae, caption_id % 50 AS feature, concat('c', "
        "caption_id % 5) AS cluster, 1e0 / (3 + caption_id % 5) AS share FROM captions UNION ALL SELECT "
        "DISTINCT 1 + caption_id % 2, 1, 1048576 + caption_id % 37, concat('c', caption_id % 7), 1e0 / (2 + "
        "caption_id % 7) FROM captions)"
    ),
    "clusters": (
        "(SELECT DISTINCT 1 + caption_id % 2 AS step, concat('c', caption_id % 7) AS cluster, concat('t', "
        "caption_id % 14) AS topic FROM captions)"
    ),
}
CALLS = {
    "topic_pmi": {**FEATURES, "rule": "best", "best": 4},
    "agreement": {"attribute": "scene"},
    "artifact_shift": {
        "edited": "(SELECT image_id, CASE WHEN image_id % 2 = 0 THEN 'male' ELSE 'female' END AS label, "
        "[sin(image_id * 7), cos(image_id * 3)] AS embedding FROM images WHERE image_id < 400)",
        "originals": "(SELECT image_id, [sin(image_id * 5), cos(image_id)] AS embedding FROM images)",
    },
    "balance": {},
    "bias_transfer": {
        "dataset_bias": "(SELECT term AS concept, length(term) * sqrt(length(class)) AS value FROM lists.crime_words)",
        "model_bias": "(SELECT term AS category, sin(length(term)) AS value FROM lists.crime_words)",
        "degree": 3,
        "show": "all",
        "interval": "bootstrap",
        "resamples": 50,
    },
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
    "contrast_balance": {
        "contrast": EDITS,
        "concepts": "word_concepts",
        "objects": "(SELECT caption_id AS edit_id, CASE WHEN caption_id % 9 < 4 THEN 'dog' ELSE 'cat' END AS concept FROM captions)",
        "colors": "(SELECT caption_id AS edit_id, [0.1 + caption_id % 7 / 9, 0.3, image_id % 11 / 13] AS grid FROM captions)",
    },
    "counterfactual_retrieval": {
        f"{part}{name}": given
        for part, step in (("", 7), ("original_", 13))
        for name, given in (
            (
                "texts",
                f"(SELECT caption_id AS text_id, caption_id // 2 * {step} % 997 AS image_id, caption_id // 3 AS source_id FROM captions)",
            ),
            ("text_hits", HITS.format(step)),
            ("image_hits", HITS.format(step)),
        )
    },
    "crime_words": {"groups": "image_labels('scene')"},
    "demographics": {"groups": "image_labels('scene')"},
    "detection_recall": {
        "predicted": "(SELECT image_id, 'a' AS category, caption_id % 7 AS x, 0 AS y, 40 AS width, 30 + caption_id % 5 AS height, "
        "caption_id * 37 % 101 AS score FROM captions)",
        "truth": "(SELECT image_id, 'a' AS category, 9 * (caption_id % 2) AS x, 0 AS y, 40 AS width, 30 AS height, "
        "false AS is_crowd FROM captions)",
        "groups": "image_labels('scene')",
    },
    "directional_amplification": {
        "predicted_concepts": "(SELECT image_id, CASE WHEN image_id % 7 < 5 THEN concept ELSE 'dog' END AS concept FROM word_concepts)",
        "predicted_groups": "image_labels('scene', annotator := 'A')",
        "groups": "image_labels('scene')",
        "concepts": "word_concepts",
        "show": "all",
    },
    "cluster_representation": {"clusters": "(SELECT DISTINCT image_id, image_id % 7 AS cluster FROM captions)"},
    "edit_quality": {
        "edits": "(SELECT caption_id AS edit_id, image_id, CASE WHEN caption_id % 2 = 0 THEN 'male' ELSE 'female' END AS label, "
        "concat('t', caption_id % 3) AS template, caption_id % 5 < 3 AS accepted, "
        "CASE WHEN caption_id % 7 < 5 THEN 'male' ELSE 'female' END AS predicted, caption_id % 100 // 99 AS background "
        "FROM captions)",
        "hits": "(SELECT caption_id AS query_id, caption_id * 7 % 1000 AS item_id, 1 AS rank, 0.5 AS score FROM captions "
        "WHERE caption_id < 1000)",
    },
    "generated_ratio": {
        "generations": "(SELECT image_id, caption_id % 5 AS place, concat('c', caption_id % 9) AS category FROM captions)",
        "groups": "caption_gender",
        "most": 1000,
    },
    "geography": {},
    "harmful_zero_shot": {
        "predictions": "(SELECT image_id, CASE WHEN image_id % 7 = 0 THEN 'Thief' ELSE 'dog' END AS predicted FROM images)",
        "groups": "caption_gender",
    },
    "hate_content_rate": {"attribute": "hateful", "groups": "caption_gender", "tau": [0.3, 0.5]},
    "image_text_matching": {
        "scores": "(SELECT caption_id AS pair_id, sqrt(caption_id) AS rr, sin(caption_id) AS r_o, ln(1 + caption_id) AS o_r, "
        "cos(caption_id) AS cc, ln(2 + caption_id) AS c_o, sin(2 * caption_id) AS o_c FROM captions)"
    },
    "intersections": {"groups": "caption_gender", "others": "image_labels('scene')"},
    "keyword_profile": {"groups": "image_labels('scene')"},
    "label_validation": {"attribute": "scene", "model": "image_labels('scene', annotator := 'A')"},
    "leakage": {
        "data": "(SELECT image_id, unnest(string_split(text, ' ')) AS concept FROM captions WHERE caption_id < 1500)",
        "model": "(SELECT image_id, unnest(string_split(text, ' ')) AS concept FROM captions WHERE caption_id < 1000)",
        "seeds": 2,
    },
    "lic": {
        "human": "(SELECT * FROM captions WHERE caption_id < 1500)",
        "generated": "(SELECT caption_id, image_id, reverse(text) AS text FROM captions WHERE caption_id < 1500)",
        "captions_each": 2,
        "seeds": 2,
    },
    "min_size_study": {
        "labels": "(SELECT image_id AS detection_id, value AS label FROM labels WHERE annotator = 'A')",
        "reference": "(SELECT image_id AS detection_id, value AS label FROM labels WHERE annotator = 'a1@s')",
        "detections": "(SELECT image_id AS detection_id, image_id, image_id % 400 AS width, 350 AS height FROM images)",
    },
    "ratio": {"texts": "captions"},
    "ratio_shift": {
        "original": "captions",
        "inpainted": "(SELECT image_id, concat('a man ', text) AS text FROM captions)",
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
    "retrieval_bias_models": {
        "columns": ["a", "b"],
        "asked": VECTORS.format("caption_id", "query_id", "captions WHERE caption_id < 6000"),
        "ranked": VECTORS.format("image_id", "item_id", "images"),
        "groups": "caption_gender",
    },
    "retrieval_bias_sets": {
        "asked": VECTORS.format("caption_id", "query_id", "captions WHERE caption_id < 200"),
        **{name: ITEMS.format(step) for name, step in (("original", 1), ("balanced", 3), ("contrast", 5))},
        "k": [3],
        "skew_k": [5],
    },
    "score_distribution": {"attribute": "hateful", "groups": "caption_gender"},
    "sentiment": {"groups": "image_labels('scene')"},
    "spurious_probe": {
        "texts": "(SELECT * FROM captions WHERE caption_id < 1500)",
        "vectors": "(SELECT image_id, [sin(image_id), cos(image_id * 3)] AS embedding FROM images WHERE image_id < 500)",
        "seeds": 2,
    },
    "spurious_correlations": {"groups": "image_labels('scene')", "top": 200},
    "win_rates": {
        "judgements": "(SELECT image_id, 'a' AS first, concat('m', caption_id % 3) AS second, CASE WHEN sin(caption_id) > 0.3 "
        "THEN 'a' WHEN sin(caption_id) > -0.2 THEN 'tie' ELSE concat('m', caption_id % 3) END AS winner FROM captions)"
    },
    "subject_errors": {
        "alterations": "(SELECT caption_id AS pair_id, concat('w', caption_id % 5) AS original, concat('w', 7 + caption_id % 3) "
        "AS counterfactual FROM captions)",
        "answers": "(SELECT caption_id // 2 AS pair_id, CASE WHEN caption_id % 2 = 0 THEN 'original' ELSE 'counterfactual' END "
        "AS side, 'a' AS annotator, CASE WHEN caption_id % 7 < 3 THEN 'original' ELSE 'both' END AS answer FROM captions)",
    },
    "subject_alterations": {
        "pairs": "(SELECT caption_id AS pair_id, text AS original, replace(replace(text, 'man', 'boy'), 'dogs', 'cat') "
        "AS counterfactual FROM captions)"
    },
}


IMAGE_VECTORS = "(SELECT image_id, [sin(image_id * 7), cos(image_id * 3), 1]::FLOAT[3] AS embedding FROM images)"
CATEGORY_VECTORS = "(SELECT concat('c', image_id % 7) AS category, [sin(image_id), 1, 0]::FLOAT[3] AS embedding FROM images WHERE image_id < 9)"
CALLS |= {
    **{
        name: {"images": IMAGE_VECTORS, "categories": CATEGORY_VECTORS, "groups": "caption_gender"}
        for name in ("association", "casc", "similarity_bias")
    },
    "ieat": {
        "images": "(SELECT image_id, [sin(image_id * 7), cos(image_id * 3)] AS embedding FROM images WHERE image_id < 300)",
        "attributes": "(SELECT image_id, CASE WHEN image_id % 3 = 0 THEN 'p' ELSE 'q' END AS label FROM images)",
        "a": "p",
        "b": "q",
        "permutations": 200,
    },
    "markedness": {"images": IMAGE_VECTORS, "prompts": CATEGORY_VECTORS, "groups": "caption_gender", "unmarked": "c1"},
    "self_similarity": {"images": IMAGE_VECTORS, "groups": "caption_gender"},
    "so_b_it": {"images": IMAGE_VECTORS, "words": CATEGORY_VECTORS, "groups": "caption_gender"},
    "weat": {
        "vectors": "(SELECT substr('xyab', 1 + image_id % 4, 1) AS class, [sin(image_id), cos(image_id * 3)] AS embedding "
        "FROM images WHERE image_id < 100)",
        "permutations": 200,
    },
}


CROSSED = (
    "(SELECT image_id, attribute AS category, value AS attribute FROM labels UNION ALL "
    "SELECT image_id, 'third' AS category, concat('t', image_id % 7 // 2) AS attribute FROM images)"
)
TERMS = "(SELECT concat('w', image_id) AS term, [sin(image_id * 7), cos(image_id * 3), 1] AS embedding FROM images WHERE image_id {})"
CALLS |= {
    "average_precision": {
        "predictions": "(SELECT image_id, concept, sin(image_id * 7) AS score FROM images CROSS JOIN (SELECT unnest(['dog', 'cat']) AS concept))",
        "truth": "(SELECT image_id, CASE WHEN image_id % 3 = 0 THEN 'dog' ELSE 'cat' END AS concept FROM images)",
    },
    "attribute_auc": {
        "scores": "(SELECT caption_id AS image_id, 'x' AS category, 'a' AS attribute, sin(caption_id) AS score FROM captions)",
        "labels": "(SELECT caption_id AS image_id, 'x' AS category, CASE WHEN caption_id % 3 = 0 THEN 'a' ELSE 'b' END "
        "AS attribute FROM captions)",
    },
    **{name: {"attributes": CROSSED} for name in ("attribute_confounding", "attribute_frequencies")},
    "attribute_matrix": {"category": "scene", "other": "third", "attributes": CROSSED},
    "compare_attributes": {"attributes": CROSSED, "others": f"(SELECT * FROM {CROSSED} AS c WHERE image_id < 200)"},
    "proposal_recall": {"proposal": TERMS.format("< 100"), "reference": TERMS.format("BETWEEN 50 AND 200")},
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
        "annotator": ["A", "a1@s", "a2@s"] * n + ["model"] * n,
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


MADE_OF_OTHERS = ("compare_", "retrieval_bias_")
LIKE_OTHERS = {
    "attribute_matrix",  # attribute_frequencies
    "casc",  # association
    "cluster_representation",  # geography: shares of images
    "concept_ratio",  # cooccurrence
    "generated_ratio",  # ratio
    "harmful_zero_shot",  # crime_words
    "hate_content_rate",  # crime_words: shares of images above a limit
    "ieat",  # weat
    "intersections",  # demographics
    "leakage",  # lic
    "markedness",  # so_b_it
    "score_distribution",  # sentiment: means of scores
    "similarity_bias",  # association
}
"""Audits that add up the same things as one that runs by default, which is named beside each."""


@pytest.mark.cases(12)
@pytest.mark.parametrize(
    "name", chosen(sorted(CALLS), *(n for n in CALLS if not n.startswith(MADE_OF_OTHERS) and n not in LIKE_OTHERS))
)
def test_same_bytes(lakes, name, record_property):
    record_property("answers", 2)
    first = answer(lakes[0], name, 1)
    assert first.num_rows > 0
    assert answer(lakes[1], name, 4).equals(first)  # rows stored in another order, more threads


@pytest.mark.thorough
def test_same_bytes_of_many_hits(lakes, record_property):
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
    of_images = pa.table({"query_id": np.arange(queries), "image_id": np.arange(queries) // 3})
    given = {"item_groups": labels, "query_images": of_images, "k": [5], "skew_k": [10, 50]}
    answers = []
    for order, threads in ((None, 1), (None, 2), (1, 4)):
        rows = hits if order is None else hits.take(np.random.default_rng(order).permutation(len(hits)))
        with lakes[0].session(threads=threads) as session:
            result = session.audit("retrieval_bias", hits=rows, labelled_hits=rows, **given).to_arrow()
        answers.append(result.drop_columns("params"))
    assert answers[0].equals(answers[1])
    assert answers[0].equals(answers[2])
    record_property("answers", len(answers))


@pytest.mark.parametrize(
    "view", ["balanced_subset(seed := 3, rest := 'proportional')", "image_labels('scene')", *again("caption_gender")]
)
def test_same_rows_of_views(lakes, view, record_property):
    record_property("answers", 3)
    rows = {
        tuple(lake.sql(f"SELECT * FROM {view} ORDER BY ALL", threads=threads).fetchall())
        for lake, threads in ((lakes[0], 1), (lakes[0], 2), (lakes[1], 2))
    }
    assert len(rows) == 1

"""Every audit gives the same rows on Spark as on DuckDB.

Spark takes seconds to plan one. By default those run that are quickly planned and, with the views, are made of most that any
audit is made of; ``FEW`` of them are made of all of it, and run for `make thorough`, as do then the others.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from repeats import again
from spark_marks import ON_SPARK
from sqlglot import exp

import counterbalance as cb
from counterbalance.engine.schema import BASE_TABLES

pytestmark = ON_SPARK

IMAGES = 300
WORDS = "man woman boy girl he she dog cat table tree red blue ball park car baby smile".split()  # noqa: SIM905
RANKINGS = "hits := hits_given, labelled_hits := hits_given, item_groups := item_groups_given"
OWN = "query_images := (SELECT query_id, query_id % 13 AS image_id FROM hits_given)"
ITSELF = "item_images := (SELECT item_id, item_id AS image_id FROM item_groups_given)"
SEEN = "(SELECT item_id AS image_id, label FROM item_groups_given)"
ODD = "(SELECT item_id AS image_id, CASE WHEN item_id % 7 < 3 THEN 'x' ELSE 'y' END AS label FROM item_groups_given)"
EDITS = "(SELECT caption_id AS edit_id, image_id, CASE WHEN caption_id % 2 = 0 THEN 'a' ELSE 'b' END AS label FROM captions)"
ATTRIBUTES = "(SELECT image_id, attribute AS category, value AS attribute FROM labels)"
TWICE = (
    "(SELECT h.*, v.vectors FROM hits_given AS h CROSS JOIN (SELECT 'a model' AS vectors UNION ALL SELECT 'b') AS v)"
)
ITEMS = "(SELECT item_id, item_id AS image_id, label FROM item_groups_given)"
SETS = ", ".join(
    f"{s} := {ITEMS}, {s}_hits := hits_given, {s}_labelled := hits_given" for s in ("original", "balanced", "contrast")
)
SHARES = (
    "(SELECT DISTINCT 1 + caption_id % 2 AS step, 0 AS sae, caption_id % 50 AS feature, concat('c', "
    "caption_id % 5) AS cluster, 1e0 / (3 + caption_id % 5) AS share FROM captions UNION ALL SELECT "
    "DISTINCT 1 + caption_id % 2, 1, 1048576 + caption_id % 37, concat('c', caption_id % 7), 1e0 / (2 + "
    "caption_id % 7) FROM captions)"
)
CLUSTERS = (
    "(SELECT DISTINCT 1 + caption_id % 2 AS step, concat('c', caption_id % 7) AS cluster, concat('t', "
    "caption_id % 14) AS topic FROM captions)"
)
FEATURES = (
    "(SELECT image_id, 0 AS sae, caption_id % 50 AS feature FROM captions UNION ALL SELECT image_id, 1, "
    "1048576 + caption_id % 37 FROM captions)"
    f", {SHARES}, {CLUSTERS}"
)
LOOKS = (
    "attributes := known_attributes(colors := (SELECT image_id, list_value(0.1, image_id % 7 / 9, 0.5, image_id % 3 / 4, 0.9, 0.125) "
    "AS grid FROM images), without := lists.stop_words)"
)
CALLS = {
    "topic_pmi": [
        f"{FEATURES}, image_labels('colour'), rule := 'best', best := 3, min_count := 0",
    ],
    "agreement": ["'scene'"],
    "attribute_auc": [
        "(SELECT caption_id AS image_id, 'word' AS category, 'dog' AS attribute, caption_id % 37 AS score FROM captions), "
        "(SELECT caption_id AS image_id, 'word' AS category, CASE WHEN text LIKE '%dog%' THEN 'dog' ELSE 'none' END AS attribute "
        "FROM captions)"
    ],
    "attribute_frequencies": [ATTRIBUTES],
    "average_precision": [
        "(SELECT image_id, 'dog' AS concept, image_id % 37 AS score FROM images), "
        "(SELECT image_id, 'dog' AS concept FROM captions WHERE text LIKE '%dog%')"
    ],
    "balance": [""],
    "compare_attributes": [f"{ATTRIBUTES}, (SELECT * FROM {ATTRIBUTES} AS a WHERE image_id < 150)"],
    "cluster_representation": [
        "(SELECT image_id, CASE WHEN caption_id < 30 THEN 1 ELSE caption_id % 3 + 2 END AS cluster FROM captions), min_count := 12",
    ],
    "compare_demographics": ["image_labels('colour'), image_labels('scene')"],
    "compare_intersections": [f"{SEEN}, (SELECT * FROM {SEEN} AS g WHERE image_id % 5 > 0), {ODD}, {ODD}"],
    "bias_transfer": [
        "concept_ratio(min_count := 20), (SELECT concept AS category, value * value AS value FROM "
        "concept_ratio(min_count := 10)), show := 'all', degree := 3",
    ],
    "concept_ratio": ["min_count := 20", "min_count := 20, definition := 'rate_difference'"],
    "contrast_balance": [
        f"(SELECT * FROM {EDITS} AS e WHERE edit_id % 40 <> 7), word_concepts, "
        "objects := (SELECT caption_id AS edit_id, 'dog' AS concept FROM captions WHERE text LIKE '%dog%'), "
        "colors := (SELECT caption_id AS edit_id, list_value(0.25, caption_id % 7 / 9, 0.5, 0.0, 1.0, 0.125) AS grid FROM captions)",
    ],
    "cooccurrence": [
        "concepts := word_concepts, population := 'labelled', smoothing := 0.5",
        "image_labels('colour'), label_concepts('scene'), min_count := 0",
    ],
    "counterfactual_retrieval": [
        "(SELECT caption_id AS text_id, caption_id AS image_id, image_id AS source_id FROM captions), (SELECT caption_id AS text_id, "
        "image_id, image_id AS source_id FROM captions), text_hits := hits_given, image_hits := hits_given, original_text_hits := "
        "hits_given, original_image_hits := hits_given, min_count := 2"
    ],
    "demographics": ["", "person_units('colour', annotator := 'A')"],
    "directional_amplification": [
        "(SELECT image_id, category AS concept FROM detections WHERE detection_id % 5 > 0), (SELECT item_id AS image_id, "
        "CASE WHEN item_id % 7 = 0 THEN 'male' ELSE label END AS label FROM item_groups_given), "
        f"groups := {SEEN}, show := 'all', sets := 'subsets', min_count := 5"
    ],
    "edit_quality": [
        f"(SELECT *, CASE WHEN edit_id % 3 = 0 THEN 'x' ELSE 'y' END AS template, edit_id % 5 < 3 AS accepted, "
        f"CASE WHEN edit_id % 7 < 4 THEN 'a' ELSE 'b' END AS predicted, edit_id % 50 AS background FROM {EDITS} AS e), "
        "hits := hits_given, min_count := 5"
    ],
    "generated_ratio": [
        "(SELECT caption_id // 2 AS image_id, caption_id % 3 AS place, 'a' AS category FROM captions), caption_gender, most := 90"
    ],
    "harmful_zero_shot": [
        "(SELECT image_id, CASE WHEN image_id % 5 = 0 THEN 'Animal' WHEN image_id % 3 = 0 THEN 'thief' ELSE 'dog' END AS predicted "
        "FROM images), min_count := 3"
    ],
    "hate_content_rate": ["tau := [0.3, 0.5]"],
    "score_distribution": ["'hateful', groups := caption_gender"],
    "subject_errors": [
        "(SELECT caption_id AS pair_id, concat('w', caption_id % 3) AS original, concat('w', 3 + caption_id % 2) AS counterfactual "
        "FROM captions), (SELECT caption_id // 2 AS pair_id, CASE WHEN caption_id % 2 = 0 THEN 'original' ELSE 'counterfactual' END "
        "AS side, 'a' AS annotator, CASE WHEN caption_id % 5 < 3 THEN 'original' ELSE 'both' END AS answer FROM captions), "
        "min_count := 2"
    ],
    "win_rates": [
        "(SELECT image_id, 'a' AS first, concat('m', caption_id % 3) AS second, CASE WHEN caption_id % 5 < 2 THEN 'a' "
        "WHEN caption_id % 5 < 3 THEN 'tie' ELSE concat('m', caption_id % 3) END AS winner FROM captions)"
    ],
    "image_text_matching": [
        "(SELECT caption_id AS pair_id, sqrt(caption_id) AS rr, caption_id % 7 AS r_o, 3 AS o_r, "
        "CASE WHEN caption_id > 9 THEN 4 END AS cc, 3 AS c_o, caption_id % 7 AS o_c FROM captions)"
    ],
    "intersections": [
        "caption_gender, image_labels('scene')",
    ],
    "keyword_profile": ["without := lists.gender_words"],
    "min_size_study": [
        "person_labels('colour', 0, annotator := 'A'), person_labels('colour', 0, annotator := 'B'), bins := [30, 60, 90]"
    ],
    "ratio": ["captions", "(SELECT image_id, text FROM captions WHERE image_id < 40)"],
    "ratio_shift": ["captions, (SELECT image_id, lower(text) AS text FROM captions WHERE image_id < 200)"],
    "retrieval_bias": [f"{RANKINGS}, {OWN}, {ITSELF}, relevant := relevant_given, skew_k := [10, 20]"],
    "retrieval_bias_models": [
        f"asked := hits_given, ranked := hits_given, columns := ['x'], hits := {TWICE}, labelled_hits := {TWICE}, "
        f"item_groups := item_groups_given, {ITSELF}, relevant := relevant_given, skew_k := [10, 20]"
    ],
    "retrieval_bias_queries": [f"{RANKINGS}, skew_k := [10, 20], desired := 'uniform', absent := 'floor'"],
    "retrieval_bias_sets": [
        f"asked := (SELECT query_id, query_id % 13 AS image_id FROM hits_given), {SETS}, skew_k := [10]"
    ],
    "spurious_correlations": [f"image_labels('colour'), {LOOKS}, top := NULL"],
    "subject_alterations": [
        "(SELECT caption_id AS pair_id, text AS original, replace(replace(text, 'dog', 'cats'), 'boy', 'dog dog') AS counterfactual "
        "FROM captions), min_count := 3"
    ],
}
VECTORS = "(SELECT image_id, list_value(image_id * 7 % 11 / 10, image_id * 3 % 7 / 10, 1e0) AS embedding FROM images)"
CATEGORIES = "(SELECT concat('c', image_id) AS category, list_value(image_id % 3, 1e0, 0e0) AS embedding FROM images WHERE image_id < 5)"
EDITED = f"(SELECT image_id, CASE WHEN image_id % 2 = 0 THEN 'male' ELSE 'female' END AS label, embedding FROM {VECTORS} AS v)"
BOXES = "category, x, y, CAST(width AS BIGINT) AS width, CAST(height AS BIGINT) AS height"
CALLS |= {
    **{
        name: [f"images := {VECTORS}, categories := {CATEGORIES}, groups := {SEEN}"]
        for name in ("association", "casc", "similarity_bias")
    },
    "artifact_shift": [f"edited := {EDITED}, originals := {VECTORS}"],
    "attribute_confounding": [f"{ATTRIBUTES}"],
    "attribute_matrix": [f"{ATTRIBUTES}, 'colour', 'scene'"],
    "compare_crime_words": [
        "others := image_labels('colour'), other_texts := captions, terms := (SELECT 'dog' AS term, 'x' AS class)"
    ],
    "compare_sentiment": ["others := image_labels('colour'), other_texts := captions"],
    "crime_words": [
        "terms := (SELECT 'dog' AS term, 'animal' AS class UNION ALL SELECT 'cat', 'animal' UNION ALL SELECT 'ball', NULL)"
    ],
    "detection_recall": [
        f"(SELECT image_id, {BOXES}, detection_id % 10 / 10 AS score FROM detections WHERE detection_id % 7 > 0), "
        f"(SELECT image_id, {BOXES}, false AS is_crowd FROM detections), {SEEN}"
    ],
    "geography": [
        "texts := (SELECT image_id, concat(text, CASE WHEN caption_id % 3 = 0 THEN ' in France' ELSE ' of Kenya' END) AS text FROM captions)"
    ],
    "ieat": [
        f"images := (SELECT * FROM {VECTORS} AS v WHERE image_id < 60), attributes := {ODD}, a := 'x', b := 'y', permutations := 100"
    ],
    "label_validation": ["attribute := 'mood', model := image_labels('mood', annotator := 'model')"],
    "leakage": [
        "data := (SELECT image_id, concept FROM word_concepts WHERE image_id < 200), "
        "model := (SELECT image_id, concept FROM word_concepts WHERE image_id < 150), seeds := 1"
    ],
    "lic": [
        "human := captions, generated := (SELECT caption_id, image_id, replace(text, 'man', 'dog') AS text FROM captions), captions_each := 1, seeds := 1"
    ],
    "markedness": [f"images := {VECTORS}, prompts := {CATEGORIES}, groups := {SEEN}, unmarked := 'c1'"],
    "self_similarity": [f"images := {VECTORS}, groups := {SEEN}"],
    "sentiment": [""],
    "so_b_it": [f"images := {VECTORS}, words := {CATEGORIES}, groups := {SEEN}"],
    "spurious_probe": [f"texts := captions, vectors := {VECTORS}, control := {VECTORS}, seeds := 1"],
    "weat": [
        f"vectors := (SELECT substr('xyab', 1 + CAST(image_id % 4 AS INTEGER), 1) AS class, embedding FROM {VECTORS} AS v WHERE image_id < 60), permutations := 100"
    ],
}
FEW = {
    "attribute_auc",
    "bias_transfer",
    "compare_attributes",
    "crime_words",
    "detection_recall",
    "directional_amplification",
    "edit_quality",
    "geography",
    "keyword_profile",
    "label_validation",
    "leakage",
    "min_size_study",
    "retrieval_bias",
    "self_similarity",
    "sentiment",
    "so_b_it",
    "spurious_correlations",
    "spurious_probe",
    "subject_alterations",
    "topic_pmi",
    "weat",
}
"""Audits that, with the views, are made of all kinds of SQL that any audit is made of."""
QUICK = {
    "attribute_auc",
    "compare_attributes",
    "edit_quality",
    "keyword_profile",
    "min_size_study",
    "retrieval_bias",
    "self_similarity",
    "weat",
}
"""Those of the few that run by default: Spark plans them in seconds."""
LATER = {
    "attack_sets",
    "attack_texts",
    "attack_vectors",
    "fleiss_kappa",
    "krippendorff_alpha",
    "split_interval",
    "transfer_fit",
}
"""Functions of ours that run on Spark for `make thorough` alone: of lists of a group's rows, as others that run by default."""
VIEWS = [
    "feature_rows((SELECT caption_id AS item_id, image_id, "
    "list_value(struct_pack(feature := caption_id * 20000, activation := 0.5)) AS features FROM captions))",
    "topic_examples((SELECT caption_id AS item_id, image_id, text FROM captions), (SELECT caption_id AS item_id, 0 AS sae, "
    f"caption_id % 50 AS feature, caption_id / 7 AS activation FROM captions), {SHARES}, {CLUSTERS})",
    "scene_topics((SELECT image_id, caption_id % 3 AS cluster FROM captions), (SELECT DISTINCT caption_id % 2 AS cluster, "
    "list_value('a', 'b', concat('c', caption_id % 2), 'd') AS words FROM captions))",
    "text_topics((SELECT caption_id AS item_id, image_id, 0 AS sae, caption_id % 50 AS feature, caption_id / 7 AS activation "
    f"FROM captions), {SHARES})",
    "(SELECT image_id, wilson_low(image_id, width - 350) AS low, wilson_high(count := image_id % 9, n := 9) AS high, "
    "ratio_low(image_id, 300, 400, width) AS low_ratio, ratio_high(image_id, 300, 400, width) AS high_ratio, two_sided_p(image_id / 20) AS p, student_point(image_id % 9) AS t, log_likelihood_ratio(image_id, 300, 400, width) AS g2, "
    "difference_low(0.5, 0.25, image_id / 900, 0.75) AS below, difference_high(0.5, 0.75, image_id / 900, 0) AS above FROM images) AS f",
    "persons",
    "(SELECT caption_id, match_terms(text, list_value('dog', 'red ball')) AS terms, country_mentions(concat(text, ' of Kenya')) "
    "AS countries, vader(text) AS mood, CAST(caption_id AS DECIMAL(38, 9)) AS exact, sign(caption_id - 9) AS side, "
    "list_reduce(list_value(caption_id, 2, 3), lambda x, y: x + y, CAST(5 AS BIGINT)) AS total, list_slice(list_value(caption_id, 2, 3), 1, 2) AS two, "
    "array_to_string(list_value('a', text), '+') AS joined, dense_rank() OVER (PARTITION BY image_id % 5 ORDER BY caption_id % 7) AS place "
    "FROM captions ANTI JOIN (SELECT image_id FROM images WHERE image_id < 100) AS few USING (image_id)) AS c",
    *again("caption_labels"),
    "caption_gender",
    *again("caption_gender_gensynth"),
    "image_labels('colour')",
    "person_labels('colour')",
    *again("over_representation(unit := 'person')"),
    "balanced_subset(seed := 4, method := 'over', rest := 'proportional')",
    "crossed_words()",
    "distinctive_words((SELECT caption_id % 4 AS part, text FROM captions), prior := 50, min_count := 5)",
    "rank_filter((SELECT caption_id AS edit_id, image_id // 9 AS image_id, 'a' AS label, caption_id % 3 AS seed, "
    "caption_id % 5 / 4 AS s_prompt, CASE WHEN caption_id % 8 > 0 THEN sqrt(caption_id % 4) END AS s_object, "
    "CASE WHEN caption_id % 7 > 0 THEN 1e0 / (caption_id % 7) ELSE CAST('nan' AS DOUBLE) END AS s_color FROM captions), "
    "c_prompt := 0.5, c_object := 0.25, keep := 2)",
]


def base_tables():
    draw = np.random.default_rng(3)
    n, boxes = IMAGES, 3 * IMAGES
    ids = np.arange(n)
    at = draw.integers(0, n, boxes)
    texts = [" ".join(draw.choice(WORDS, 6)) + "." for _ in range(2 * n)]
    colours = draw.choice(["red", "blue", "green", "unclear", "mixed"], 2 * boxes, p=[0.4, 0.35, 0.1, 0.1, 0.05])
    scenes = draw.choice(["in", "out", "other"], 3 * n, p=[0.5, 0.45, 0.05])
    moods = draw.choice(["calm", "wild"], 3 * n)
    columns = {
        "images": {"image_id": ids, "width": [640] * n, "height": [480] * n},
        "captions": {"caption_id": np.arange(2 * n), "image_id": np.repeat(ids, 2), "text": texts},
        "detections": {
            "detection_id": np.arange(boxes),
            "image_id": at,
            "category": draw.choice(["person", "dog", "car"], boxes).tolist(),
            "width": draw.integers(10, 200, boxes).astype(np.float32),
            "height": draw.integers(10, 200, boxes).astype(np.float32),
            "x": (17 * np.arange(boxes) % 440).astype(np.float32),
            "y": (31 * np.arange(boxes) % 280).astype(np.float32),
        },
        "labels": {
            "label_id": np.arange(2 * boxes + 7 * n),
            "image_id": np.concatenate([np.repeat(at, 2), np.repeat(ids, 3), ids, np.repeat(ids, 3)]),
            "detection_id": np.repeat(np.arange(boxes), 2).tolist() + [None] * 7 * n,
            "attribute": ["colour"] * 2 * boxes + ["scene"] * 3 * n + ["hateful"] * n + ["mood"] * 3 * n,
            "value": [*colours.tolist(), *scenes.tolist(), *["yes"] * n, *moods.tolist()],
            "score": [None] * (2 * boxes + 3 * n) + draw.random(n).tolist() + [None] * 3 * n,
            "annotator": ["A", "B"] * boxes
            + ["A", "B", "C"] * n
            + ["model"] * n
            + ["model", "a1@sheet", "a2@sheet"] * n,
        },
    }
    schemas = {name: BASE_TABLES[name].schema() for name in columns}
    return {
        name: pa.table({c: pa.array(v, schemas[name].field(c).type, from_pandas=True) for c, v in own.items()})
        for name, own in columns.items()
    }


def rankings():
    draw = np.random.default_rng(4)
    queries, cut = 40, 20
    items = np.concatenate([draw.choice(IMAGES, cut, replace=False) for _ in range(queries)])
    return {
        "hits_given": pa.table(
            {
                "query_id": np.repeat(np.arange(queries), cut),
                "item_id": items,
                "rank": pa.array(np.tile(np.arange(1, cut + 1), queries), pa.int32()),
                "score": draw.random(queries * cut),
            }
        ),
        "item_groups_given": pa.table(
            {"item_id": np.arange(IMAGES), "label": draw.choice(["male", "female", "unclear"], IMAGES).tolist()}
        ),
        "relevant_given": pa.table({"query_id": np.arange(queries), "item_id": np.arange(queries)}),
    }


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A session of each engine over the same lake, and the names of the same rankings in each."""
    lake = cb.connect(tmp_path_factory.mktemp("spark") / "lake")
    lake.ingest(base_tables())
    with lake.session() as duckdb, lake.session(engine="spark") as session:
        yield [(one, {name: one.bind(name, rows) for name, rows in rankings().items()}) for one in (duckdb, session)]


def ordered(rows):
    def key(row):
        return tuple((v is not None, f"{v:.6g}" if isinstance(v, float) else str(v)) for v in row.values())

    return sorted(rows.to_pylist(), key=key)


def check_same(both, query):
    ours, theirs = (_rows(*one, query) for one in both)
    assert ours.num_rows > 0
    assert theirs.schema == ours.schema
    assert theirs.num_rows == ours.num_rows
    for mine, other in zip(ordered(ours), ordered(theirs), strict=True):
        for name, value in mine.items():
            wanted = pytest.approx(value, rel=1e-12, abs=1e-15) if isinstance(value, float) else value
            assert other[name] == wanted, name


def _rows(session, names, query):
    for given, bound in names.items():
        query = query.replace(given, bound)
    rows = session.sql(query).to_arrow()
    return rows.drop_columns(["params"]) if "params" in rows.column_names else rows  # they name what was bound


def calls():
    return [(name, a) for name, own in CALLS.items() for a in own]


def kinds(session, names, query):
    """What its plain SQL is made of: expressions, functions, joins, windows and types."""
    for given, bound in names.items():
        query = query.replace(given, bound)
    for node in sqlglot.parse_one(session.expand(query), read="duckdb").walk():
        if isinstance(node, exp.Anonymous):
            yield node.name.lower()
        elif isinstance(node, exp.Join):
            yield "Join", node.side, node.kind
        elif isinstance(node, exp.Window):
            yield "Window", type(node.this), *(bool(node.args.get(part)) for part in ("order", "partition_by", "spec"))
        elif isinstance(node, exp.Cast):
            yield "Cast", node.to.sql()
        else:
            yield type(node)


def test_every_audit_is_here():
    assert set(CALLS) == set(cb.audits()) - {"proposal_recall"}  # which needs a model of sentences
    assert set(CALLS) >= FEW >= QUICK


@pytest.mark.thorough
def test_the_few_are_made_of_all_that_audits_are_made_of(both):
    (session, names), _ = both
    made = {name: set() for name in CALLS}
    for name, arguments in calls():
        made[name].update(kinds(session, names, f"SELECT * FROM {name}({arguments})"))
    views = {kind for v in VIEWS if isinstance(v, str) for kind in kinds(session, names, f"SELECT * FROM {v}")}
    few, quick = (views.union(*(made[name] for name in chosen)) for chosen in (FEW, QUICK))
    for name, own in made.items():
        assert own <= few, name
    # what runs by default has every join, window and function of these but few
    assert {k for k in few - quick if isinstance(k, str) or (isinstance(k, tuple) and k[0] != "Cast")} == LATER


@pytest.mark.parametrize(
    ("name", "arguments"),
    [pytest.param(n, a, marks=[] if n in QUICK else pytest.mark.thorough) for n, a in calls()],
)
def test_audit(both, name, arguments):
    check_same(both, f"SELECT * FROM {name}({arguments})")


@pytest.mark.parametrize("view", VIEWS)
def test_view(both, view):
    check_same(both, f"SELECT * FROM {view}")

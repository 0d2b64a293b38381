"""Rows that mean nothing change no audit: NULLs, ids that nothing has, repeated rows, scores that are not numbers, unclear labels."""

from __future__ import annotations

import functools
import math
import os
import random

import pyarrow as pa
import pytest
from repeats import chosen

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError

LABELLED = range(1, 41)
IMAGES = range(1, 47)
"""The last images have no label: dirt may call them unclear."""
NOBODY = 999_983
"""Ids from here on are of no image; those of two relations never meet."""
draw = random.Random(5)


def table(names, rows):
    names = names.split()
    if names[-1] == "embedding":
        return pa.table(
            [*(pa.array([r[i] for r in rows]) for i in range(len(names) - 1)), vectors(r[-1] for r in rows)], names
        )
    return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])


def vectors(rows):
    return pa.array(list(rows), pa.list_(pa.float32()))


def near(*centre):
    return [x + draw.gauss(0, 0.4) for x in centre]


def side(image):
    return "female" if image % 2 else "male"


def looks(image):
    return near(1.0, 0.2, 0.1) if image % 2 else near(0.2, 1.0, 0.1)


THINGS = [(i, t) for i in IMAGES for t, every in (("cat", 3), ("dog", 4), ("tie", 5)) if i % every < 2]
GROUPS = table("image_id label", [(i, side(i)) for i in LABELLED])
KINDS = table("image_id label", [(i, "old" if i % 4 < 2 else "young") for i in LABELLED])
CONCEPTS = table("image_id concept", THINGS)
GUESSED = table("image_id concept", [(i, t) for i, t in THINGS if (i * 7 + len(t)) % 11])
SAYINGS = [
    "a thief in France is bad",
    "a murder in Japan is horrible",
    "a good dog in France",
    "happy people near a tie",
]
TEXTS = table("image_id text", [(i, SAYINGS[(i + i // 7) % 4]) for i in IMAGES])
PEOPLE = table("image_id text", [(i, ("a man runs", "a woman sits", "she walks", "a dog")[i % 4]) for i in IMAGES])
TERMS = table("term class", [("thief", "theft"), ("murder", "violence")])
VECTORS = table("image_id embedding", [(i, looks(i)) for i in IMAGES])
NAMED = table(
    "category embedding", [("chef", [1.0, 0.3, 0.2]), ("nurse", [0.2, 1.0, 0.1]), ("person", [0.6, 0.5, 0.9])]
)
ATTRIBUTES = table(
    "image_id category attribute",
    [(i, "weather", ("sun", "rain", "unknown")[i % 3]) for i in LABELLED]
    + [(i, "scene", ("street", "room")[i % 5 // 3]) for i in LABELLED],
)
OTHERS = ATTRIBUTES.slice(0, 70)
SCORES = table(
    "image_id category attribute score",
    [(i, "weather", a, draw.random()) for i in IMAGES for a in ("sun", "rain")],
)
RATED = table(
    "image_id detection_id attribute value score annotator",
    [
        (i, i + 500, "scene", ("in", "out")[(i + k * (i % 3)) % 2], draw.random(), f"a{k}@sheet")
        for i in LABELLED
        for k in (1, 2)
    ],
)
BOXES = table(
    "image_id category x y width height score",
    [(i, "dog", 10.0 * k, 5.0, 8.0 + i % 3, 9.0, draw.random()) for i in IMAGES for k in (0, 1)],
)
TRUTH = table(
    "image_id category x y width height is_crowd",
    [(i, "dog", 10.0 * k, 5.0, 8.0, 9.0, False) for i in IMAGES for k in (0, 1)],
)
SIZES = table("detection_id image_id width height", [(i, i, 20.0 + 3 * i, 25.0 + 2 * i) for i in IMAGES])
CONTRAST = table("edit_id image_id label", [(100 * i + k, i, ("female", "male")[k]) for i in LABELLED for k in (0, 1)])
OBJECTS = table("edit_id concept", [(100 * i + k, "cup") for i in LABELLED for k in (0, 1) if (i + k) % 3])
COLORS = table(
    "edit_id embedding", [(100 * i + k, near(0.5, 0.5, 0.5)) for i in LABELLED for k in (0, 1)]
).rename_columns(["edit_id", "grid"])
EDITS = table(
    "edit_id image_id label template accepted predicted background",
    [(i, i // 2, side(i), ("x", "y")[i % 4 // 2], i % 5 > 0, side(i - i % 7 // 6), i % 3) for i in LABELLED],
)
HITS = table(
    "query_id item_id rank score", [(q, (q * 3 + r) % 46 + 1, r, 1.0 / r) for q in LABELLED for r in range(1, 9)]
)
ITEMS = table("item_id label", [(i, side(i)) for i in LABELLED])
PICTURED = table("item_id image_id label", [(i, i, side(i)) for i in LABELLED])
RELEVANT = table("query_id item_id", [(q, (q * 3 + q % 9) % 46 + 1) for q in LABELLED])
RANKED = {
    "hits": HITS,
    "labelled_hits": HITS,
    "item_groups": ITEMS,
    "relevant": RELEVANT,
    "k": [2, 5],
    "skew_k": [4, 8],
}
MODELS = [t.append_column("vectors", pa.array([name] * len(t))) for t in (HITS,) for name in ("one", "two")]
WORDS = table("class embedding", [(c, near(*at)) for c, at in
              {"x": (1.0, 0.0), "y": (0.0, 1.0), "a": (0.9, 0.2), "b": (0.1, 0.8)}.items() for _ in range(4)])  # fmt: skip
PROPOSED = table("term embedding", [(f"t{i}", near(1.0, i / 5, 0.2)) for i in range(6)])
SHARES = table(
    "step sae feature cluster share",
    [(s, a, f, f"c{(f + s) % 3}", 1 / (2 + f % 3)) for s in (1, 2) for a in (0, 1) for f in range(6)],
)
CLUSTERS = table("step cluster topic", [(s, f"c{c}", f"t{c}") for s in (1, 2) for c in range(3)])
FEATURES = table("image_id sae feature", [(i, a, (i * (a + 2) + i % 2) % 6) for i in IMAGES for a in (0, 1)])
CAPTIONS = table(
    "caption_id image_id text", [(i, i, f"{SAYINGS[(i * 3) % 4]} {'car' if i % 2 else 'oven'}") for i in IMAGES]
)
WRITTEN = table("caption_id image_id text", [(i + 100, i, SAYINGS[(i + i // 5) % 4]) for i in IMAGES])
LEARNT = {"seeds": 1, "words": table("term", [("man",), ("woman",)]), "groups": GROUPS}

CASES = {
    "agreement": {"attribute": "scene", "labels": RATED},
    "artifact_shift": {
        "edited": VECTORS.slice(0, 40).append_column("label", GROUPS["label"]),
        "originals": table("image_id embedding", [(i, near(0.5, 0.5, 0.5)) for i in LABELLED]),
        "groups": GROUPS,
        "seeds": 1,
    },
    "association": {"images": VECTORS, "categories": NAMED, "groups": GROUPS},
    "attribute_auc": {"scores": SCORES, "labels": ATTRIBUTES},
    "attribute_confounding": {"attributes": ATTRIBUTES},
    "attribute_frequencies": {"attributes": ATTRIBUTES},
    "attribute_matrix": {"attributes": ATTRIBUTES, "category": "weather", "other": "scene"},
    "balance": {"groups": GROUPS},
    "bias_transfer": {
        "dataset_bias": table("concept value", [(f"c{i:02}", i / 20) for i in range(20)]),
        "model_bias": table("category value", [(f"c{i:02}", draw.random() * i) for i in range(20)]),
        "show": "all",
    },
    "casc": {"images": VECTORS, "categories": NAMED, "groups": GROUPS},
    "cluster_representation": {"clusters": table("image_id cluster", [(i, i % 3 // 2) for i in IMAGES]), "groups": GROUPS},
    "compare_attributes": {"attributes": ATTRIBUTES, "others": OTHERS},
    "compare_crime_words": {
        "groups": GROUPS, "others": KINDS, "texts": TEXTS, "other_texts": TEXTS, "terms": TERMS
    },
    "compare_demographics": {"groups": GROUPS, "others": GROUPS.slice(0, 25)},
    "compare_intersections": {
        "groups": GROUPS, "others": GROUPS.slice(0, 35), "crossed": KINDS, "others_crossed": KINDS
    },
    "compare_sentiment": {"groups": GROUPS, "others": GROUPS.slice(0, 35), "texts": TEXTS, "other_texts": TEXTS},
    "concept_ratio": {"groups": GROUPS, "concepts": CONCEPTS},
    "contrast_balance": {
        "contrast": CONTRAST, "concepts": CONCEPTS, "objects": OBJECTS, "colors": COLORS, "show": "all"
    },
    "cooccurrence": {"groups": GROUPS, "concepts": CONCEPTS},
    "crime_words": {"groups": GROUPS, "texts": TEXTS, "terms": TERMS},
    "demographics": {"groups": GROUPS},
    "detection_recall": {"predicted": BOXES, "truth": TRUTH, "groups": GROUPS},
    "directional_amplification": {
        "predicted_concepts": GUESSED,
        "predicted_groups": table("image_id label", [(i, side(i - i % 7 // 6)) for i in LABELLED]),
        "groups": GROUPS,
        "concepts": CONCEPTS,
        "show": "all",
    },
    "edit_quality": {"edits": EDITS, "hits": HITS, "relevant": RELEVANT, "k": [1, 5]},
    "generated_ratio": {
        "generations": table("image_id category place", [(i, ("chef", "nurse")[i % 4 // 2], i) for i in IMAGES]),
        "groups": GROUPS,
        "most": 20,
    },
    "geography": {"groups": GROUPS, "texts": TEXTS},
    "harmful_zero_shot": {
        "predictions": table("image_id predicted", [(i, ("thief", "Dog", "cat")[i % 3]) for i in IMAGES]),
        "groups": GROUPS,
        "harmful": table("term class", [("Thief", "crime"), ("dog", "animal")]),
    },
    "hate_content_rate": {"attribute": "scene", "labels": RATED, "groups": GROUPS, "tau": [0.4, 0.6]},
    "ieat": {"images": VECTORS, "attributes": KINDS, "targets": GROUPS, "a": "old", "b": "young", "permutations": 50},
    "image_text_matching": {
        "scores": table("pair_id rr r_o o_r cc c_o o_c", [(i, *(draw.random() for _ in range(6))) for i in range(20)])
    },
    "intersections": {"groups": GROUPS, "others": KINDS},
    "keyword_profile": {"groups": GROUPS, "concepts": CONCEPTS, "without": table("term", [("dog",)])},
    "label_validation": {"attribute": "scene", "model": KINDS.slice(0, 30)},
    "leakage": {"data": CONCEPTS, "model": GUESSED, **LEARNT},
    "lic": {"human": CAPTIONS, "generated": WRITTEN, **LEARNT},
    "markedness": {"images": VECTORS, "prompts": NAMED, "groups": GROUPS},
    "min_size_study": {
        "labels": table("detection_id label", [(i, side(i)) for i in IMAGES]),
        "reference": table("detection_id label", [(i, side(i - i % 7 // 6)) for i in IMAGES]),
        "detections": SIZES,
        "shrunk": table("detection_id side label", [(i, s, side(i - i % s // (s - 1))) for i in IMAGES for s in (7.0, 40.0)]),
        "bins": [30, 50],
    },
    "proposal_recall": {
        "proposal": PROPOSED,
        "reference": table("term embedding", [(f"r{i}", near(1.0, 0.2, i / 5)) for i in range(6)]),
    },
    "ratio": {"texts": PEOPLE, "words": table("term class", [("man", "male"), ("woman", "female"), ("she", "female")])},
    "counterfactual_retrieval": {
        **{name: table("text_id image_id source_id", [(i, i // 2, i // 4) for i in IMAGES]) for name in ("texts", "original_texts")},
        **{f"{name}_hits": HITS for name in ("text", "image", "original_text", "original_image")},
        "k": [2, 5],
    },
    "average_precision": {
        "predictions": table("image_id concept score", [(i, c, (i * 7 % 23) / 23) for i in IMAGES for c in ("dog", "cat")]),
        "truth": table("image_id concept", [(i, ("dog", "cat")[i % 2]) for i in IMAGES]),
    },
    "ratio_shift": {
        "original": PEOPLE,
        "inpainted": PEOPLE,
        "words": table("term class", [("man", "male"), ("woman", "female"), ("she", "female")]),
    },
    "retrieval_bias": RANKED | {"query_images": table("query_id image_id", [(q, q // 2) for q in LABELLED])},
    "retrieval_bias_models": {
        **RANKED,
        "columns": ["embedding"],
        "asked": VECTORS.rename_columns(["query_id", "embedding"]),
        "ranked": VECTORS.append_column("item_id", VECTORS["image_id"]),
        "hits": pa.concat_tables(MODELS),
        "labelled_hits": pa.concat_tables(MODELS),
    },
    "retrieval_bias_queries": RANKED,
    "retrieval_bias_sets": {
        f"{name}{part}": rows
        for name in ("original", "balanced", "contrast")
        for part, rows in (("", PICTURED), ("_hits", HITS), ("_labelled", HITS))
    } | {"asked": table("query_id image_id", [(q, q // 2) for q in LABELLED]), "k": [2, 5], "skew_k": [4, 8]},
    "score_distribution": {"attribute": "scene", "labels": RATED.drop_columns(["detection_id", "value"]), "groups": GROUPS},
    "self_similarity": {"images": VECTORS, "groups": GROUPS},
    "sentiment": {"groups": GROUPS, "texts": TEXTS},
    "similarity_bias": {"images": VECTORS, "categories": NAMED, "groups": GROUPS},
    "so_b_it": {"images": VECTORS, "words": NAMED, "groups": GROUPS, "k": 20},
    "spurious_correlations": {
        "groups": GROUPS,
        "attributes": table("image_id kind attribute scope", [(i, "object", t, "") for i, t in THINGS]
                            + [(i, "size", f"dog: {'small' if i % 3 else 'large'}", "dog") for i in IMAGES if i % 4 < 3]),
    },
    "spurious_probe": {"texts": TEXTS, "vectors": VECTORS, "control": VECTORS, **LEARNT},
    "subject_alterations": {
        "pairs": table(
            "pair_id original counterfactual",
            [(i, "a man runs", f"a {('woman', 'dog', 'boys')[i % 3]} runs") for i in range(30)],
        )
    },
    "subject_errors": {
        "alterations": table("pair_id original counterfactual", [(i, "man", ("boy", "dog")[i % 2]) for i in IMAGES]),
        "answers": table(
            "pair_id side annotator answer",
            [(i, s, "a", s if i % 3 else "both") for i in IMAGES for s in ("original", "counterfactual")],
        ),
    },
    "topic_pmi": {"features": FEATURES, "shares": SHARES, "clusters": CLUSTERS, "groups": GROUPS},
    "weat": {"vectors": WORDS, "permutations": 50},
    "win_rates": {
        "judgements": table(
            "image_id first second winner",
            [(i, *("xy" if i % 2 else "yx"), ("x", "y", "tie", "y")[(i + i // 5) % 4]) for i in IMAGES for _ in (0, 1)],
        )
    },
}  # fmt: skip
"""Arguments of every audit: its relations small tables, whose columns say what may be dirty in them."""

UNCLEAR = ("unclear", "mixed", "undefined")
COUNTS = "every row is a vector, word, text, box or score that counts"
ALL = "this relation says which images there are"
LABELS = "shares are of all labelled images, unclear ones included"
EXCEPTIONS = {
    ("*", "groups", "strangers"): ALL,
    ("*", "others", "strangers"): ALL,
    **{(name, "attributes", "strangers"): ALL for name in ("attribute_frequencies", "compare_attributes")},
    **{(name, "texts", "strangers"): ALL for name in ("geography", "ratio")},
    ("average_precision", "predictions", "strangers"): ALL,
    ("contrast_balance", "contrast", "strangers"): ALL,
    ("detection_recall", "truth", "strangers"): ALL,
    ("edit_quality", "edits", "strangers"): ALL,
    ("generated_ratio", "generations", "strangers"): ALL,
    ("image_text_matching", "scores", "strangers"): ALL,
    ("label_validation", "model", "strangers"): ALL,
    ("subject_alterations", "pairs", "strangers"): ALL,
    ("label_validation", "model", "unclear"): "unclear labels are validated, too",
    ("casc", "groups", "unclear"): "n_images tells how many images have any label",
    ("concept_ratio", "groups", "unclear"): "others are those with any other label",
    ("harmful_zero_shot", "groups", "unclear"): "n_class tells how many have any label",
    ("self_similarity", "groups", "unclear"): "n_images and n_all tell how many have any label",
    ("keyword_profile", "groups", "unclear"): "n_keyword tells how many images with any label have the word",
    **{
        (name, relation, "unclear"): LABELS
        for name, relations in {
            "compare_demographics": ("groups", "others"),
            "compare_intersections": ("groups", "others", "crossed", "others_crossed"),
            "cooccurrence": ("groups",),
            "demographics": ("groups",),
            "intersections": ("groups", "others"),
        }.items()
        for relation in relations
    },
    ("*", "images", "repeated"): COUNTS,
    ("*", "categories", "repeated"): COUNTS,
    ("so_b_it", "words", "repeated"): COUNTS,
    ("topic_pmi", "features", "repeated"): COUNTS,
    **{("artifact_shift", relation, "repeated"): COUNTS for relation in ("edited", "originals")},
    ("compare_sentiment", "other_texts", "repeated"): COUNTS,
    **{(name, "texts", "repeated"): COUNTS for name in ("compare_sentiment", "ratio", "sentiment", "spurious_probe")},
    ("detection_recall", "truth", "repeated"): COUNTS,
    **{(name, "labels", "repeated"): COUNTS for name in ("hate_content_rate", "score_distribution")},
    ("win_rates", "judgements", "repeated"): COUNTS,
    ("win_rates", "judgements", "strangers"): ALL,
    **{(name, "vectors", "repeated"): COUNTS for name in ("spurious_probe", "weat")},
    ("spurious_probe", "control", "repeated"): COUNTS,
    **{("ratio_shift", relation, "repeated"): COUNTS for relation in ("original", "inpainted")},
    ("ratio", "texts", "nulls"): "a text counts, whatever its image",
    **{
        (name, "labels", "nulls"): "a score counts, whatever its box, value and annotator"
        for name in ("hate_content_rate", "score_distribution")
    },
    ("edit_quality", "edits", "nulls"): "an edit without a label counts among all",
    ("image_text_matching", "scores", "nulls"): "a pair without a score counts where it has both",
    ("image_text_matching", "scores", "no numbers"): "likewise",
    **{("*", relation, "strangers"): "a query counts, whatever it finds" for relation in ("hits", "relevant")},
    ("*", "item_groups", "strangers"): "shares are of all labelled items, whether a query finds them or not",
    **{
        ("retrieval_bias_sets", f"{name}{part}", "strangers"): "likewise"
        for name in ("original", "balanced", "contrast")
        for part in ("", "_hits", "_labelled")
    },
}
"""What changes rows by right, and why."""
MAY_BE_NULL = {"is_crowd", "score", "place", "accepted", "predicted", "background", "template"}


def with_cell(rows, column, value):
    """The first row once more, one cell of it another."""
    field = rows.schema.field(column)
    return rows.slice(0, 1).set_column(rows.schema.get_field_index(column), field, pa.array([value], field.type))


def nulls(rows, _):
    return [with_cell(rows, c, None) for c in rows.column_names if c not in MAY_BE_NULL]


def repeated(rows, _):
    return [rows.slice(0, 5)]


def strangers(rows, number):
    row = rows.slice(0, 1)
    ids = [c for c in rows.column_names if c.endswith("_id")]
    for c in ids:
        row = with_cell(row, c, NOBODY + number)
    return [row] if ids else []


def no_numbers(rows, _):
    floats = [f for f in rows.schema if pa.types.is_floating(f.type)]
    return [with_cell(rows, f.name, math.nan) for f in floats]


def unclear(rows, _):
    if set(rows.column_names) not in ({"image_id", "label"}, {"item_id", "label"}):
        return []
    ids = [*range(NOBODY, NOBODY + 6), *IMAGES[len(LABELLED) :]]
    return [table(" ".join(rows.column_names), [(i, UNCLEAR[n % 3]) for n, i in enumerate(ids)])]


DIRT = {
    "nulls": nulls,
    "repeated": repeated,
    "strangers": strangers,
    "no numbers": no_numbers,
    "unclear": unclear,
}


def dirt_of(name):
    """By parameter and kind: what an audit's arguments may hold without a change, rows of a relation or items of a list."""
    found = {}
    for number, (parameter, value) in enumerate(CASES[name].items()):
        kinds = {"repeated": lambda items, _: items[:1]} if isinstance(value, list) else DIRT
        for dirt, more in kinds.items():
            excepted = {(name, parameter, dirt), ("*", parameter, dirt)} & set(EXCEPTIONS)
            if isinstance(value, list | pa.Table) and not excepted and (rows := more(value, number)):
                found[parameter, dirt] = rows
    return found


def with_dirt(name, dirt):
    given = dict(CASES[name])
    for (parameter, _), rows in dirt.items():
        value = given[parameter]
        given[parameter] = [*value, *rows] if isinstance(value, list) else pa.concat_tables([value, *rows])
    return given


@pytest.fixture(scope="module")
def session(build):
    lake = cb.connect(f"memory://dirt-{os.getpid()}")
    answers = RATED.drop_columns(["detection_id", "score"])
    lake.ingest(
        {
            "images": build.images(image_id=list(IMAGES)),
            "labels": build.labels(label_id=list(range(len(answers))), **answers.to_pydict()),
        }
    )
    with lake.session() as opened:
        yield opened


@pytest.fixture(scope="module")
def clean(session):
    """Rows of an audit without any dirt, by its name."""
    return functools.cache(lambda name: audited(session, name, CASES[name]))


def audited(session, name, given):
    # words of a label exceed its images by one here, who would be the one with two words
    size = {} if name == "retrieval_bias_queries" else {"min_count": 1 if name == "keyword_profile" else 2}
    return session.audit(name, **size, **given).to_arrow().drop_columns(["params"]).to_pylist()


def changes(session, name, dirt, wanted):
    """Cells that dirt changes, or what else it does."""
    try:
        rows = audited(session, name, with_dirt(name, dirt))
    except CounterbalanceError as error:
        return str(error)
    if len(rows) != len(wanted):
        return [row for row in rows if row not in wanted][:3] or f"{len(rows)} rows, not {len(wanted)}"
    cells = [(n, c, old[c], row[c]) for n, (row, old) in enumerate(zip(rows, wanted, strict=True)) for c in old]
    return [cell for cell in cells if not same(*cell[2:])][:6]


def same(one, other):
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    return one == other


def test_every_audit_is_here():
    assert set(CASES) == set(cb.audits())
    known = {(name, p.name) for name, query in cb.audits().items() for p in query.parameters}
    assert {(name, p) for name, given in CASES.items() for p in given} <= known
    assert {(name, p) for name, p, _ in EXCEPTIONS if name != "*"} <= known


MADE_OF_OTHERS = ("compare_", "retrieval_bias_sets", "retrieval_bias_models")


@pytest.mark.cases(30)
@pytest.mark.parametrize(
    "name",
    chosen(sorted(CASES), *(name for name in CASES if not name.startswith(MADE_OF_OTHERS))),
)
def test_dirt_changes_nothing(session, clean, name):
    """All dirt at once; where that changes rows, each kind in each parameter by itself, to name it."""
    wanted = clean(name)
    assert wanted
    dirt = dirt_of(name)
    if changes(session, name, dirt, wanted):
        alone = {key: changes(session, name, {key: rows}, wanted) for key, rows in dirt.items()}
        assert not {" ".join(key): change for key, change in alone.items() if change}
        pytest.fail("only all of it together changes rows")


VECTORED = [
    (name, parameter)
    for name, given in sorted(CASES.items())
    for parameter, value in given.items()
    if isinstance(value, pa.Table) and "embedding" in value.column_names and name != "retrieval_bias_models"
]
RATES = (
    "value",
    "share",
    "rate",
    "percent",
    "score",
    "delta",
    "difference",
    "log_odds",
    "pmi",
    "cramers_v",
    "negative_ratio",
)


@pytest.mark.parametrize(("name", "parameter"), VECTORED)
def test_vectors_that_are_none(session, clean, name, parameter):
    """They are refused, or have rows of their own without values; nothing else changes."""
    rows = CASES[name][parameter]
    given = CASES[name] | {parameter: pa.concat_tables([rows, with_cell(rows, "embedding", [math.nan] * 3)])}
    try:
        found = audited(session, name, given)
    except CounterbalanceError as error:
        assert "vector" in str(error)  # noqa: PT017
    else:
        assert [row for row in clean(name) if row not in found] == []


WITHOUT_VALUES = ("bias_transfer", "casc", "harmful_zero_shot", "markedness", "ratio", "self_similarity", "sentiment")
"""Audits that have rows for groups, or for all, even where there is nothing to count."""


@pytest.mark.parametrize("name", WITHOUT_VALUES)
def test_nothing_to_count_has_no_interval(session, name):
    """Groups of which no image has anything else, and no least number: rows without a value have no interval either."""
    given = CASES[name] | {"min_count": 0}
    for parameter, rows in given.items():
        if isinstance(rows, pa.Table) and set(rows.column_names) != {"image_id", "label"}:
            given[parameter] = rows.slice(0, 0)
    for row in session.audit(name, **given).to_arrow().to_pylist():
        bounds = [v for c, v in row.items() if c.endswith(("low", "high")) and v is not None]
        assert not bounds or any(row.get(c) is not None for c in RATES), row

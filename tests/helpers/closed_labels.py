"""Random lakes with closed labels, and a call of every audit over them."""

from __future__ import annotations

import itertools
import random
import re

import pyarrow as pa
import pyarrow.compute as pc

import counterbalance as cb
from counterbalance.engine.catalog import definitions
from counterbalance.engine.catalog.definitions import Definition
from counterbalance.engine.store import tables

PURPOSE = "a test of the wall"
G, R = "image_labels('perceived_gender')", "image_labels('perceived_race')"
S = "image_labels('scene')"
TWO = {"label": "'a'", "against": "'b'"}
SIDES = {"positive": "'a'", "negative": "'b'"}
SEEDS = {"seeds": "1"}
CALLS = {
    "agreement": {"attribute": "'perceived_gender'"},
    "artifact_shift": {"edited": "closed_vectors", "originals": "vectors", "groups": G, **SEEDS},
    "association": {"images": "vectors", "categories": "prompts", "groups": G, **TWO},
    "attribute_auc": {"scores": "attribute_scores", "labels": "closed_attributes"},
    "attribute_confounding": {"attributes": "closed_attributes"},
    "attribute_frequencies": {"attributes": "closed_attributes"},
    "attribute_matrix": {"attributes": "closed_attributes", "category": "'look'", "other": "'place'"},
    "average_precision": {"predictions": "concept_scores", "truth": "closed_concepts"},
    "balance": {"groups": G},
    "bias_transfer": {"dataset_bias": f"concept_ratio({G}, category_concepts)", "model_bias": "biases"},
    "casc": {"images": "vectors", "categories": "prompts", "groups": G},
    "cluster_representation": {"clusters": "clusters", "groups": G},
    "compare_attributes": {"attributes": "closed_attributes", "others": "more_attributes"},
    "compare_crime_words": {"groups": G, "others": "kinds", "other_texts": "captions"},
    "compare_demographics": {"groups": G, "others": "kinds"},
    "compare_intersections": {"groups": G, "others": "kinds", "crossed": R, "others_crossed": S},
    "compare_sentiment": {"groups": G, "others": "kinds", "other_texts": "captions"},
    "concept_ratio": {"groups": G, "concepts": "category_concepts", **TWO, "min_count": "10"},
    "contrast_balance": {"contrast": "closed_edits", "objects": "found", "show": "'all'"},
    "cooccurrence": {"groups": G, "concepts": "category_concepts"},
    "counterfactual_retrieval": {
        "texts": "closed_sources", "original_texts": "open_sources",
        **{f"{name}_hits": "hits" for name in ("text", "image", "original_text", "original_image")},
    },
    "crime_words": {"groups": G},
    "demographics": {"groups": G},
    "detection_recall": {"predicted": "predicted", "groups": G},
    "directional_amplification": {"groups": G, "predicted_concepts": "clusters_named", "predicted_groups": "pg"},
    "edit_quality": {"edits": "closed_edits"},
    "generated_ratio": {"generations": "generations", "groups": G, "label": "'a'"},
    "geography": {"groups": G},
    "harmful_zero_shot": {"predictions": "predictions", "groups": G},
    "hate_content_rate": {"attribute": "'hateful'", "groups": G},
    "ieat": {
        "images": "vectors", "attributes": "image_labels('scene')", "targets": G, "a": "'in'", "b": "'out'", "x": "'a'", "y": "'b'",
        "permutations": "20",
    },
    "image_text_matching": {"scores": "closed_scores"},
    "intersections": {"groups": G, "others": R},
    "keyword_profile": {"groups": G, "concepts": "category_concepts"},
    "label_validation": {"model": "pg", "attribute": "'perceived_gender'"},
    "leakage": {"data": "category_concepts", "groups": G, **TWO, **SEEDS},
    "lic": {"groups": G, **TWO, **SEEDS},
    "markedness": {"images": "vectors", "prompts": "prompts", "groups": G},
    "min_size_study": {"labels": "closed_boxes", "reference": "more_boxes", "shrunk": "closed_shrunk"},
    "proposal_recall": {"proposal": "closed_terms", "reference": "terms", "min_count": "10"},
    "ratio": {"texts": "closed_texts"},
    "ratio_shift": {"original": "closed_texts", "inpainted": "closed_texts"},
    "retrieval_bias": {"groups": G, **SIDES},
    "retrieval_bias_models": {"columns": "['embedding']", "asked": "asked", "ranked": "ranked", "groups": G, **SIDES},
    "retrieval_bias_queries": {"groups": G, **SIDES},
    "retrieval_bias_sets": {
        "asked": "asked",
        **dict.fromkeys(("original", "balanced", "contrast"), "closed_items"),
        **{f"{name}_{part}": "hits" for name in ("original", "balanced", "contrast") for part in ("hits", "labelled")},
        **SIDES,
    },
    "score_distribution": {"attribute": "'hateful'", "groups": G},
    "self_similarity": {"images": "vectors", "groups": G},
    "sentiment": {"groups": G},
    "similarity_bias": {"images": "vectors", "categories": "prompts", "groups": G, **TWO},
    "so_b_it": {"images": "vectors", "words": "prompts", "groups": G},
    "spurious_correlations": {"groups": G},
    "spurious_probe": {"groups": G, **TWO, **SEEDS},
    "subject_alterations": {"pairs": "closed_pairs"},
    "subject_errors": {"alterations": "closed_alterations", "answers": "judged"},
    "topic_pmi": {"features": "features", "shares": "shares", "clusters": "topics", "groups": G},
    "weat": {"vectors": "closed_words", "min_count": "10", "permutations": "20"},
    "win_rates": {"judgements": "closed_judgements"},
}  # fmt: skip
"""A call of every audit over closed labels."""
OF_AUDITS = {"bias_transfer"}
"""Audits that read the protected rows of others, and nothing closed themselves."""
EXACT = (
    "edit_quality",
    "average_precision",
    "contrast_balance",
    "counterfactual_retrieval",
    "ratio_shift",
    "subject_errors",
    "topic_pmi",
)
REFUSED = {"retrieval_bias_queries": "E3301", **dict.fromkeys(EXACT, "E3329")}
"""Audits that a default session cannot call on closed labels, with the code of the error: rows or numbers tell single images."""

WORDS = ("murderer", "thief", "robber", "assault", "gangster")
PLACES = ("France", "Brazil", "Japan")


BARE = 6
"""From this seed on, a third of the images of twins have nothing but a label: no caption, box, vector, nor other label. In one of
two, so have all images of a hidden label."""
NAMELESS = (
    "vectors",
    "asked",
    "ranked",
    "clusters",
    "clusters_named",
    "generations",
    "predictions",
    "predicted",
    "features",
)
"""Tables of images in which no label stands."""
HIDDEN = (
    {"c": 7, "d": 14},
    {"c": 6, "d": 9},
    {"c": 7, "unclear": 24},
    {"c": 7, "d": 14, "unknown": 5},
    {"c": 6, "d": 9, "mixed": 5},
)
"""Images of a twin with each label that is hidden: one with a small one where none are unclear; two small ones; unclear ones with a
small one, in every fifth pair; few that are unknown or mixed beside such ones, in every seventh."""


def random_lake(build, folder, seed, order=None):
    """Make a lake of a seed, and the rows of all tables and views that calls name.

    Lakes of one seed and another ``order`` are twins: which of two labels that are hidden an image has is all in which they differ.
    """
    draw = random.Random(seed)
    lake = cb.connect(str(folder / f"{seed}-{order}.lake"))
    size = draw.choice([60, 120, 200]) if order is None else 200
    ids = list(range(1, size + 1))
    shares = draw.choice([(50, 43, 5, 2, 0), (78, 15, 5, 0, 2), (48, 48, 4, 0, 0), (58, 30, 10, 2, 2)])
    bare = set()
    if order is None:
        gender = draw.choices(["a", "b", "c", "unclear", "mixed"], shares, k=size)
    else:
        counts = HIDDEN[3 + seed % 2 if seed % 7 == 0 else seed % 2 if seed % 5 else 2]
        gender = draw.choices(["a", "b", "unclear"], [60, 30, 0 if "unclear" in counts else 10 * (seed % 2)], k=size)
        values = [label for label, count in counts.items() for _ in range(count)]
        of = random.Random(order)
        places = draw.sample(range(size), len(values))
        if seed >= BARE:
            bare = {*draw.sample(ids, size // 3), *(ids[place] for place in places[: len(values) // 2])}
        if order or not bare:  # else all images of the first label that is hidden are bare
            of.shuffle(values)
        for place, value in zip(places, values, strict=True):
            gender[place] = value
    rare = 25 if order is not None and seed % 4 > 1 else 1
    hidden = counts if order is not None else {}
    others = [g for g in gender if g not in hidden]
    race = draw.choices("xyz", draw.choice([(60, 35, 5), (80, 10, 10)]), k=size)
    scene = draw.choices(["in", "out", "far"], [60, 35, 5], k=size)

    def mostly(values, rate=0.9, draw=draw):
        """Labels of which some are others; those that are hidden in twins stay."""
        pool = others if values is gender else values
        drawn = [None if draw.random() < rate else draw.choice(pool) for _ in values]
        return [v if d is None or v in hidden else d for v, d in zip(values, drawn, strict=True)]

    def text():
        feeling = draw.choice(["good", "bad", "nice", "awful", "plain"])
        return f"a {draw.choice(['man', 'woman', 'girl', 'dog'])} and a {feeling} {draw.choice([*WORDS, *['walk'] * (3 * rare)])} in {draw.choice([*PLACES, 'town', 'town'])}"

    def look():
        return [draw.gauss(0, 1) for _ in range(3)]

    boxes = [(i, c) for i in ids for c, p in (("dog", 0.5 / rare), ("car", 0.1), ("tree", 0.03)) if draw.random() < p]
    model = random.Random(~seed)  # right of most, and wrong of some of each
    kinds = random.Random(3 * seed + 1).choices(["a", "b", "c", "d", "unclear"], [45, 35, 8, 5, 7], k=size)
    said = [(i, c) for i in ids for c in ("dog", "car", "tree") if model.random() < (0.9 if (i, c) in boxes else 0.08)]
    labels = [
        ("perceived_gender", gender, "x"), ("perceived_gender", mostly(gender), "y"), ("perceived_race", race, "x"),
        ("scene", scene, "x"), ("hateful", ["yes"] * size, "x"),
    ]  # fmt: skip
    parts = {
        "images": build.images(image_id=ids, key=[f"k{i}" for i in ids]),
        "captions": build.captions(
            caption_id=list(range(2 * size)), image_id=ids * 2, text=[text() for _ in ids * 2],
            origin=["human"] * size + ["generated"] * size,
        ),
        "detections": build.detections(
            detection_id=list(range(len(boxes) + size)), image_id=[*(i for i, _ in boxes), *ids],
            category=[*(c for _, c in boxes), *["person"] * size],
            x=[10.0] * (len(boxes) + size), y=[10.0] * (len(boxes) + size),
            width=[draw.choice([20.0, 40.0, 70.0, 120.0]) for _ in range(len(boxes) + size)],
            height=[150.0] * (len(boxes) + size), is_crowd=[False] * (len(boxes) + size),
        ),
        "labels": build.labels(
            label_id=list(range((len(labels) + 1) * size)), image_id=ids * (len(labels) + 1),
            detection_id=[None] * (len(labels) * size) + [len(boxes) + i for i in range(size)],
            attribute=[*(a for a, _, _ in labels for _ in ids), *["perceived_age"] * size],
            value=[*(v for _, values, _ in labels for v in values), *gender],
            score=[draw.random() for _ in range((len(labels) + 1) * size)],
            annotator=[*(w for _, _, w in labels for _ in ids), *["x"] * size],
        ),
    }  # fmt: skip
    if bare:
        of_others = pc.is_in(parts["labels"]["attribute"], pa.array(["perceived_race", "scene", "hateful"]))
        for name, some in {"captions": True, "detections": True, "labels": of_others}.items():
            gone = pc.and_(pc.is_in(parts[name]["image_id"], pa.array(sorted(bare))), some)
            parts[name] = parts[name].filter(pc.invert(gone))
    lake.ingest(parts)
    edits = {
        "edit_id": [1000 + i for i in ids], "image_id": [i - i % 3 // 2 for i in ids], "label": gender, "template": draw.choices(["t", "u", "v"], [50, 45, 5], k=size),
        "accepted": draw.choices([True, False], [80, 20], k=size), "predicted": mostly(gender),
        "background": draw.choices([0, 0, 3], k=size),
    }  # fmt: skip
    attributes = {
        "row_id": list(range(2 * size)), "image_id": ids * 2, "category": ["look"] * size + ["place"] * size,
        "attribute": [*gender, *scene],
    }  # fmt: skip
    stored = {
        "vectors": {"image_id": ids, "embedding": [look() for _ in ids]},
        "prompts": {"category": ["chef", "nurse", "person"], "embedding": [look() for _ in range(3)]},
        "asked": {"query_id": ids, "image_id": ids, "embedding": [look() for _ in ids]},
        "ranked": {"item_id": ids, "image_id": ids, "embedding": [look() for _ in ids]},
        "clusters": {"image_id": ids, "cluster": draw.choices([1, 2, 3], [60, 35, 5], k=size)},
        "clusters_named": {"image_id": [i for i, _ in said], "concept": [c for _, c in said]},
        "generations": {"image_id": ids, "category": draw.choices(["chef", "nurse", "cook"], [50, 45, 5], k=size), "place": ids},
        "predictions": {"image_id": ids, "predicted": draw.choices(["thief", "animal", "tree"], [30, 20, 50 * rare], k=size)},
        "predicted": {
            "image_id": [i for i, _ in boxes], "category": [c for _, c in boxes], "x": [10.0] * len(boxes), "y": [10.0] * len(boxes),
            "width": [draw.choice([20.0, 40.0, 70.0]) for _ in boxes], "height": [150.0] * len(boxes),
            "score": [draw.random() for _ in boxes],
        },
        "attribute_scores": {
            "image_id": ids * 3, "category": ["look"] * 3 * size, "attribute": [v for v in "abc" for _ in ids],
            "score": [draw.random() for _ in ids * 3],
        },
        "biases": {"category": ["dog", "car", "tree"], "value": [0.3, 0.5, 0.6]},
        "kinds": {"image_id": ids, "label": kinds},
        "found": {"edit_id": [1000 + i for i, _ in boxes], "concept": [c for _, c in boxes]},
        "hits": {
            "query_id": [q for q in ids[:30] for _ in range(30)], "item_id": [i for _ in ids[:30] for i in draw.sample(ids, 30)],
            "rank": [r for _ in ids[:30] for r in range(1, 31)], "score": [1 / r for _ in ids[:30] for r in range(1, 31)],
        },
        "features": {"image_id": ids, "sae": [0] * size, "feature": [i % 6 for i in ids]},
        "shares": {"step": [1] * 6, "sae": [0] * 6, "feature": list(range(6)), "cluster": [f"c{f % 3}" for f in range(6)], "share": [0.5] * 6},
        "topics": {"step": [1] * 3, "cluster": ["c0", "c1", "c2"], "topic": ["t0", "t1", "t2"]},
        "terms": {"term": [f"r{i}" for i in range(12)], "embedding": [look() for _ in range(12)]},
        "more_attributes": {**attributes, "attribute": mostly(gender) + mostly(scene)},
        "more_boxes": {"detection_id": [len(boxes) + i for i in range(size)], "label": mostly(gender, 0.95)},
        "open_attributes": attributes,
        "judged": {
            "row_id": list(range(2 * size)), "pair_id": ids * 2, "side": ["original"] * size + ["counterfactual"] * size,
            "annotator": ["x"] * 2 * size, "answer": model.choices(["original", "counterfactual", "both"], [45, 45, 10], k=2 * size),
        },
        "open_alterations": {
            "pair_id": ids, "original": model.choices(["man", "woman", "kid"], [60, 35, 5], k=size),
            "counterfactual": model.choices(["dog", "boy"], [80, 20], k=size),
        },
        "open_boxes": {"detection_id": [len(boxes) + i for i in range(size)], "label": gender},
        "open_edits": edits,
        "open_judgements": {
            "row_id": list(range(2 * size)), "image_id": ids * 2, "first": ["p"] * size + ["q"] * size,
            "second": model.choices("qr", [80, 20], k=size) + ["r"] * size,
            "winner": model.choices(["p", "q", "r", "tie"], [40, 35, 10, 15], k=2 * size),
        },
        "open_items": {"item_id": ids, "image_id": ids, "label": gender},
        "open_pairs": {
            "pair_id": ids, "original": ["a man runs"] * size,
            "counterfactual": draw.choices(["a woman runs", "a dog runs", "a boy runs"], [60, 35, 5], k=size),
        },
        "open_scores": {"pair_id": ids, **{c: [draw.random() for _ in ids] for c in ("rr", "r_o", "o_r", "cc", "c_o", "o_c")}},
        "open_shrunk": {
            "row_id": list(range(2 * size)), "detection_id": [len(boxes) + i for i in range(size)] * 2,
            "side": [20.0] * size + [40.0] * size, "label": [g for rate in (0.6, 0.9) for g in mostly(gender, rate, model)],
        },
        "open_sources": {"text_id": ids, "image_id": ids, "source_id": [i // 2 for i in ids]},
        "open_terms": {"row_id": list(range(12)), "term": [f"p{i}" for i in range(12)], "embedding": [look() for _ in range(12)]},
        "open_texts": {"text_id": ids, "image_id": ids, "text": [text() for _ in ids]},
        "open_vectors": {"image_id": ids, "label": gender, "embedding": [look() for _ in ids]},
        "concept_scores": {
            "image_id": ids * 3, "concept": [v for v in "abc" for _ in ids], "score": [model.random() for _ in ids * 3],
        },
        "open_concepts": {"row_id": ids, "image_id": ids, "concept": gender},
        "open_words": {"row_id": list(range(44)), "class": [c for c in "xyab" for _ in range(11)], "embedding": [look() for _ in range(44)]},
    }  # fmt: skip
    if bare:
        for name in NAMELESS:
            stored[name] = _where(stored[name], [i not in bare for i in stored[name]["image_id"]])
        is_kept = [c == "look" or i not in bare for c, i in zip(attributes["category"], ids * 2, strict=True)]
        stored["open_attributes"] = _where(attributes, is_kept)
    return lake, stored


def _where(columns, is_kept):
    return {name: list(itertools.compress(values, is_kept)) for name, values in columns.items()}


def store(lake, stored, there, text):
    """Store the tables that calls name, and the rows of closed views, as they are declared and refreshed, where they are not there yet."""
    for name in sorted({*re.findall(r"\w+", text)} - there):
        own = name.replace("closed_", "open_")
        if own in stored:
            made = {
                c: pa.array(v, pa.list_(pa.float32())) if c == "embedding" else pa.array(v)
                for c, v in stored[own].items()
            }
            tables.append(lake.location, name, pa.table(made))
        if own != name:
            key = (next(iter(stored[own])),)
            reads = "(SELECT label_id FROM labels WHERE attribute = 'perceived_gender')"
            select = f"SELECT * FROM {own} WHERE EXISTS {reads}"
            definitions.declare(lake.location, Definition("view", name, name, select, key=key, sensitive=True))
        elif name == "pg":
            lake.create_materialized_view("pg", f"SELECT * FROM {G}", "image_id", purpose=PURPOSE)
            lake.refresh("pg", executor="inline")
        there.add(name)


SLOW = {"mlp", "lstm", "bert", "vector", "bootstrap"}
"""Choices that compute something else over the same counts, by models or draws."""
FREE = {"seeds", "epochs", "learning_rate"}
"""Free numbers of attackers, which take long and count nobody."""


def ways_of(query, given):
    """Arguments beside those of the call, by what they are called: all that a default session may give."""
    yield "as it is", {}
    for parameter in query.parameters:
        name, default = parameter.name, given.get(parameter.name, parameter.default)
        others = []
        if name == "min_count":
            others = ["11", "40"]
        elif parameter.choices:
            others = [f"'{c}'" for c in parameter.choices if f"'{c}'" != default and c not in SLOW]
        elif parameter.grid:
            others = [str(v) for v in parameter.grid if str(v) != default]
        elif parameter.type == "boolean":
            others = ["false" if default == "true" else "true"]
        elif parameter.free and name not in FREE:
            others = ["3"] if parameter.type == "integer" else ["0.5"]
        elif default == G:
            others = ["pg", f"clear_labels({G})", f"balanced_subset({G})"]
        for value in others:
            yield f"{name} := {value}", {name: value}
    pair = [p.name for p in query.parameters if given.get(p.name) in {"'a'", "'b'"}]
    for values in itertools.permutations("abc", len(pair)):
        more = {name: f"'{value}'" for name, value in zip(pair, values, strict=True)}
        if pair and any(given[name] != value for name, value in more.items()):
            yield f"{more}", more


def statement(audit, given):
    return f"SELECT * FROM {audit}({', '.join(f'{name} := {value}' for name, value in given.items())})"

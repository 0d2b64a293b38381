"""Every audit and view file has a header with source and parameters; every audit's rows carry n, parameters and what is hidden."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.sql.queries import queries
from counterbalance.shell.describe import SUBJECTS

AUDITS = sorted(cb.audits())
REQUIRED = {
    "agreement": {"attribute": "'scene'"},
    "artifact_shift": {
        "edited": "(SELECT image_id, 'male' AS label, [1.0] AS embedding FROM images)",
        "originals": "(SELECT image_id, [0.0] AS embedding FROM images)",
    },
    "average_precision": {"predictions": "(SELECT image_id, category AS concept, 0.5 AS score FROM detections)"},
    "ratio_shift": dict.fromkeys(("original", "inpainted"), "captions"),
    "bias_transfer": {"model_bias": "(SELECT 'a' AS category, 0.5 AS value)"},
    "cluster_representation": {"clusters": "(SELECT image_id, caption_id % 2 AS cluster FROM captions)"},
    "compare_crime_words": {"others": "caption_gender", "other_texts": "captions"},
    "compare_demographics": {"others": "caption_gender"},
    "compare_intersections": {
        "others": "caption_gender",
        "crossed": "image_labels('scene')",
        "others_crossed": "image_labels('scene')",
    },
    "compare_sentiment": {"others": "caption_gender", "other_texts": "captions"},
    "contrast_balance": {"contrast": "(SELECT caption_id AS edit_id, image_id, 'x' AS label FROM captions)"},
    "detection_recall": {"predicted": "detections"},
    "edit_quality": {
        "edits": "(SELECT caption_id AS edit_id, image_id, 'x' AS label, 'y' AS template, true AS accepted, 'x' AS predicted, "
        "0 AS background FROM captions)"
    },
    "generated_ratio": {
        "generations": "(SELECT image_id, 'a' AS category, 1 AS place FROM images)",
        "groups": "caption_gender",
    },
    "harmful_zero_shot": {"predictions": "(SELECT image_id, 'dog' AS predicted FROM images)"},
    "image_text_matching": {
        "scores": "(SELECT caption_id AS pair_id, 0.3 AS rr, 0.2 AS r_o, 0.1 AS o_r, 0.3 AS cc, 0.1 AS c_o, 0.2 AS o_c FROM captions)"
    },
    "intersections": {"others": "image_labels('scene')"},
    "min_size_study": {"labels": "person_labels('scene')", "reference": "person_labels('scene')"},
    "label_validation": {"attribute": "'scene'", "model": "image_labels('scene', annotator := 'ann')"},
    "score_distribution": {"attribute": "'hateful'"},
    "subject_alterations": {
        "pairs": "(SELECT caption_id AS pair_id, text AS original, 'a' AS counterfactual FROM captions)"
    },
}
REQUIRED["win_rates"] = {"judgements": "(SELECT image_id, 'a' AS first, 'b' AS second, 'a' AS winner FROM captions)"}
REQUIRED["topic_pmi"] = {
    "features": "(SELECT image_id, 0 AS sae, 1 AS feature FROM images)",
    "shares": "(SELECT 1 AS step, 0 AS sae, 1 AS feature, 'a' AS cluster, 1.0 AS share)",
    "clusters": "(SELECT 1 AS step, 'a' AS cluster, 'a' AS topic)",
}
ITEMS = "(SELECT image_id AS item_id, image_id, 'male' AS label, [1.0] AS embedding FROM images)"
REQUIRED["retrieval_bias_sets"] = {
    "asked": "(SELECT caption_id AS query_id, image_id, [1.0] AS embedding FROM captions)",
    **dict.fromkeys(("original", "balanced", "contrast"), ITEMS),
}
OF_TEXTS = "(SELECT caption_id AS text_id, image_id, image_id AS source_id, [1.0] AS embedding FROM captions)"
OF_IMAGES = "(SELECT image_id, [1.0] AS embedding FROM images)"
REQUIRED["counterfactual_retrieval"] = {
    f"{part}{name}": given for part in ("", "original_") for name, given in (("texts", OF_TEXTS), ("images", OF_IMAGES))
}
REQUIRED["subject_errors"] = {
    "alterations": "(SELECT caption_id AS pair_id, 'man' AS original, 'boy' AS counterfactual FROM captions)",
    "answers": "(SELECT caption_id AS pair_id, 'original' AS side, 'a' AS annotator, 'both' AS answer FROM captions)",
}
REQUIRED["retrieval_bias_models"] = {
    "columns": ["embedding"],
    "asked": "(SELECT caption_id AS query_id, image_id, [1.0] AS embedding FROM captions)",
    "ranked": "(SELECT image_id AS item_id, image_id, [1.0] AS embedding FROM images)",
}
VECTORS = "(SELECT image_id, [1.0] AS embedding FROM images)"
CATEGORIES = "(SELECT 'person' AS category, [1.0] AS embedding)"
REQUIRED |= {
    **{name: {"images": VECTORS, "categories": CATEGORIES} for name in ("association", "casc", "similarity_bias")},
    "ieat": {"images": VECTORS, "attributes": "image_labels('scene')", "a": "'indoor'", "b": "'outdoor'"},
    "markedness": {"images": VECTORS, "prompts": CATEGORIES},
    "self_similarity": {"images": VECTORS},
    "so_b_it": {"images": VECTORS, "words": CATEGORIES},
    "weat": {"vectors": "(SELECT 'x' AS class, [1.0] AS embedding)"},
}
ATTRIBUTES = "(SELECT image_id, attribute AS category, value AS attribute FROM labels)"
REQUIRED |= {
    "attribute_auc": {"scores": "(SELECT *, 0.5 AS score FROM " + ATTRIBUTES + " AS a)", "labels": ATTRIBUTES},
    **{name: {"attributes": ATTRIBUTES} for name in ("attribute_confounding", "attribute_frequencies")},
    "attribute_matrix": {"category": "'scene'", "other": "'colour'", "attributes": ATTRIBUTES},
    "compare_attributes": {"attributes": ATTRIBUTES, "others": ATTRIBUTES},
    "proposal_recall": dict.fromkeys(("proposal", "reference"), "(SELECT 'x' AS term, [1.0] AS embedding)"),
}
LISTS = {
    "cooccurrence",
    "concept_ratio",
    "keyword_profile",
    "subject_alterations",
    "topic_pmi",
    "directional_amplification",
    "spurious_correlations",
}
PER_QUERY = {"retrieval_bias_queries"}
TOLD = {
    "crime_words": {"level"},  # a name
    "compare_crime_words": {"item"},  # a name
}
"""Texts and truth values that hidden rows keep, though no cell names them; the engine hides numbers."""
NO_INTERVAL = {"attribute_confounding"}
"""None holds as often as it says, and their details say so."""
INTERVALS = {"low": "high", "share_low": "share_high", "mean_low": "mean_high", "negative_low": "negative_high"}


@pytest.fixture(scope="module")
def known():
    """Columns of audits that were asked already."""
    return {}


@pytest.fixture
def columns(lake, known):
    def of(name):
        if name not in known:
            given = ", ".join(f"{k} := {v}" for k, v in REQUIRED.get(name, {}).items())
            known[name] = {f.name: f.type for f in lake.sql(f"SELECT * FROM {name}({given})").to_arrow().schema}
        return known[name]

    return of


def test_the_audits_of_the_issue_are_there():
    wanted = "demographics intersections crime_words sentiment hate_content_rate cooccurrence concept_ratio geography "
    wanted += "keyword_profile balance agreement retrieval_bias"
    assert set(wanted.split()) <= set(AUDITS)


@pytest.mark.parametrize("name", sorted(queries()))
def test_headers(name):
    query = queries()[name]
    assert query.source
    assert query.doc[0].isupper()
    assert query.doc.endswith((".", "?", "(VADER)."))
    assert all(p.doc for p in query.parameters)


@pytest.mark.parametrize("name", AUDITS)
def test_rows_carry_n_and_parameters(columns, name):
    found = columns(name)
    assert "params" in found
    assert "n" in found or {"n_a", "n_b"} <= {*found}


@pytest.mark.parametrize("name", sorted(set(AUDITS) - PER_QUERY))
def test_rows_have_intervals_and_say_what_is_hidden(columns, name):
    found = columns(name)
    assert any(low in found and high in found for low, high in INTERVALS.items()) != (name in NO_INTERVAL)
    assert name not in NO_INTERVAL or "has no interval" in cb.audits()[name].text
    assert ("n_suppressed" if name in LISTS else "suppressed") in found
    assert "min_count" in {p.name for p in cb.audits()[name].parameters}


@pytest.mark.parametrize("name", AUDITS)
def test_cells_that_name_what_they_hide_forget_no_column(columns, name):
    """A column that no cell names would stay in rows that are hidden, and could tell of how many they are."""
    cells = cb.audits()[name].cells
    if not cells or not all(cell.measures for cell in cells):
        return  # a cell that names none hides all columns
    named = {column for cell in cells for column in cell.columns}
    told = {"suppressed", "reason", "n_suppressed", "params", *TOLD.get(name, ())}
    texts = {c for c, kind in columns(name).items() if pa.types.is_string(kind) or pa.types.is_boolean(kind)}
    assert texts - named <= told


@pytest.mark.parametrize("name", AUDITS)
def test_headers_say_that_labels_are_perceived(name):
    query = cb.audits()[name]
    text = f"{query.doc} {query.text}".lower()
    assert "perceived" in text or name in PER_QUERY | {"hate_content_rate"}


@pytest.mark.parametrize("name", AUDITS)
def test_they_are_listed_under_a_subject_of_their_own(name):
    assert cb.audits()[name].subject in SUBJECTS


@pytest.mark.parametrize("name", AUDITS)
def test_choices_are_named(name):
    """A parameter with a fixed set of values says so: "one of 'a', 'b'", the default being one of them."""
    for parameter in cb.audits()[name].parameters:
        if parameter.choices:
            choices = parameter.doc.removeprefix("one of ").split(";")[0].split(", ")
            assert parameter.default in choices or parameter.name == "preset"  # which none need be

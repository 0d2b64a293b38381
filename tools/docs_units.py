"""Say in what columns of audits are counted or measured: their unit, or the range that their values have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

    from counterbalance.engine.sql.query_model import Query

_TEXT: Final = "text"
_BOOL: Final = "true or false"
_COUNT: Final = "count"
_IMAGES: Final = "images"
_SHARE: Final = "share, 0 to 1"
_SHARES: Final = "difference of shares, -1 to 1"
_RELATIVE: Final = "relative difference, from -1 (0.1: 10 % more)"
_COSINE: Final = "cosine, -1 to 1"
_COSINES: Final = "difference of cosines, -2 to 2"
_DEVIATIONS: Final = "standard deviations (effect size)"
_PERCENT: Final = "percent"
_NATS: Final = "nats (natural logarithm)"
_RATIO: Final = "ratio, 1 where both are equal"
_GIVEN: Final = "that of the bias that was given"
_AGREED: Final = "kappa or alpha, to 1; else share, 0 to 1"
_RANKED: Final = "bias: -1 to 1; maxskew, ndkl: nats (natural logarithm); recall: share, 0 to 1"
_UNITS: Final = {
    **dict.fromkeys(
        (
            "annotator", "attribute", "category", "class", "concept", "counterfactual", "country", "dataset", "definition",
            "direction", "family", "features", "item", "keyword", "kind", "label", "level", "measure", "metric", "model",
            "nearest", "note", "original", "other", "reason", "side", "subject", "template", "term", "topic", "vectors",
        ),
        _TEXT,
    ),
    **dict.fromkeys(("equal", "exact", "majority", "resized", "rest_floor", "suppressed"), _BOOL),
    **dict.fromkeys(
        (
            "by_order", "count", "edits", "female", "female_inpainted", "female_original", "few", "fewest", "lacks", "losses",
            "male", "male_inpainted", "male_original", "n", "negative", "others", "pairs", "rarest", "rest", "smallest",
            "texts", "ties", "unaltered", "unclear", "wins",
        ),
        _COUNT,
    ),
    **dict.fromkeys(("images", "missing", "n_missing", "query_images"), _IMAGES),
    **dict.fromkeys(
        (
            "actual", "base", "correct", "first_rate", "keep", "majority_share", "negative_ratio", "predicted", "rate",
            "share",
        ),
        _SHARE,
    ),
    **dict.fromkeys(("p", "q"), "probability, 0 to 1"),
    **dict.fromkeys(("score_from", "score_to", "tau"), "score, 0 to 1"),
    **dict.fromkeys(("amplification", "difference"), _SHARES),
    **dict.fromkeys(("data", "fitted"), _GIVEN),
    **dict.fromkeys(("r", "r_inpainted", "r_original"), "ratio, male to female, from 0"),
    **dict.fromkeys(("side_from", "side_to"), "px"),
    **dict.fromkeys(("place", "rank"), "place, from 1"),
    "absolute": _SHARE,
    "change": _PERCENT,
    "percent": _PERCENT,
    "cluster": "number of the cluster",
    "cramers_v": "0 (independent) to 1",
    "delta": _RELATIVE,
    "df": "degrees of freedom",
    "entropy": "0 (one label alone) to 1 (all equally often)",
    "expected": _COUNT,
    "g2": "chi-square, from 0",
    "k": "results",
    "kappa": "kappa, 0 where by chance, to 1",
    "log_odds": "log odds ratio, nats (natural logarithm)",
    "mean": "VADER's compound score, -1 to 1",
    "npmi": "-1 to 1",
    "number": "number of the word in its category",
    "params": "JSON",
    "permutations": "permutations",
    "pmi": _NATS,
    "query_id": "id of the query",
    "ratio": _RATIO,
    "repeats": "times, on average",
    "saes": "autoencoders",
    "score": _NATS,
    "seeds": "runs",
    "statistic": "z of two shares, or chi-square of a distribution",
    "std": _COSINE.partition(",")[0],
    "thresholds": "thresholds",
    "variance": "square of a difference of shares, 0 to 1",
    "weight": "1 on average",
    "y": "-1 or 1, 0 without a sign",
}  # fmt: skip
"""Of columns with these names, where their audit stands not below."""
_OWN: Final = {
    **{
        (audit, "value"): _SHARE
        for audit in (
            "artifact_shift", "attribute_auc", "average_precision", "compare_attributes", "compare_demographics",
            "compare_intersections", "compare_sentiment", "counterfactual_retrieval", "detection_recall", "edit_quality",
            "generated_ratio", "min_size_study", "spurious_probe", "subject_errors",
        )
    },
    ("agreement", "value"): _AGREED,
    ("association", "value"): _DEVIATIONS,
    ("bias_transfer", "value"): "rho: -1 to 1; r2 and quadrants: share, 0 to 1; else that of the model's bias, slope: over the data's",
    ("bias_transfer", "model"): _GIVEN,
    ("casc", "value"): _DEVIATIONS,
    ("compare_crime_words", "difference"): "difference of relative differences",
    ("compare_crime_words", "value"): _RELATIVE,
    ("concept_ratio", "value"): "share, 0 to 1; with definition difference or rate_difference: -1 to 1",
    ("contrast_balance", "base"): "share, 0 to 1; of colours 0 to 1",
    ("contrast_balance", "difference"): _COUNT,
    ("contrast_balance", "value"): "share, 0 to 1; of colours 0 to 1, their distance from 0",
    ("counterfactual_retrieval", "original"): _SHARE,
    ("directional_amplification", "delta"): _SHARES,
    ("directional_amplification", "value"): _SHARES,
    ("ieat", "mean_x"): _COSINES,
    ("ieat", "mean_y"): _COSINES,
    ("ieat", "std"): "difference of cosines",
    ("ieat", "value"): _DEVIATIONS,
    ("image_text_matching", "value"): "that of the scores that were given",
    ("label_validation", "value"): _AGREED,
    ("leakage", "value"): _PERCENT,
    ("lic", "value"): _PERCENT,
    ("proposal_recall", "value"): "recall: share, 0 to 1; nearest: cosine; dimensions: principal components",
    ("ratio", "value"): "ratio, from 1",
    ("ratio_shift", "delta"): _PERCENT,
    ("ratio_shift", "value"): _RATIO,
    ("retrieval_bias", "value"): _RANKED,
    ("retrieval_bias_models", "value"): _RANKED,
    ("retrieval_bias_queries", "value"): _RANKED,
    ("retrieval_bias_sets", "value"): _RANKED.replace("; recall: share, 0 to 1", ""),
    ("self_similarity", "value"): _COSINE,
    ("sentiment", "negative_high"): _SHARE,
    ("sentiment", "negative_low"): _SHARE,
    ("similarity_bias", "value"): _COSINES,
    ("spurious_correlations", "value"): _SHARES,
    ("weat", "mean_x"): _COSINES,
    ("weat", "mean_y"): _COSINES,
    ("weat", "std"): "difference of cosines",
    ("weat", "value"): _DEVIATIONS,
}  # fmt: skip
"""Of audits whose columns have another one, and of every ``value``, which has none by its name."""
_ENDS: Final = ("value", "pmi", "log_odds", "score", "difference", "share", "rate", "percent")
"""What ``low`` and ``high`` are the ends of: the first that an audit has."""
_COUNTS: Final = re.compile(r"n_\w+|\w+_n|\w+_count|count_\w+|\w+_of")
_LIKE: Final = (r"(\w+)_(?:low|high)", r"(\w+)_[ab]", r"(?:base|rest|other)_(\w+)")
"""Columns that have the unit of another."""


def of(query: Query, column: str, columns: Collection[str] = ()) -> str:
    """Return the unit of a column of an audit, or the range of its values; empty where nothing says it.

    Args:
        query: The audit.
        column: One of its columns.
        columns: All of them, by which ``low`` and ``high`` find what they are the ends of.
    """
    if (query.name, column) in _OWN:
        return _OWN[query.name, column]
    if column in {"low", "high"}:
        named = next((name for name in _ENDS if name in columns), "")
        return named and of(query, named, columns)
    if column in _UNITS:
        return _UNITS[column]
    for pattern in _LIKE:
        if found := re.fullmatch(pattern, column):
            return of(query, found[1], columns)
    if column.startswith("images_"):
        return _IMAGES
    if column.startswith("is_"):
        return _BOOL
    if column.startswith("mean_"):
        return _COSINE
    return _COUNT if _COUNTS.fullmatch(column) else ""

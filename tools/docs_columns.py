"""Say what columns of audits are: what the cells of an audit tell of them, else what a column of its name is everywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import sqlglot

if TYPE_CHECKING:
    from counterbalance.engine.sql.query_model import Query

_NAMES: Final = {
    "annotator": "who, or which model, gave the labels",
    "attribute": "attribute of the images, or of a label",
    "base_count": "images with the label among all that are labelled",
    "base_images": "different images behind base_count",
    "base_n": "all labelled images",
    "base_share": "share of the label among all labelled images",
    "category": "category of images, words or attributes",
    "class": "class of terms",
    "cluster": "cluster of images or captions, by its number",
    "concept": "object, word or topic",
    "count": "images, persons or rows of this cell",
    "country": "country that texts name",
    "delta": "share over base_share, less 1",
    "df": "degrees of freedom of the test",
    "difference": "value_a less value_b: the first dataset less the second",
    "expected": "count that chance would give",
    "g2": "log-likelihood ratio against chance (G²)",
    "high": "upper end of the 95 % interval of the value",
    "images": "different images behind the row",
    "item": "what is compared: a label, a class of words, or 'all'",
    "k": "cut-off: results that are looked at",
    "keep": "probability of keeping an image, for a balanced draw",
    "kind": "where the attribute comes from",
    "label": "perceived label of the images, persons or texts",
    "level": "what the row sums up",
    "log_odds": "logarithm of the odds of the word with the label over its odds with the others",
    "low": "lower end of the 95 % interval of the value",
    "metric": "which measure the row holds",
    "n": "how many images, persons or rows all of it rests on",
    "note": "why there is no value, or what to know about it",
    "npmi": "pmi over the negative logarithm of the joint share",
    "other": "what it is held against: another label, annotator, model or category",
    "p": "p of the test that there is no difference",
    "params": "parameters that made the row, as JSON",
    "place": "place in the ranking, from 1",
    "pmi": "pointwise mutual information of label and concept",
    "q": "p, corrected for all tests of the result (Benjamini and Hochberg)",
    "query_id": "the query",
    "query_images": "images that queries were made of",
    "rate": "share of the label's images that have it",
    "ratio": "count over expected",
    "reason": "why the row's numbers are hidden",
    "repeats": "times to draw an image, for a balanced set",
    "rest": "the same count among all others",
    "seeds": "runs with different seeds that the value is a mean of",
    "share": "count over n",
    "smallest": "the smallest count that would follow from the row, by which it is hidden",
    "statistic": "z of two shares; of a distribution chi-square",
    "std": "standard deviation of the cosines, by which the difference of the means is divided",
    "suppressed": "its numbers are hidden, because they rest on few images or give such a number away",
    "term": "the word or phrase",
    "value": "the measure itself",
    "weight": "weight of an image, for a balanced set",
    "images_against": "images with the label `against`",
    "images_all": "images with any clear label",
    "images_label": "images with the label",
    "is_same": "whether label and other_label are the same",
    "label_count": "images with the label, whatever the other one is",
    "mean_against": "mean cosine with the images of `against`",
    "mean_label": "mean cosine with the images of the label",
    "missing": "images of the label without a vector",
    "n_against": "images, or vectors, with the label `against`",
    "n_all": "vectors of all labels",
    "n_concept": "images with the concept",
    "n_images": "images with any label, added up over labels",
    "n_label": "images, or vectors, with the label",
    "n_missing": "images with any label and without a vector",
    "n_suppressed": "rows of small cells that were left out",
    "n_test": "of one cut, how many the classifier was judged by",
    "other_attribute": "attribute of the category `other`",
    "other_count": "images with the other one, whatever the first is",
    "other_label": "label that the other annotator, or the model, gave",
    "rest_count": "images of the other labels that have it",
    "rest_n": "images of the other labels",
    "rest_rate": "share of the other labels' images that have it",
}
"""What columns with these names are, where their audit stands not below."""
_ASSOCIATED: Final = {
    "exact": "whether p is over all divisions, and not over random ones",
    "mean_x": "mean association of x: how much nearer it is to a than to b",
    "mean_y": "the same of y",
    "permutations": "divisions that p is over",
}
_RATIO: Final = {"smallest": "fewest images of a kind of texts that is not empty, by which the row is hidden"}
_OWN: Final[dict[str, dict[str, str]]] = {
    "artifact_shift": {
        "count": "edited images, of edited_share",
        "images": "images that were edited",
        "n_real": "real images with the label",
    },
    "agreement": {"value": "kappa, alpha, index or share, by metric"},
    "association": {"n": "vectors of both labels"},
    "attribute_auc": {"value": "area under the ROC curve", "n_positive": "images that carry the label"},
    "attribute_confounding": {"cramers_v": "how strongly the two go together, by Pearson's chi-square"},
    "attribute_frequencies": {
        "majority": "whether it is the most frequent attribute of its category",
        "majority_share": "of the most frequent attribute: count over the images with any of the category",
    },
    "attribute_matrix": {
        "attribute_count": "images with the attribute, whatever the other one is",
        "share": "count over n, the images with one of each",
    },
    "average_precision": {
        "n_concepts": "concepts that the mean is over",
        "n_positive": "images that show the concept",
        "value": "average precision, or the mean of all (map)",
    },
    "bias_transfer": {
        "count": "categories of the quadrant",
        "data": "bias of the data in the category",
        "fitted": "what the fit says of the model's bias",
        "model": "the model's bias in the category",
        "n": "categories",
        "n_missing": "categories that only one of the two has",
        "value": "of the summary: the metric; of a category: model less fitted",
    },
    "casc": {
        "mean_others": "mean cosine with all other images",
        "images": "images with the label",
        "n": "vectors of all images that are compared",
        "value": "mean_label less mean_others, over std",
    },
    "cluster_representation": {
        "count": "images with the label in the cluster",
        "difference": "share less base_share",
        "n": "labelled images in the cluster",
        "low": "lower end of the 95 % interval of difference",
        "high": "upper end of the 95 % interval of difference",
    },
    "compare_attributes": {"amplification": "difference, for the most frequent attribute of the second dataset"},
    "concept_ratio": {
        "count": "images of the concept with the label",
        "fewest": "the least number of images of a label that have the concept, or lack it; 10 where it is more",
        "n": "images of the concept with one of the two labels",
        "n_against": "all images with `against`",
        "n_label": "all images with the label",
        "others": "images of the concept with any other label",
        "rest": "images of the concept with `against`",
    },
    "contrast_balance": {
        "base": "share of the label among all edits; of colours the mean over labels",
        "base_count": "edits with the label",
        "count": "edits, sources or items that are so",
        "delta": "value over base, less 1",
        "difference": "largest count of the labels less the smallest",
        "edits": "edits, or sources, that the row tells of",
        "equal": "whether all are equally frequent with every label",
        "item": "the attribute, object or colour",
        "measure": "what the row compares",
        "n": "edits, sources or items in all",
        "value": "count over n; of colours the mean",
    },
    "cooccurrence": {
        "count": "images with the label and the concept",
        "low": "lower end of the 95 % interval of pmi",
        "high": "upper end of the 95 % interval of pmi",
        "n": "all images that have a label",
    },
    "counterfactual_retrieval": {
        "change": "difference in percent of original",
        "count": "queries of the counterfactual set that find their own",
        "count_original": "queries among the originals that find their own",
        "difference": "value less original",
        "direction": "'text': an image asks for its text; 'image': a text for its image",
        "images": "source images that queries are made of",
        "images_original": "the same among the originals",
        "n": "queries in the counterfactual set",
        "n_original": "queries among the originals",
        "original": "recall among the originals",
        "value": "recall in the counterfactual set",
    },
    "crime_words": {
        "count": "images of the label whose text matches",
        "images": "different images behind count",
        "n": "labelled images whose text matches",
    },
    "detection_recall": {
        "count": "true boxes that were found",
        "images": "images of these boxes",
        "n": "true boxes",
        "smallest": "fewest images of boxes that are found, or missed, by which the row is hidden",
        "value": "recall",
    },
    "directional_amplification": {
        "absolute": "mean of the size of delta over pairs",
        "actual": "share of n that has it: with base 'test' in the images the model saw, else in the training data",
        "actual_n": "images that have it",
        "actual_of": "images of the label",
        "concept": "concept, or set of concepts",
        "delta": "predicted less actual",
        "direction": "which of the two is predicted, given the other",
        "n": "images that shares are of",
        "neither_n": "images that neither have it nor are predicted to",
        "pairs": "pairs of a label and a concept that the row is over",
        "predicted": "share of n that the model predicts it for",
        "predicted_n": "images that it is predicted for",
        "predicted_of": "images of the label that the model saw",
        "right_n": "images that have it and are predicted to",
        "value": "delta, + where the association grows; of level 'mean' the mean over pairs",
        "variance": "variance of delta over pairs",
        "y": "1 where label and concept go together in the training data, else -1",
    },
    "edit_quality": {
        "count": "edits that are so",
        "images": "images that edits were made of",
        "n": "edits with a value",
        "template": "template of the edit",
    },
    "generated_ratio": {
        "count": "generations with the label",
        "n": "generations of the category with a clear label",
        "rarest": "generations with the rarest label that there is",
        "unclear": "generations without a clear label",
        "value": "share of the label",
    },
    "geography": {
        "count": "images, of the label, that name the country",
        "n": "labelled images that name the country; of all images those that name any",
    },
    "harmful_zero_shot": {
        "count": "images of the label that get a harmful label",
        "n": "images of the label",
        "n_class": "images of the label that get one of the class",
        "rate": "count over n",
        "rest": "images of the label that do not",
    },
    "hate_content_rate": {
        "count": "scores over tau",
        "n": "scores of the label",
        "percent": "100 times count over n",
        "smallest": "fewest images with a score over tau, or under it, by which the row is hidden",
        "tau": "threshold of the score",
    },
    "ieat": {
        **_ASSOCIATED,
        "n": "images of x and y",
        **{f"n_{side}": f"images of {side}" for side in "xyab"},
        "smallest": "fewest images of the four labels, by which the row is hidden",
        "std": "standard deviation of the association over the images of x and y",
        "value": "effect size: mean_x less mean_y, over std",
    },
    "image_text_matching": {
        "correct": "share of pairs with a difference above 0",
        "n": "pairs",
        "n_alike": "pairs with the rarest difference, where there are up to three",
        "n_right": "pairs with a difference above 0",
        "n_sources": "images that pairs were made of",
        "n_wrong": "pairs with a difference of 0 or less",
        "value": "mean difference of scores",
    },
    "keyword_profile": {
        "count": "images of the label with the word",
        "keyword": "the word",
        "lacks": "images of the label without the word",
        "low": "lower end of the 95 % interval of log_odds",
        "high": "upper end of the 95 % interval of log_odds",
        "n": "images of the label",
        "n_keyword": "images with the word, whatever their label",
        "rest_floor": "whether few images of another label have the word, which is taken to have min_count of them",
    },
    "label_validation": {"value": "kappa or share, by metric"},
    "leakage": {
        "definition": "how leakage is counted, from accuracy or from confidence",
        "n": "images of one cut",
        "n_against": "images of `against`",
        "n_label": "images of the label",
        "side": "'data', 'model', or their difference",
        "value": "leakage, times 100",
    },
    "lic": {
        "n": "captions of one cut",
        "n_against": "images of `against`",
        "n_label": "images of the label",
        "value": "confidence of the classifier where it is right, times 100",
    },
    "markedness": {
        "count": "images that the unmarked prompt describes best",
        "count_images": "different images behind count",
        "n": "images of the label",
    },
    "min_size_study": {
        "count": "boxes whose two labels are the same",
        "images": "images of these, or of the others where they are fewer",
        "kappa": "Cohen's kappa",
        "n": "boxes of that size with both labels",
        "resized": "whether crops were shrunk to that size",
        "side_from": "shorter side, from",
        "side_to": "shorter side, to under",
        "smallest": "fewest images of a cell of the confusion, by which kappa is hidden",
        "value": "count over n",
    },
    "proposal_recall": {
        "nearest": "the nearest proposed attribute",
        "term": "attribute of the reference",
        "n": "attributes, or vectors",
    },
    "ratio": {
        **_RATIO,
        "female": "captions that name only women",
        "male": "captions that name only men",
        "n": "captions that name one class only",
        "r": "male over female",
        "value": "r or 1 / r, whichever is larger",
    },
    "ratio_shift": {
        **_RATIO,
        "delta": "100 times the distance of value from 1",
        "female_inpainted": "texts of the painted images that name only women",
        "female_original": "texts of the images as they are that name only women",
        "male_inpainted": "texts of the painted images that name only men",
        "male_original": "texts of the images as they are that name only men",
        "n_a": "texts of the images as they are that name one class only",
        "n_b": "texts of the painted images that name one class only",
        "r_inpainted": "male over female of the painted images",
        "r_original": "male over female of the images as they are",
        "value": "r_inpainted over r_original",
    },
    "retrieval_bias": {"images": "images of the rarest label among the first K of all queries", "n": "queries"},
    "retrieval_bias_models": {
        "images": "images of the rarest label among the first K of all queries",
        "n": "queries",
        "vectors": "column of vectors",
    },
    "retrieval_bias_queries": {"n": "items that the value rests on"},
    "retrieval_bias_sets": {
        "dataset": "'original', 'balanced' or 'contrast'",
        "images": "images of the rarest label among the first K of all queries",
        "n": "queries",
    },
    "score_distribution": {
        "count": "scores in the range",
        "n": "scores of the label",
        "score_from": "range, from",
        "score_to": "range, to under; the last one with its end",
        "smallest": "fewest images with a score in the range, or outside, by which the row is hidden",
    },
    "self_similarity": {
        "images": "images with the label",
        "n": "vectors of the label",
        "value": "mean cosine of pairs",
    },
    "sentiment": {
        "mean": "mean compound score",
        "n": "texts with a score that is not 0",
        "negative": "negative texts",
        "negative_high": "upper end of the 95 % interval of negative_ratio",
        "negative_low": "lower end of the 95 % interval of negative_ratio",
        "negative_ratio": "negative over n",
        "smallest": "fewest images with negative texts, others or neutral ones, by which the row is hidden",
        "texts": "all texts of the label's images",
    },
    "similarity_bias": {"n": "vectors of both labels", "value": "mean_label less mean_against"},
    "so_b_it": {
        "base_count": "images with the label among all labelled ones",
        "count": "images of the label among the first K",
        "entropy": "how evenly labels are retrieved",
        "n": "images with a clear label among the first K",
        "number": "number of the word in its category",
    },
    "spurious_correlations": {
        "count": "images of the label that have it",
        "family": "attributes that are hidden together",
        "n": "images with a clear label; of boxes those with the object",
        "n_apart": "images with the object and without such a box",
        "n_concept": "images that have it",
        "rate": "count over n_label",
        "value": "rate less rest_rate",
    },
    "spurious_probe": {
        "features": "what the classifier sees: texts, vectors, or vectors of unmasked images (control)",
        "n": "texts or vectors of one cut",
        "n_against": "images of `against`",
        "n_label": "images of the label",
    },
    "subject_alterations": {
        "counterfactual": "word put in",
        "counterfactual_n": "pairs in which that word is put in",
        "count": "pairs so altered",
        "n": "pairs that differ in one word",
        "original": "word taken out",
        "original_n": "pairs in which that word is taken out",
        "unaltered": "pairs that do not differ in one word",
    },
    "subject_errors": {
        "count": "answers that are errors",
        "n": "answers",
        "n_right": "pairs with a right answer",
        "n_wrong": "pairs with an error",
        "other": "the word in its place in the other text",
        "pairs": "pairs that answers are about",
        "subject": "altered word of the picture's own text",
        "value": "count over n",
    },
    "topic_pmi": {
        "count": "activations of the label in features of the topic, mean over autoencoders and thresholds",
        "few": "images of the activations, where these are fewer than 10, by which the row is hidden",
        "n": "images with a clear label",
        "n_label": "images with the label",
        "rank": "place among the label's topics",
        "saes": "autoencoders",
        "score": "mean pmi of the clusters that the topic is in",
        "thresholds": "thresholds that clusters were made at",
        "topic": "topic",
    },
    "weat": {
        **_ASSOCIATED,
        "n": "words of x and y",
        **{f"n_{side}": f"words of {side}" for side in "xyab"},
        "std": "standard deviation of the association over the words of x and y",
        "value": "effect size: mean_x less mean_y, over std",
    },
    "win_rates": {
        "by_order": "fewest images with one of what was shown first, or second, by which first_rate is hidden",
        "first_rate": "the same share of whatever was shown first",
        "losses": "judgements that the other one wins",
        "model": "the model",
        "n": "judgements",
        "other": "the model that it was held against",
        "rate": "share that it wins",
        "smallest": "fewest images with a win, a tie or a loss, by which the row is hidden",
        "ties": "judgements that neither wins",
        "wins": "judgements that it wins",
    },
}
"""By audit what its columns are, where their names do not say it everywhere."""
_PATTERNS: Final = (
    (r"(\w+)_low", "lower end of the 95 % interval of {}"),
    (r"(\w+)_high", "upper end of the 95 % interval of {}"),
    (r"(\w+)_a", "{} of the first dataset"),
    (r"(\w+)_b", "{} of the second dataset"),
)


def of(query: Query) -> list[str]:
    """Return the names of a query's columns as its SQL gives them, without those that it takes over from what it reads."""
    names = sqlglot.parse_one(query.sql, dialect="duckdb").named_selects
    return [name for name in names if name != "*"]


def takes_over(query: Query) -> bool:
    """Whether a query has columns of what it reads, which its SQL does not name."""
    return "*" in sqlglot.parse_one(query.sql, dialect="duckdb").named_selects


def meaning(query: Query, column: str) -> str:
    """Return what a column of an audit is, in a line; empty where nobody says it."""
    named = _named(query, column)
    return "; ".join(part for part in (named, _in_cells(query, column)) if part) if named else ""


def _named(query: Query, column: str) -> str:
    told = _OWN.get(query.name, {}).get(column) or _NAMES.get(column)
    if told is None:
        for pattern, text in _PATTERNS:
            if found := re.fullmatch(pattern, column):
                return text.format(found[1])
    return told or ""


def _in_cells(query: Query, column: str) -> str:
    """Return how disclosure control treats a column."""
    if any(column == cell.count for cell in query.cells):
        return "small ones are hidden"
    if any(column in {*cell.measures, *cell.whole} for cell in query.cells):
        return "hidden with its count"
    return ""

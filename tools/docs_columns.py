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
    "category": "category of images, words or attributes",
    "class": "class of terms",
    "concept": "object, word or topic",
    "count": "images, persons or rows of this cell",
    "delta": "share less the base share, over the base share",
    "df": "degrees of freedom of the test",
    "difference": "the first value less the second",
    "expected": "count that chance would give",
    "g2": "log-likelihood ratio against chance (G²)",
    "high": "upper end of the 95 % interval of the value",
    "images": "different images behind the row",
    "k": "cut-off: results that are looked at",
    "keep": "probability of keeping an image, for a balanced draw",
    "kind": "where the attribute comes from",
    "label": "perceived label of the images, persons or texts",
    "level": "what the row sums up",
    "log_odds": "weighted log-odds ratio",
    "low": "lower end of the 95 % interval of the value",
    "metric": "which measure the row holds",
    "model": "the model that is measured",
    "n": "how many images, persons or rows all of it rests on",
    "note": "why there is no value, or what to know about it",
    "npmi": "pmi over the negative logarithm of the joint share: from -1 to 1",
    "other": "the other one that it is held against",
    "p": "p of the test that there is no difference",
    "params": "parameters that made the row, as JSON",
    "place": "place in the ranking, from 1",
    "pmi": "pointwise mutual information",
    "q": "p, corrected for all tests of the result (Benjamini and Hochberg)",
    "query_id": "the query",
    "query_images": "images that queries were made of",
    "rate": "share of the label's rows that have it",
    "ratio": "seen over expected",
    "reason": "why the row's numbers are hidden",
    "repeats": "times to draw an image, for a balanced set",
    "rest": "the same count among all others",
    "rest_rate": "share of the other rows that have it",
    "seeds": "runs with different seeds that the value is a mean of",
    "share": "count over n",
    "smallest": "the smallest count that follows from the row",
    "statistic": "value of the test's statistic",
    "std": "standard deviation over images",
    "suppressed": "its numbers are hidden, because they rest on few images or give such a number away",
    "term": "the word or phrase",
    "texts": "captions of the label",
    "value": "the measure itself",
    "weight": "weight of an image, for a balanced set",
}
"""What columns with these names are in every audit; the details of an audit say more."""
_PATTERNS: Final = (
    (r"(\w+)_low", "lower end of the 95 % interval of {}"),
    (r"(\w+)_high", "upper end of the 95 % interval of {}"),
    (r"(\w+)_a", "{} of the first dataset"),
    (r"(\w+)_b", "{} of the second dataset"),
    (r"base_(\w+)", "{} of the rows that it is held against"),
    (r"rest_(\w+)", "{} of all others"),
    (r"n_suppressed", "rows of small cells that were left out"),
    (r"(?:n|images)_(\w+)", "how many there are of: {}"),
    (r"mean_(\w+)", "mean of: {}"),
    (r"is_(\w+)", "whether it is {}"),
    (r"other_(\w+)", "{} of the other one"),
    (r"(\w+)_n", "how many the value of {} rests on"),
    (r"(\w+)_(?:count|of)", "count of {}"),
)


def of(query: Query) -> list[str]:
    """Return the names of a query's columns as its SQL gives them, without those that it takes over from what it reads."""
    names = sqlglot.parse_one(query.sql, dialect="duckdb").named_selects
    return [name for name in names if name != "*"]


def takes_over(query: Query) -> bool:
    """Whether a query has columns of what it reads, which its SQL does not name."""
    return "*" in sqlglot.parse_one(query.sql, dialect="duckdb").named_selects


def meaning(query: Query, column: str) -> str:
    """Return what a column of an audit is, in a line; empty where only the details say it."""
    told = [part for part in (_named(column), _in_cells(query, column)) if part]
    return "; ".join(told)


def _named(column: str) -> str:
    if column in _NAMES:
        return _NAMES[column]
    for pattern, text in _PATTERNS:
        if found := re.fullmatch(pattern, column):
            return text.format(*(part.replace("_", " ") for part in found.groups()))
    return ""


def _in_cells(query: Query, column: str) -> str:
    """Return how disclosure control treats a column."""
    if any(column == cell.count for cell in query.cells):
        return "small ones are hidden"
    if any(column in {*cell.measures, *cell.whole} for cell in query.cells):
        return "hidden with its count"
    return ""

"""Table functions: rankings that are computed outside SQL and come back as hits relations.

A *hits* relation has ``query_id`` (int64), ``item_id`` (int64), ``rank`` (int32, from 1) and ``score`` (float64).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.engine.sql.queries import QueryParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

SIGNATURES: Final[dict[str, tuple[QueryParameter, ...]]] = {
    "top_k": (
        QueryParameter("queries", "relation", None, "first integer column is the id; text, or a vector column"),
        QueryParameter("items", "relation", None, "the same; image_id makes own items known"),
        QueryParameter("ranker", "varchar", "'tfidf'", "one of 'tfidf', 'vector', 'random'"),
        QueryParameter("k", "integer[]", "[100]", "cut-off; the largest of several counts"),
        QueryParameter("exclude_own", "boolean", "true", "leave out items of the query's own image"),
        QueryParameter("among", "relation", "NULL", "rank only items whose id or image_id stands here"),
        QueryParameter("column", "varchar", "NULL", "text or vector column; 'text' or 'embedding' when left out"),
        QueryParameter("metric", "varchar", "'cosine'", "one of 'cosine', 'dot', 'l2'; of vectors"),
        QueryParameter("seed", "integer", "0", "of the random ranker"),
    ),
    "knn": (
        QueryParameter("queries", "relation", None, "first integer column is the id; a vector column"),
        QueryParameter("items", "relation", None, "the same"),
        QueryParameter("column", "varchar", "'embedding'", "vector column"),
        QueryParameter("k", "integer", "10", "neighbours"),
        QueryParameter("metric", "varchar", "'l2'", "one of 'l2', 'cosine', 'dot'"),
        QueryParameter("exclude_self", "boolean", "true", "leave out the item of the query's own id"),
    ),
}
"""Parameters of every table function, as audits declare theirs."""

DOCS: Final[dict[str, str]] = {
    "top_k": "The k best items for every query, by TF-IDF, by vector (exact) or at random; ties by item id.",
    "knn": "The k nearest items of every query by a vector column, exact; ties by item id.",
}


def table_functions() -> dict[str, Callable[..., pa.Table]]:
    """The functions by name; importing them loads numpy and scipy."""
    from counterbalance.engine.search.ranking import knn, top_k

    return {"top_k": top_k, "knn": knn}

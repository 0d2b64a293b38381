"""Table functions: rankings that are computed outside SQL and come back as rows.

``top_k`` and ``knn`` return a *hits* relation: ``query_id`` (int64), ``item_id`` (int64), ``rank`` (int32, from 1) and
``score`` (float64), after ``vectors`` (string) where ``top_k`` ranks by several columns; ``knn_shares`` counts the labels of neighbours instead;
``moments``, ``nearest_counts`` and ``nearest_items`` stream the vectors they sum up or rank. The searches of one table return its key, ``rank`` and ``score``, then the other columns of those rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from counterbalance.engine.sql.query_model import QueryParameter

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

_WHERE: Final = (QueryParameter("where", "varchar", "NULL", "SQL condition over the table's columns, applied first"),)
_NEAR: Final = (
    QueryParameter("metric", "varchar", "NULL", "cosine, dot or l2; the index's, or cosine when left out"),
    QueryParameter("nprobes", "integer", "NULL", "partitions of the index to search at least"),
    QueryParameter("refine", "integer", "NULL", "candidates whose true scores are compared, for each wanted row"),
    QueryParameter("embed", "varchar", "NULL", "function that makes a vector of text"),
)
SIGNATURES: Final[dict[str, tuple[QueryParameter, ...]]] = {
    "top_k": (
        QueryParameter("queries", "relation", None, "first integer column is the id; text, or a vector column"),
        QueryParameter("items", "relation", None, "the same; image_id makes own items known"),
        QueryParameter("ranker", "varchar", "'tfidf'", choices=("tfidf", "vector", "random")),
        QueryParameter("k", "integer[]", "[100]", "cut-off; the largest of several counts"),
        QueryParameter("exclude_own", "boolean", "true", "leave out items of the query's own image"),
        QueryParameter("among", "relation", "NULL", "rank only items whose id or image_id stands here"),
        QueryParameter("column", "varchar", "NULL", "text or vector column; 'text' or 'embedding' when left out"),
        QueryParameter("columns", "varchar[]", "NULL", "vector columns that each rank by themselves, told in vectors"),
        QueryParameter("metric", "varchar", "'cosine'", "of vectors", choices=("cosine", "dot", "l2")),
        QueryParameter("seed", "integer", "0", "of the random ranker"),
    ),
    "knn": (
        QueryParameter("queries", "relation", None, "first integer column is the id; a vector column"),
        QueryParameter("items", "relation", None, "the same"),
        QueryParameter("column", "varchar", "'embedding'", "vector column"),
        QueryParameter("k", "integer", "10", "neighbours"),
        QueryParameter("metric", "varchar", "'l2'", choices=("l2", "cosine", "dot")),
        QueryParameter("exclude_self", "boolean", "true", "leave out the item of the query's own id"),
    ),
    "knn_shares": (
        QueryParameter("queries", "relation", None, "first integer column is the id; a vector column"),
        QueryParameter("items", "relation", None, "the same, with labels"),
        QueryParameter("column", "varchar", "'embedding'", "vector column"),
        QueryParameter("label", "varchar", "'label'", "column of the items' labels"),
        QueryParameter("k", "integer[]", "[50]", "numbers of neighbours"),
        QueryParameter("metric", "varchar", "'l2'", choices=("l2", "cosine", "dot")),
        QueryParameter("own", "varchar", "NULL", "integer column of both; pairs with equal values are left out"),
    ),
    "moments": (
        QueryParameter("vectors", "stream", None, "image_id and a vector column; read once, a batch at a time"),
        QueryParameter("groups", "relation", None, "group relation", columns=("image_id", "label")),
        QueryParameter("column", "varchar", "'embedding'", "vector column"),
        QueryParameter(
            "sources",
            "relation",
            "NULL",
            "whose vectors are one, their mean direction",
            columns=("image_id", "source_id"),
        ),
        QueryParameter(
            "compared", "varchar[]", "NULL", "labels that are held against each other; all of them with none"
        ),
    ),
    "nearest_counts": (
        QueryParameter("vectors", "stream", None, "image_id and a vector column; read once, a batch at a time"),
        QueryParameter("items", "relation", None, "text column item, and vectors in embedding"),
        QueryParameter("groups", "relation", None, "group relation", columns=("image_id", "label")),
        QueryParameter("column", "varchar", "'embedding'", "vector column of vectors"),
    ),
    "nearest_items": (
        QueryParameter("vectors", "stream", None, "image_id and a vector column; read once, a batch at a time"),
        QueryParameter("queries", "relation", None, "first integer column is the id; vectors in embedding"),
        QueryParameter("among", "relation", None, "image_id of the images to rank"),
        QueryParameter("k", "integer", "100", "how many"),
        QueryParameter("column", "varchar", "'embedding'", "vector column of vectors"),
    ),
    "vector_search": (
        QueryParameter("table", "table", None, "a stored table; its first column is the key"),
        QueryParameter("column", "varchar", None, "vector column"),
        QueryParameter("query", "vector", None, "numbers, (SELECT …) of one vector, or text with embed"),
        QueryParameter("k", "integer", "10", "rows"),
        *_WHERE,
        *_NEAR,
    ),
    "full_text_search": (
        QueryParameter("table", "table", None, "a stored table; its first column is the key"),
        QueryParameter("column", "varchar", None, "text column with a full-text index"),
        QueryParameter("query", "varchar", None, "words; in double quotes a phrase"),
        QueryParameter("k", "integer", "10", "rows"),
        *_WHERE,
    ),
    "hybrid_search": (
        QueryParameter("table", "table", None, "a stored table; its first column is the key"),
        QueryParameter("vector_column", "varchar", None, "vector column"),
        QueryParameter("text_column", "varchar", None, "text column with a full-text index"),
        QueryParameter("query", "vector", None, "numbers, (SELECT …) of one vector, or text with embed"),
        QueryParameter("text", "varchar", None, "words; in double quotes a phrase"),
        QueryParameter("k", "integer", "10", "rows"),
        *_WHERE,
        *_NEAR,
    ),
}
"""Parameters of every table function, as audits declare theirs."""

DOCS: Final[dict[str, str]] = {
    "top_k": "The k best items for every query, by TF-IDF, by vector (exact) or at random; ties by item id.",
    "knn": "The k nearest items of every query by a vector column, exact; ties by item id.",
    "knn_shares": "How many of the k nearest items of every query carry each label, and their share; exact.",
    "moments": "Number, mean and mean outer product of the directions of vectors, by label of their images; one pass.",
    "nearest_counts": "How many vectors of each label have each item as the nearest by cosine; one pass.",
    "nearest_items": "The k vectors nearest to every query by cosine, among chosen images, exact; ties by image; one pass.",
    "vector_search": "The k rows of a table nearest to one vector, by an index where there is one, with rank and score; ties by key.",
    "full_text_search": "The k rows of a table whose text fits some words best (BM25), by a full-text index, with rank and score.",
    "hybrid_search": "The k best rows of a vector and a full-text search of a table, fused by reciprocal rank, with rank and score.",
}


def table_functions() -> dict[str, Callable[..., pa.Table]]:
    """Return the functions by name; importing them loads numpy and scipy."""
    from counterbalance.engine.search.group_moments import moments
    from counterbalance.engine.search.index_search import full_text_search, hybrid_search, vector_search
    from counterbalance.engine.search.knn_labels import knn_shares
    from counterbalance.engine.search.ranking import knn, top_k
    from counterbalance.engine.search.streamed_knn import nearest_counts, nearest_items

    return {
        "top_k": top_k,
        "knn": knn,
        "knn_shares": knn_shares,
        "moments": moments,
        "nearest_counts": nearest_counts,
        "nearest_items": nearest_items,
        "vector_search": vector_search,
        "full_text_search": full_text_search,
        "hybrid_search": hybrid_search,
    }

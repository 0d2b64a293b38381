"""ranked_once: an item that a query finds several times counts at its best rank, and what counts is ranked anew."""

from __future__ import annotations

import pyarrow as pa

from counterbalance.engine.search.hits import is_whole
from counterbalance.engine.search.ranking import top_k

TEXTS = pa.table(
    {"caption_id": [1, 2, 3, 4], "image_id": [1, 1, 2, 3], "text": ["a dog", "a dog runs", "a cat", "a dog"]}
)


def hits(*rows):
    types = {"query_id": pa.int64(), "item_id": pa.int64(), "rank": pa.int32(), "score": pa.float64()}
    return pa.table([pa.array(c, t) for c, t in zip(zip(*rows, strict=True), types.values(), strict=True)], [*types])


def ranked(session, rows):
    return session.sql("FROM ranked_once(rows) ORDER BY query_id, rank", rows=rows).fetchall()


def test_by_hand(session):
    rows = hits(
        (1, 30, 1, 0.9),
        (1, 20, 2, 0.8),
        (1, 30, 3, 0.7),
        (1, None, 4, 0.6),
        (1, 10, 5, 0.5),
        (1, 40, None, 0.4),
        (None, 50, 1, 0.9),
        (2, 30, 1, None),
        (2, 7, 2, 0.2),
        (2, 5, 2, 0.2),
        (2, 30, 1, None),
    )
    assert ranked(session, rows) == [
        (1, 30, 1, 0.9),
        (1, 20, 2, 0.8),
        (1, 10, 3, 0.5),
        (2, 30, 1, None),
        (2, 5, 2, 0.2),
        (2, 7, 3, 0.2),
    ]


def test_repeated_items_leave_their_places_to_others(session):
    """Two captions of image 1 come first: among the first two images there is one man and one woman."""
    rows = hits((1, 1, 1, 0.9), (1, 1, 2, 0.8), (1, 2, 3, 0.7), (1, 3, 4, 0.6))
    groups = pa.table({"item_id": [1, 2, 3, 3], "label": ["male", "female", "male", "male"]})
    found = session.sql(
        "SELECT metric, k, value, n FROM ranking_metrics(rows, rows, groups, k := [2], skew_k := [2]) ORDER BY metric",
        rows=rows,
        groups=groups,
    ).fetchall()
    assert found[0] == ("bias", 2, 0.0, 2)
    assert found[1][3] == 2


def test_what_top_k_ranked_stands_as_it_is(session):
    """It says so itself, and the SQL would give the same rows; a caller's copy of it with rows twice does not."""
    made = top_k(TEXTS, TEXTS, k=[3])
    twice = pa.concat_tables([made, made])
    assert (is_whole(made), is_whole(twice), is_whole(made.slice(1))) == (True, False, False)
    rows = [tuple(row.values()) for row in made.to_pylist()]
    call = "FROM ranked_once(top_k(texts, texts, k := [3])) ORDER BY query_id, rank"
    assert session.sql(call, texts=TEXTS).fetchall() == rows
    assert ranked(session, twice) == ranked(session, pa.Table.from_batches(made.to_batches()[:1])) == rows
    plan = session.sql("EXPLAIN " + call, texts=TEXTS).fetchall()
    assert "window" not in str(plan).lower()
    assert "window" in str(session.sql("EXPLAIN FROM ranked_once(rows)", rows=twice).fetchall()).lower()

"""Texts that one statement ranks twice are made into vectors once, and nothing outlives the statement."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from counterbalance.engine.search.ranking import top_k
from counterbalance.engine.search.statement_cache import once, statement

TWICE = (
    "SELECT a.query_id, a.item_id, a.score, b.item_id FROM top_k(captions, captions, k := [1]) AS a "
    "JOIN top_k(captions, captions, k := [1], among := (SELECT image_id FROM images WHERE image_id < 4)) AS b USING (query_id) "
    "ORDER BY 1"
)


@pytest.fixture
def fits(monkeypatch):
    """Counts how often scikit-learn is asked to fit."""
    count = []
    fit = TfidfVectorizer.fit_transform
    monkeypatch.setattr(TfidfVectorizer, "fit_transform", lambda *a, **k: (count.append(1), fit(*a, **k))[1])
    return count


def test_equal_texts_are_fitted_once_a_statement(lake, fits):
    rows = lake.sql(TWICE).fetchall()
    assert len(fits) == 1
    assert lake.sql(TWICE).fetchall() == rows
    assert len(fits) == 2


def test_other_texts_are_fitted_again(lake, fits):
    lake.sql(
        TWICE.replace(
            "top_k(captions, captions, k := [1], among",
            "top_k(captions, (SELECT caption_id, image_id, text || ' x' AS text FROM captions), k := [1], among",
        )
    )
    assert len(fits) == 2


def test_sharing_changes_no_hit(fits):
    rows = pa.table({"query_id": [1, 2, 3], "text": ["a red cat", "a blue dog", None]})
    few = pa.table({"item_id": [2, 3]})
    alone = [top_k(rows, rows, k=[2]), top_k(rows, rows, k=[2], among=few)]
    with statement():
        assert [top_k(rows, rows, k=[2]), top_k(rows, rows, k=[2], among=few)] == alone
    assert len(fits) == 3


def test_statements_inside_of_each_other_keep_their_own():
    texts, made = pa.chunked_array([["a"]]), []
    with statement():
        once(texts, texts, lambda: made.append(1))
        with statement():
            once(texts, texts, lambda: made.append(2))
        once(texts, texts, lambda: made.append(3))
    once(texts, texts, lambda: made.append(4))
    assert made == [1, 2, 4]

"""What must have rows for a query to have any is read off its text, as DuckDB answers it."""

from __future__ import annotations

from itertools import combinations

import duckdb
import pytest

import counterbalance as cb
from counterbalance.engine.schema import BASE_TABLES
from counterbalance.engine.sql import requirements
from counterbalance.engine.sql.parse import parse

QUERIES = (
    "SELECT * FROM captions",
    "SELECT * FROM captions JOIN detections USING (id)",
    "FROM captions JOIN detections USING (id)",
    "SELECT * FROM captions, labels",
    "SELECT * FROM captions LEFT JOIN detections USING (id)",
    "SELECT * FROM captions RIGHT JOIN detections USING (id)",
    "SELECT * FROM captions FULL JOIN detections USING (id)",
    "SELECT * FROM captions SEMI JOIN detections USING (id)",
    "SELECT * FROM captions UNION ALL SELECT * FROM labels",
    "SELECT * FROM captions INTERSECT SELECT * FROM labels",
    "SELECT id FROM captions WHERE id IN (SELECT id FROM labels)",
    "SELECT id FROM captions AS c WHERE EXISTS (SELECT 1 FROM labels AS l WHERE l.id = c.id) AND c.id > 0",
    "WITH captions AS (SELECT * FROM detections) SELECT * FROM captions",
    "WITH RECURSIVE n AS (SELECT id FROM labels UNION ALL SELECT id + 1 FROM n WHERE id < 3) SELECT * FROM n",
    "SELECT label, n FROM (SELECT 1 AS label FROM labels) CROSS JOIN (SELECT count(*) AS n FROM images WHERE 1 = 0)",
    "SELECT id, count(*) FROM (SELECT * FROM captions JOIN images USING (id)) GROUP BY id",
    "SELECT * FROM images WHERE 1 = 0",
    "SELECT 1",
    "SELECT * FROM (VALUES (1)) AS v(id) JOIN images USING (id)",
)


@pytest.mark.parametrize("text", QUERIES)
def test_as_duckdb_answers_it(text):
    needs = requirements.of_query(parse(text).tree)
    for there in (set(s) for n in range(5) for s in combinations(BASE_TABLES, n)):
        with duckdb.connect() as connection:
            for name in BASE_TABLES:
                connection.execute(f"CREATE TABLE {name} AS SELECT 1 AS id WHERE {name in there}")
            answered = bool(connection.execute(text).fetchall())
        assert any(one <= there for one in needs) == answered, there


@pytest.mark.parametrize(
    ("audit", "needs"),
    [
        ("crime_words", [{"captions"}]),
        ("cooccurrence", [{"captions", "detections"}]),
        ("hate_content_rate", [{"images", "labels"}]),
        ("cluster_representation", [{"captions", "clusters := …"}]),
        (
            "directional_amplification",
            [{"captions", "predicted_concepts := …"}, {"captions", "predicted_groups := …"}],
        ),
        ("spurious_correlations", [{"captions"}]),
        ("compare_demographics", [{"captions", "others := …"}]),
        ("compare_crime_words", [{"captions", "others := …", "other_texts := …"}]),
        ("compare_sentiment", [{"captions", "others := …", "other_texts := …"}]),
        ("compare_intersections", [{"captions", "crossed := …", "others := …", "others_crossed := …"}]),
    ],
)
def test_audits_by_their_defaults(audit, needs):
    assert requirements.of_audit(cb.audits()[audit]) == {frozenset(n) for n in needs}


def test_arguments_take_the_place_of_defaults():
    given = "SELECT * FROM cooccurrence(groups := image_labels('scene'), concepts := word_concepts)"
    assert requirements.of_query(parse(given).tree) == {frozenset({"captions", "labels"})}


@pytest.mark.parametrize(
    ("call", "needs"),
    [
        ("compare_demographics(others := b.caption_gender)", {"captions"}),
        ("compare_demographics(groups := image_labels('scene'), others := caption_gender)", {"captions", "labels"}),
        (
            "compare_crime_words(groups := image_labels('scene'), others := b.caption_gender, other_texts := b.captions)",
            {"captions", "labels"},
        ),
    ],
)
def test_a_comparison_needs_both_datasets(call, needs):
    assert requirements.of_query(parse(f"FROM {call}").tree) == {frozenset(needs)}


def test_every_audit_needs_something():
    assert [n for n, q in cb.audits().items() if frozenset() in requirements.of_audit(q)] == []

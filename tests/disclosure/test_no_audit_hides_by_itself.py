"""Audits declare as cells what is to be hidden: their SQL compares counts with ``min_count`` only to say what it is about."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

import counterbalance as cb

ABOUT = {
    "concept_ratio": "concepts of so many images are compared",
    "cooccurrence": "concepts of so many images are in pairs; with 0, pairs that never meet are tested",
    "directional_amplification": "concepts of which no count is small have a part in the mean",
    "keyword_profile": "words of so many images are tested, against labels that have as many at least",
    "lic": "captions of so many images are learned from",
    "subject_alterations": "words that rows by either side hide are hidden in rows by pair, whose cells cannot know them",
    "topic_pmi": "with 0, pairs that never meet are listed",
}
"""Audits that say something with it, and what; every other one passes it on."""


def uses(sql):
    """Parts of a text that do anything with ``min_count`` but give it to a view."""
    found = []
    for use in sqlglot.parse_one(sql, dialect="duckdb").find_all(exp.Parameter, exp.Placeholder):
        if use.name == "min_count":
            above = use.parent.parent if isinstance(use.parent, exp.Kwarg | exp.PropertyEQ) else use.parent
            if not isinstance(above, exp.Anonymous):
                found.append(above.sql("duckdb"))
    return found


@pytest.mark.parametrize("name", sorted(set(cb.audits()) - set(ABOUT)))
def test_it_is_only_passed_on(name):
    assert uses(cb.audits()[name].sql) == []


@pytest.mark.parametrize("name", sorted(ABOUT))
def test_what_else_is_said_with_it_is_listed(name):
    assert uses(cb.audits()[name].sql)
    assert cb.audits()[name].cells


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CASE WHEN n >= $min_count THEN n END FROM a",
        "SELECT 1 FROM a WHERE n >= $min_count",
        "SELECT n < greatest($min_count, 1) FROM a",
        "SELECT 1 FROM a HAVING least(count(b), count(c)) >= $min_count",
        "SELECT sum(greatest(c.count, $min_count)) FROM c",
    ],
)
def test_a_rule_of_ones_own_is_found(text):
    assert len(uses(text)) == 1


def test_what_is_given_to_a_view_is_not():
    assert uses("FROM group_sizes(groups, $min_count) JOIN so_b_it(k := 1, min_count := $min_count)") == []

"""Our walk finds what sqlglot's own does, in the same order, in all that is shipped and in odd corners of SQL."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from counterbalance.engine.sql.parse import DIALECT
from counterbalance.engine.sql.queries import queries, sql_functions
from counterbalance.engine.sql.walk import find_all

KINDS = (
    exp.Table, exp.Column, exp.Star, exp.CTE, exp.With, exp.Select, exp.Query, exp.Anonymous, exp.Func, exp.Placeholder,
    exp.Parameter, exp.PositionalColumn, exp.AggFunc, exp.DataType,
)  # fmt: skip
ODD = (
    "SELECT * REPLACE (f(a) + (SELECT max(x) FROM t) AS a), t.* EXCLUDE (b), COLUMNS('x.*') FROM t, u.v.w",
    "SELECT t.* REPLACE (f($a) AS a) FROM t",
    "SELECT CAST(x AS STRUCT(a INTEGER, b VARCHAR[])), a.b.c.d, #1, ?, {'k': g(y)}, [h(z) FOR z IN l IF z > 1] FROM t",
    "SELECT list_transform(l, x -> f(x) + $p), x IN (SELECT y FROM s), main.f(q) FROM g(k := (SELECT 1 FROM t)) AS r(a, b)",
    "WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT n + 1 FROM r), s(c) AS (VALUES (f(1))) PIVOT s ON c USING sum(n)",
    "SELECT sum(x) FILTER (WHERE f(y)) OVER (PARTITION BY g(z) ORDER BY h(w)) FROM t QUALIFY i(v) GROUP BY ALL HAVING j(u)",
    "SELECT CAST(x AS STRUCT(a INTEGER DEFAULT (SELECT min(label_id) FROM labels))), x::DECIMAL(f(1), (SELECT 2 FROM labels)) FROM t",
    "SELECT * FROM t LATERAL JOIN unnest(f(l)) USING (a) TABLESAMPLE 10% LIMIT (SELECT count(*) FROM u) OFFSET $n",
)


def parsed():
    for query in (*queries().values(), *sql_functions().values()):
        yield sqlglot.parse_one(query.sql, dialect=DIALECT)
    for text in ODD:
        tree = sqlglot.parse_one(text, dialect=DIALECT, error_level=sqlglot.ErrorLevel.IGNORE)
        if tree is not None:
            yield tree


@pytest.fixture(scope="module")
def trees():
    return list(parsed())


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_nodes_in_the_same_order(kind, trees):
    found = [(find_all(tree, kind), list(tree.find_all(kind))) for tree in trees]
    assert all(list(map(id, ours)) == list(map(id, theirs)) for ours, theirs in found)
    assert kind is exp.Parameter or any(ours for ours, _ in found)  # DuckDB's dialect has placeholders in their place

"""Groupings that run on codes give the rows and names that the query as written gives inside DuckDB."""

from __future__ import annotations

import numpy as np
import pytest
from beside_duckdb import agree, beside_duckdb
from hypothesis import given
from hypothesis import strategies as st

import counterbalance as cb

KEYS = ["category", "origin"]


@pytest.fixture(scope="module")
def both(build):
    """A session on a lake, and a DuckDB connection with the same tables inside."""
    random = np.random.default_rng(4)
    size = 120

    def pick(values):
        return [values[i] for i in random.integers(len(values), size=size)]

    lake = cb.connect("memory://grouping")
    lake.ingest(
        {
            "images": build.images(
                image_id=list(range(40)),
                split=["train", "val", None, "O'Brien"] * 10,
                license=["x", None] * 20,
                nsfw=["UNLIKELY", "NSFW", "", "n__1", "split"] * 8,
            ),
            "detections": build.detections(
                detection_id=list(range(size)),
                image_id=pick(list(range(40))),
                category=pick(["person", "dog", None, "cat", ""]),
                origin=pick(["human", "yolo", None]),
                score=pick([0.25, 0.5, 0.75, None]),
                x=pick([0.0, 1.0, 2.0]),
                is_crowd=pick([True, False, None]),
            ),
        }
    )
    with beside_duckdb(lake, "images", "detections") as opened:
        yield opened


AGGREGATES = [
    "count(*)",
    "count(*) AS n",
    "count(category) AS c",
    "count(DISTINCT origin) AS d",
    "sum(score) AS s",
    "min(category) AS category",
    "max(origin)",
    "avg(x) AS x",
    "count(*) FILTER (WHERE is_crowd) AS crowds",
    "count(*) * 1.0 / sum(count(*)) OVER () AS share",
    "string_agg(origin, ',' ORDER BY detection_id) AS o",
    "list(score ORDER BY detection_id) AS l",
    "count(*) + 1 AS more",
    "round(avg(score), 2) AS r",
    "CASE WHEN count(*) > 3 THEN category ELSE 'few' END AS k",
    "upper(category) AS u",
    "origin || '!' AS o",
    "'x' AS literal",
    "grouping(category) AS g",
    "first(x ORDER BY detection_id) AS f",
    "arg_max(category, detection_id) AS a",
    "(SELECT max(image_id) FROM images) AS sub",
    "quantile_cont(score, 0.5) AS q",
    "bool_or(is_crowd)",
]
columns = st.sampled_from(
    [
        *KEYS,
        "d.category",
        "d.origin",
        "Category",
        '"origin"',
        "category AS origin",
        "origin AS category",
        "category AS cat",
        "is_crowd",
    ]
)
items = st.lists(columns | st.sampled_from(AGGREGATES), min_size=1, max_size=5)
groups = st.sampled_from(
    [
        "GROUP BY ALL",
        "GROUP BY category, origin",
        "GROUP BY origin, category",
        "GROUP BY d.category, d.origin",
        "GROUP BY Category, ORIGIN",
        "GROUP BY 1, 2",
        "GROUP BY category, origin, is_crowd",
        "GROUP BY category",
        "GROUP BY cat, origin",
        "GROUP BY ROLLUP (category, origin)",
        "GROUP BY GROUPING SETS ((category, origin), ())",
        "GROUP BY (category, origin)",
        "GROUP BY category, category, origin",
    ]
)
wheres = st.sampled_from(
    ["", "", "WHERE score > 0.3", "WHERE category = 'person'", "WHERE d.origin IS NULL", "WHERE category || origin <> ''",
     "WHERE image_id IN (SELECT image_id FROM images WHERE split = 'val')", "WHERE false",
     "WHERE EXISTS (FROM images i WHERE i.image_id = d.image_id AND i.license = 'x')"]
)  # fmt: skip
havings = st.sampled_from(
    ["", "", "", "HAVING count(*) > 4", "HAVING category <> 'dog'", "HAVING n > 3", "HAVING max(score) IS NOT NULL",
     "HAVING d.category = 'cat' OR count(DISTINCT x) > 1"]
)  # fmt: skip
orders = st.sampled_from(
    [
        "",
        "",
        "ORDER BY ALL",
        "ORDER BY category, origin",
        "ORDER BY n DESC",
        "ORDER BY 1",
        "ORDER BY d.origin",
        "ORDER BY count(*), category NULLS FIRST",
    ]
)


@given(
    items=items,
    group=groups,
    where=wheres,
    having=havings,
    order=orders,
    alias=st.sampled_from(["d", "d", "AS d", "", "AS detections"]),
)
def test_any_grouping(both, items, group, where, having, order, alias):
    agree(both, f"SELECT {', '.join(items)} FROM detections {alias} {where} {group} {having} {order}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT category, origin, count(*) FROM detections GROUP BY ALL",
        "SELECT count(*), origin, category FROM detections GROUP BY category, origin",
        "SELECT count(*) FROM detections GROUP BY category, origin",
        "SELECT category AS a, origin AS b, count(*) AS n FROM detections GROUP BY a, b",
        "WITH g AS (SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL) SELECT sum(n) FROM g",
        "SELECT * FROM (SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL) WHERE n > 3",
        "SELECT category, origin, count(*) FROM detections GROUP BY ALL UNION ALL SELECT split, license, 1 FROM images",
        "SELECT split, license, nsfw, count(*) AS n FROM images GROUP BY ALL HAVING n > 1",
        "SELECT split, license, nsfw FROM images GROUP BY ALL",
        "SELECT category, origin FROM detections d GROUP BY ALL HAVING count(*) > (SELECT count(*) / 10 FROM detections)",
        "SELECT image_id, (SELECT count(*) FROM (SELECT category, origin FROM detections d "
        "WHERE d.image_id = i.image_id GROUP BY ALL)) AS kinds FROM images i",
        "SELECT DISTINCT count(*) FROM detections GROUP BY category, origin",
        "SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL QUALIFY row_number() OVER (ORDER BY n, category, origin) < 3",
        "SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL ORDER BY n DESC, ALL LIMIT 0",
        "SELECT category, origin, n FROM (SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL) ORDER BY n",
        "SELECT COLUMNS(c -> c IN ('category', 'origin')), count(*) FROM detections GROUP BY ALL",
        "SELECT detections.category, detections.origin, count(*) FROM detections GROUP BY ALL",
        "SELECT category || '', origin, count(*) FROM detections GROUP BY category, origin",
        "SELECT category, origin, count(*) c1__, sum(x) a1__ FROM detections GROUP BY ALL",
        "SELECT split, nsfw, list(license ORDER BY image_id) AS license FROM images GROUP BY split, nsfw",
        "SELECT category, origin, count(*) AS n FROM detections TABLESAMPLE 100% GROUP BY ALL",
        "SELECT i.split, d.category, count(*) FROM detections d JOIN images i USING (image_id) GROUP BY ALL",
        "FROM detections SELECT category, origin, count(*) GROUP BY ALL",
        "SELECT category, origin, count(DISTINCT (category, origin)) AS n FROM detections GROUP BY ALL",
        "SELECT max(category) AS origin, min(origin) AS category FROM detections GROUP BY category, origin",
        "SELECT category, origin, count(*) AS n FROM detections AS d (category, b, origin) GROUP BY category, origin",
        "SELECT #3, #13, count(*) AS n FROM detections GROUP BY #3, #13",
        "SELECT count(*) FROM detections AS d (a, b, kind) WHERE kind = 'dog'",
        "SELECT count(*) FROM detections WHERE #2 > 20",
    ],
)
def test_forms(both, query):
    agree(both, query)


def test_order_is_kept(both):
    session, connection = both
    query = (
        "SELECT category, origin, count(*) AS n FROM detections GROUP BY ALL ORDER BY n DESC, category, origin LIMIT 7"
    )
    assert session.sql(query).fetchall() == connection.sql(query).fetchall()


def test_parameters_inside(both):
    session, _ = both
    query = "SELECT split, license, count(*) AS n FROM images WHERE image_id < $top GROUP BY ALL HAVING n >= $least ORDER BY ALL"
    assert session.sql(query, top=8, least=1).fetchall() == [
        ("O'Brien", None, 2),
        ("train", "x", 2),
        ("val", None, 2),
        (None, "x", 2),
    ]

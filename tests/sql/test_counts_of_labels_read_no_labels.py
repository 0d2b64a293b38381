"""Queries that only ask which coded values there are and how often are answered from the tallies of files, with the same rows."""

from __future__ import annotations

import datetime as dt

import duckdb
import lance
import numpy as np
import pyarrow as pa
import pytest
from beside_duckdb import agree, beside_duckdb
from hypothesis import given
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.catalog import file_statistics

SIZE = 400


def rows(build, seed, first=0):
    draw = np.random.default_rng(seed)

    def pick(values):
        return [values[i] for i in draw.integers(len(values), size=SIZE)]

    return build.labels(
        label_id=list(range(first, first + SIZE)),
        image_id=pick(list(range(50))),
        attribute=pick(["scene", "apparel", "mood"]),
        value=pick(["beach", "forest", "hat", "", "O'Brien", None, "5"]),
        annotator=pick(["m", "n", None]),
        score=pick([0.5, 0.75, None]),
    )


def saying(labels, value):
    return labels.set_column(labels.column_names.index("value"), "value", pa.array([value] * len(labels)))


def ingested(build, folder):
    lake = cb.connect(folder)
    lake.ingest({"images": build.images(image_id=list(range(50))), "labels": rows(build, 1)})
    return lake


def updated(build, folder):
    """Some rows said something else later, more came, and the deleted ones were cleaned up between."""
    lake = ingested(build, folder)
    lake.ingest({"labels": rows(build, 2, first=SIZE)})
    lake.ingest({"labels": saying(rows(build, 1).slice(0, 9), "late")})
    lake.gc(older_than=dt.timedelta(0), apply=True)
    lake.ingest({"labels": saying(rows(build, 1).slice(20, 9), "later")})
    return lake


def untold(build, folder):
    """As a lake of an earlier release is: nothing was kept of its files."""
    lake = ingested(build, folder)
    lance.LanceDataset.drop(str(folder / "meta" / "tallies.lance"))
    file_statistics._known.clear()
    return lake


@pytest.fixture(scope="module", params=[ingested, updated, untold])
def both(request, build, tmp_path_factory):
    """A session on a lake, and a DuckDB connection with the same rows inside."""
    lake = request.param(build, tmp_path_factory.mktemp("tallies") / "labels.lake")
    with beside_duckdb(lake, "labels") as opened:
        yield opened


def is_tallied(both, query):
    return "~tally~" in both[0].sql(query).sql


ANSWERED = [
    "SELECT attribute, value, count(*) AS n FROM labels GROUP BY attribute, value",
    "SELECT attribute, value, count(*) FROM labels GROUP BY ALL HAVING count(*) > 3 ORDER BY 3 DESC LIMIT 40",
    "SELECT count(*) AS n FROM labels WHERE attribute = 'scene' AND value = 'beach'",
    "SELECT count(*) FROM labels AS l WHERE l.value LIKE 'b%' OR annotator IS NULL",
    "SELECT count(*) FROM labels WHERE value = 'nothing'",
    "SELECT count(value) AS n, count(DISTINCT value) AS d, min(value) AS a, max(annotator) AS b FROM labels",
    "SELECT count(*) FILTER (WHERE value = 'hat') * 1.0 / count(*) AS share FROM labels WHERE attribute <> 'mood'",
    "SELECT count(value) FILTER (WHERE annotator = 'm') AS n, bool_or(value = 'hat') AS h FROM labels GROUP BY attribute",
    "SELECT value, count(*) AS n, count(*) / sum(count(*)) OVER () AS share FROM labels GROUP BY value",
    "SELECT value, count(*) AS n, row_number() OVER (ORDER BY count(*) DESC, value) AS place FROM labels GROUP BY value",
    "SELECT upper(value) AS v, count(*) AS n FROM labels GROUP BY v",
    "SELECT count(value IS NULL OR annotator = 'm') AS n, count(NOT value = 'hat') AS m FROM labels",
    "SELECT DISTINCT attribute, annotator FROM labels",
    "SELECT DISTINCT value FROM labels WHERE attribute = 'scene' ORDER BY value",
    "SELECT CASE WHEN value IN ('hat', '') THEN 'few' ELSE value END AS v, count(*) AS n FROM labels GROUP BY ALL",
    "SELECT attribute, value, count(*) AS n FROM labels GROUP BY ROLLUP (attribute, value)",
    "SELECT attribute, count(*) AS n FROM labels GROUP BY GROUPING SETS ((attribute), ())",
    "WITH n AS (SELECT value, count(*) AS n FROM labels GROUP BY value) SELECT max(n) AS most FROM n",
    "SELECT value, n FROM (SELECT value, count(*) AS n FROM labels GROUP BY value) WHERE n > 20",
    "SELECT value, count(*) AS n FROM labels GROUP BY value UNION ALL SELECT 'all', count(*) FROM labels",
    "SELECT count(*) AS rows__, value FROM labels GROUP BY value",
    "SELECT value, count(*) AS n FROM labels GROUP BY value QUALIFY row_number() OVER (ORDER BY n DESC, value) <= 2",
]
READ = [
    "SELECT count(*) FROM labels",  # Lance knows how many
    "SELECT value FROM labels",
    "SELECT value, sum(score) AS s FROM labels GROUP BY value",
    "SELECT value, count(score) AS n FROM labels GROUP BY value",
    "SELECT value, count(*) AS n FROM labels WHERE score > 0.6 GROUP BY value",
    "SELECT value, count(*) AS score FROM labels GROUP BY value ORDER BY score, value",
    "SELECT value, count(*) + 1 FROM labels GROUP BY value",
    "SELECT value, list(annotator ORDER BY annotator) AS l FROM labels GROUP BY value",
    "SELECT value, mode(attribute) IS NULL AS m FROM labels GROUP BY value",
    "SELECT DISTINCT value, count(*) OVER (PARTITION BY value) AS n FROM labels",
    "SELECT DISTINCT value, row_number() OVER (ORDER BY value) > 0 AS n FROM labels",
    "SELECT count(*) AS n FROM labels WHERE value IN (SELECT value FROM labels WHERE score > 0.6)",
    "SELECT value, count(*) AS n FROM labels TABLESAMPLE 100% GROUP BY value",
    "SELECT count(*) AS n FROM labels AS l (a, b, c, value, attribute) WHERE value = 'scene'",
    "SELECT #4, count(*) FROM labels GROUP BY #4",
    "SELECT value, count(*) AS n FROM labels WHERE random() < 2 GROUP BY value",
    "SELECT l.value, count(*) AS n FROM labels l JOIN labels k USING (label_id) GROUP BY ALL",
    "SELECT count(DISTINCT (value, score)) AS n FROM labels WHERE attribute = 'scene'",
    "SELECT count(*) AS rows__, value FROM labels GROUP BY value HAVING rows__ > 1",
    "WITH labels AS (SELECT * FROM labels WHERE score > 0.6) SELECT value, count(*) AS n FROM labels GROUP BY value",
    "WITH RECURSIVE labels AS (SELECT 'x' AS value) SELECT value, count(*) AS n FROM labels GROUP BY value",
    "SELECT a.n FROM (WITH labels AS (SELECT 'mine' AS value) SELECT value, count(*) AS n FROM labels GROUP BY value) a",
    "SELECT len(max(value, 1000)) AS n FROM labels",
    "SELECT min(value, 2) AS n FROM labels",
    "SELECT 1 AS one FROM labels WHERE value = 'hat' GROUP BY ALL",
    "SELECT row_number() OVER () AS r FROM labels WHERE value = 'hat' GROUP BY ALL",
    "SELECT count(value ORDER BY value) AS n FROM labels WHERE attribute = 'scene'",
    "SELECT count(DISTINCT value ORDER BY value) AS n FROM labels WHERE attribute = 'scene'",
    "SELECT value IS NOT NULL, count(*) FROM labels GROUP BY ALL",
    "SELECT bool_or(value = 'hat') FROM labels",
    "SELECT DISTINCT len(value) FROM labels",
]


@pytest.mark.parametrize("query", ANSWERED)
def test_same_rows_from_tallies(both, query):
    assert is_tallied(both, query)
    agree(both, query)


@pytest.mark.parametrize("query", READ)
def test_other_questions_are_read(both, query):
    assert not is_tallied(both, query)
    agree(both, query)


ITEMS = st.lists(
    st.sampled_from(
        ["attribute", "value", "annotator AS who", "l.value", "count(*)", "count(*) AS n", "count(annotator) AS c",
         "count(DISTINCT value) AS d", "min(annotator) AS value", "count(*) FILTER (value > 'b') AS f", "lower(value) AS u",
         "count(*) * 100.0 / sum(count(*)) OVER () AS p", "value || '!' AS v", "value IS NULL AS k", "'x' AS x",
         "CASE WHEN count(*) > 9 THEN value ELSE 'few' END AS w", "coalesce(value, annotator) AS o", "score"]
    ),
    min_size=1, max_size=4,
)  # fmt: skip
WHERES = ["", "", "WHERE value = 'hat'", "WHERE attribute || value > 'm'", "WHERE annotator IS NOT NULL AND value <> ''",
          "WHERE false", "WHERE l.attribute = 'mood'", "WHERE value < annotator", "WHERE score IS NULL", "WHERE value ~ 'e'"]  # fmt: skip
GROUPS = ["", "GROUP BY ALL", "GROUP BY value", "GROUP BY 1", "GROUP BY attribute, value", "GROUP BY who", "GROUP BY CUBE (value, attribute)"]  # fmt: skip
HAVINGS = ["", "", "HAVING count(*) > 20", "HAVING n < 90", "HAVING max(value) > 'c'", "HAVING value <> 'hat'"]
ORDERS = ["", "ORDER BY ALL", "ORDER BY count(*), 1", "ORDER BY n DESC"]


@given(st.sampled_from(["", "DISTINCT"]), ITEMS, *map(st.sampled_from, (WHERES, GROUPS, HAVINGS, ORDERS)))
def test_any_count(both, distinct, items, where, group, having, order):
    agree(both, f"SELECT {distinct} {', '.join(items)} FROM labels AS l {where} {group} {having} {order}")


def test_parameters(both):
    session, connection = both
    query = "SELECT value, count(*) AS n FROM labels WHERE attribute = $a GROUP BY value HAVING count(*) > $least ORDER BY ALL"
    told = {"a": "scene", "least": 2}
    assert session.sql(query, **told).fetchall() == connection.sql(query, params=told).fetchall()


def test_what_is_kept(build, tmp_path):
    lake = ingested(build, tmp_path / "kept.lake")
    kept = lance.dataset(str(tmp_path / "kept.lake" / "meta" / "tallies.lance")).to_table().to_pylist()
    stored = lance.dataset(str(tmp_path / "kept.lake" / "labels.lance"))
    labels = [own for own in kept if own["table_name"] == "labels"]
    assert [own["file"] for own in labels] == [f.metadata.files[0].path for f in stored.get_fragments()]
    assert sum(labels[0]["rows"]) == SIZE == lake.sql("SELECT count(*) FROM labels").fetchall()[0][0]


def test_files_that_were_cleaned_up_are_told_again(build, tmp_path):
    lake = updated(build, tmp_path / "gc.lake")
    assert lake.gc(older_than=dt.timedelta(0), apply=True).bytes > 0
    stored = lance.dataset(str(tmp_path / "gc.lake" / "labels.lance"))
    kept = lance.dataset(str(tmp_path / "gc.lake" / "meta" / "tallies.lance")).to_table()["file"].to_pylist()
    assert {f.metadata.files[0].path for f in stored.get_fragments()} <= {*kept}


def test_lost_tallies_are_made_anew(build, tmp_path):
    lake, folder = ingested(build, tmp_path / "lost.lake"), tmp_path / "lost.lake" / "meta" / "tallies.lance" / "data"
    for file in folder.iterdir():
        file.unlink()
    file_statistics._known.clear()
    query = (
        "SELECT attribute, count(*) AS n, min(label_id) AS l FROM labels WHERE value = 'hat' GROUP BY ALL ORDER BY ALL"
    )
    counts = "SELECT value, count(*) AS n FROM labels GROUP BY value ORDER BY ALL"
    found = lake.sql(query).fetchall(), lake.sql(counts).fetchall()
    lake.ingest({"labels": rows(build, 2, first=SIZE)})
    assert sum(n for _, n in found[1]) * 2 == sum(n for _, n in lake.sql(counts).fetchall()) == 2 * SIZE
    assert any(folder.iterdir())


def test_what_is_read_of_others_is_logged(build, tmp_path):
    """Also where they have nothing but closed labels."""
    mine, other = (cb.connect(tmp_path / name) for name in ("mine.lake", "other.lake"))
    mine.ingest({"images": build.images(image_id=[1])})
    closed = build.labels(
        label_id=[1, 2], image_id=[1, 1], attribute=["perceived_gender"] * 2, value=["male", "female"]
    )
    other.ingest({"images": build.images(image_id=[1]), "labels": closed})
    with mine.session(attach={"o": other.uri}, sensitive="a test of the log") as session:
        assert len(session.sql("SELECT value, count(*) AS n FROM o.labels GROUP BY value").fetchall()) == 2
    with other.session(sensitive="a look at the log") as session:
        assert "a test of the log" in {row[0] for row in session.sql("SELECT purpose FROM meta.access").fetchall()}


def test_nothing_is_kept_of_sensitive_labels(build, tmp_path):
    lake = ingested(build, tmp_path / "closed.lake")
    closed = rows(build, 3, first=9_000)
    place = closed.column_names.index("attribute")
    lake.ingest({"labels": closed.set_column(place, "attribute", pa.array(["perceived_gender"] * SIZE))})
    kept = lance.dataset(str(tmp_path / "closed.lake" / "meta" / "tallies.lance")).to_table()["table_name"].to_pylist()
    assert set(kept) == {"images", "labels"}
    query = "SELECT attribute, value, count(*) AS n FROM labels GROUP BY ALL"
    with lake.session(sensitive="a test of counts") as session, duckdb.connect() as connection:
        whole = session.sql("SELECT * FROM labels").to_arrow()
        connection.register("labels", whole)
        assert "~tally~" in session.sql(query).sql
        assert sorted(map(str, session.sql(query).fetchall())) == sorted(map(str, connection.sql(query).fetchall()))
    assert "perceived_gender" not in {row[0] for row in lake.sql(query).fetchall()}


def test_many_values_are_read(build, tmp_path):
    """Where nearly every row has values of its own, a tally would be as long as the table."""
    lake = cb.connect(tmp_path / "many.lake")
    words = [f"w{n}" for n in range(3_000)]
    lake.ingest({
        "images": build.images(image_id=[1]),
        "labels": build.labels(label_id=list(range(3_000)), image_id=[1] * 3_000, attribute=words, value=words[::-1], annotator=["m"] * 3_000),
    })  # fmt: skip
    query = "SELECT count(*) AS n FROM labels WHERE value = 'w7'"
    with lake.session() as session:
        assert "~tally~" not in session.sql(query).sql
        assert session.sql(query).fetchall() == [(1,)]


def test_foreign_writes_are_read(build, tmp_path):
    """What another tool wrote has no codes that hold, so its strings are read."""
    lake = ingested(build, tmp_path / "foreign.lake")
    dataset = lance.dataset(str(tmp_path / "foreign.lake" / "labels.lance"))
    dataset.update({"value": "'theirs'"}, where="value = 'hat'")
    query = "SELECT count(*) AS n FROM labels WHERE value = 'theirs'"
    with lake.session() as session:
        assert "~tally~" not in session.sql(query).sql
        assert session.sql(query).fetchall()[0][0] > 0

"""What a session calls its own variants of a table, no expression, view or column of a user can stand in for."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest

from counterbalance.engine.errors import CounterbalanceError, SqlError
from counterbalance.engine.sql.bind import Binder
from counterbalance.engine.sql.binding import Binding
from counterbalance.engine.sql.parse import parse
from counterbalance.engine.sql.plan import AuditCall, Combined

COUNTS = "SELECT (SELECT count(*) FROM captions) AS a, (SELECT count(text) FROM captions) AS b"


@pytest.fixture
def session(lake):
    with lake.session() as opened:
        yield opened


def test_an_expression_with_the_old_name_counts_nothing(session):
    one = "SELECT 1 AS text"
    for name in ("captionsrows__", "captions__codes", "captions__bytes", '"captions~rows~"'):
        assert session.sql(f"WITH {name} AS ({one}) {COUNTS}").fetchall() == [(8, 7)]  # one has no text
        assert session.sql(f"SELECT * FROM (WITH {name} AS ({one}) {COUNTS})").fetchall() == [(8, 7)]  # one has no text


def test_a_view_with_the_old_name_counts_nothing(lake):
    lake.sql("CREATE MATERIALIZED VIEW captionsrows__ WITH (key = 'a') AS SELECT 1 AS a").to_arrow()
    lake.refresh("captionsrows__", executor="inline")
    with lake.session() as session:
        assert session.sql("SELECT count(*) FROM captionsrows__").fetchall() == [(1,)]
        assert session.sql(COUNTS).fetchall() == [(8, 7)]  # one has no text


def test_a_name_that_was_seen_in_a_plan_is_refused(session):
    seen = re.search(r'"(captions~count~[0-9a-f]{12})"', session.sql("SELECT count(*) FROM captions").sql)[1]
    for way in ("count", "codes", "bytes"):
        own = seen.replace("count", way)
        for name in (own, own.upper()):
            for text in (
                f'WITH "{name}" AS (SELECT 1 AS text) {COUNTS}',
                f'SELECT (WITH "{name}" AS (SELECT 1) SELECT 1)',
            ):
                with pytest.raises(SqlError) as caught:
                    session.sql(text).fetchall()
                assert caught.value.code == "E3118"
            with pytest.raises(CounterbalanceError):
                session.sql(f'SELECT * FROM "{name}"').fetchall()


def test_rows_of_a_search_cannot_be_replaced(session):
    text = "SELECT count(*) FROM top_k(captions, captions, 'random', k := [2], exclude_own := false)"
    assert session.sql(f"WITH top_k__bound_1 AS (SELECT 1) {text}").fetchall() == [(16,)]


@pytest.mark.parametrize("table", ["meta.tables", "lists.crime_words"])
def test_a_name_in_two_parts_is_not_one_quoted_name(session, table):
    count = session.sql(f"SELECT count(*) FROM {table}").fetchall()
    assert count[0][0] > 1
    both = f'WITH "{table}" AS (SELECT 1 AS name) SELECT (SELECT count(*) FROM {table}), count(*) FROM "{table}"'
    assert session.sql(both).fetchall() == [(count[0][0], 1)]


def test_expressions_of_an_audit_are_not_replaced_by_inner_ones(session):
    plain = session.sql("SELECT count(*) FROM caption_gender").fetchall()
    inner = "SELECT * FROM (WITH caption_gender__1 AS (SELECT 1 AS image_id, 'x' AS label) SELECT count(*) FROM caption_gender)"
    assert session.sql(inner).fetchall() == plain


def test_nor_by_expressions_in_an_argument_that_is_a_text(session):
    inner = "(WITH {name} AS (SELECT 1 AS image_id, ''x'' AS label) SELECT image_id, label FROM caption_gender)"
    text = "SELECT label, count FROM demographics(groups := '{groups}', min_count := 1) ORDER BY label"
    plain = session.sql(text.format(groups=inner.format(name="other"))).fetchall()
    assert session.sql(text.format(groups=inner.format(name="caption_gender__1"))).fetchall() == plain
    name = '"captions~count~0123456789ab"'
    with pytest.raises(SqlError) as caught:
        session.sql(text.format(groups=inner.format(name=name))).fetchall()
    assert caught.value.code == "E3118"


def test_expressions_of_an_audit_do_not_hide_a_view(lake):
    lake.sql(
        "CREATE MATERIALIZED VIEW caption_gender__1 WITH (key = 'a') AS SELECT range AS a FROM range(99)"
    ).to_arrow()
    lake.refresh("caption_gender__1", executor="inline")
    text = "SELECT (SELECT count(*) FROM caption_gender) AS x, (SELECT sum(a) FROM caption_gender__1) AS y"
    (row,) = lake.sql(text).fetchall()
    assert row[1] == sum(range(99))


def test_code_columns_are_in_reach_of_nobody(session):
    text = "SELECT category, origin, count(*) FROM detections WHERE category__code = 0 GROUP BY category, origin"
    with pytest.raises(SqlError):
        session.sql(text).fetchall()


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("SELECT (SELECT count(*) FROM images)", "(SELECT COUNT(*) FROM images)"),
        ("SELECT 1 + (SELECT count(*) FROM images) FROM captions", "1 + (SELECT COUNT(*) FROM images)"),
        ("SELECT (SELECT count(*) FROM caption_gender)", "(SELECT COUNT(*) FROM caption_gender)"),
        ("SELECT count(*) FROM images", "count_star()"),
    ],
)
def test_headers_are_as_the_user_wrote_them(session, text, header):
    assert session.sql(text).to_arrow().column_names == [header]
    assert session.sql(text).schema.names == [header]


@pytest.fixture
def labelled(disk_lake, build):
    """60 images whose perceived gender is 'a', one with 'rare'."""
    rows = pa.table(
        {
            "image_id": pa.array(range(61), pa.int64()),
            "attribute": ["perceived_gender"] * 61,
            "value": ["a"] * 60 + ["rare"],
        }
    )
    disk_lake.ingest({"images": build.images(image_id=range(61), key=[str(i) for i in range(61)])})
    labels = {c: rows[c].to_pylist() for c in rows.column_names}
    disk_lake.ingest({"labels": build.labels(label_id=range(61), **labels)})
    return disk_lake


def test_audits_of_perceived_labels_read_no_row_of_the_caller(labelled):
    with labelled.session() as session:
        audit = "SELECT label, count FROM demographics(groups := image_labels('perceived_gender')) ORDER BY label"
        before = session.sql(audit).fetchall()
        assert before
        assert not [count for _, count in before if count is not None and count < 10]
        own = "SELECT 1 AS label_id, 1 AS image_id, NULL AS detection_id, 'perceived_gender' AS attribute, 'x' AS value"
        call = next(r.holds for r in _relations(session, audit) if isinstance(r.holds, AuditCall))
        parts = [part for r in call.plan.relations.values() if r.shown == "labels" for part in _parts(r)]
        internal = [p.id for p in parts] + [p.showing(w).id for p in parts if p.table for w in ("count", "codes")]
        assert len(internal) >= 4
        for name in internal:
            for text in (f'WITH "{name}" AS ({own}) {audit}', f'SELECT * FROM (WITH "{name}" AS ({own}) {audit})'):
                with pytest.raises(CounterbalanceError):
                    session.sql(text).fetchall()
            with pytest.raises(CounterbalanceError):
                session.sql(f'SELECT count(*) FROM "{name}"').fetchall()
        for name in ("image_labels__1", "roll_up__1", "demographics__1", "labels__codes", "labelsrows__"):
            assert session.sql(f"SELECT * FROM (WITH {name} AS ({own}) {audit})").fetchall() == before


def _relations(session, text):
    """What the plan of a query names."""
    engine = session._engine
    binder = Binder(engine.resolver, Binding(engine.resolver, engine.backend, engine))
    return binder.run(parse(text).tree).needed()


def _parts(relation):
    parts = relation.holds.parts if isinstance(relation.holds, Combined) else ()
    return [relation, *parts]

"""The condition of a search says what DuckDB would say, and nothing can be smuggled in with it."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterbalance.engine.errors import CounterbalanceError, RefusedError, SqlError
from counterbalance.engine.search.indexes import IndexSpec
from counterbalance.engine.search.indexes import build as build_index
from counterbalance.engine.search.lance_filter import lance_filter
from counterbalance.engine.store import tables

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("t", pa.string()),
        ("b", pa.bool_()),
        ("d", pa.date32()),
        ("tags", pa.list_(pa.string())),
        ("st", pa.struct([("x", pa.int32())])),
        ("Odd Name", pa.int32()),
    ]
)


def rows():
    n = 40
    return pa.table(
        {
            "id": range(n),
            "t": [None if i % 7 == 0 else ["o'b", "back\\slash", "Ünï", "x%y", "plain"][i % 5] for i in range(n)],
            "b": [None if i % 5 == 0 else i % 2 == 0 for i in range(n)],
            "d": [dt.date(2020, 1, 1) + dt.timedelta(days=i) for i in range(n)],
            "tags": [["a", f"t{i % 3}"] for i in range(n)],
            "st": [{"x": i % 4} for i in range(n)],
            "Odd Name": [i % 6 for i in range(n)],
            "embedding": pa.array(np.ones((n, 2), np.float32).tolist(), pa.list_(pa.float32(), 2)),
        },
    ).cast(pa.schema([*SCHEMA, ("embedding", pa.list_(pa.float32(), 2))]))


GOOD = [
    "id = 3",
    "id <> 3 AND id < 9",
    "NOT (id >= 3)",
    "id IN (1, 2, 3) OR t LIKE 'x%'",
    "id NOT IN (1, 2)",
    "id BETWEEN 3 AND 7",
    "t = 'o''b'",
    "t = 'back\\slash'",
    "t = 'Ünï'",
    "t ILIKE 'ü%'",
    "t LIKE '%''%'",
    "lower(t) = 'plain' AND length(t) > 2",
    "upper(t) = 'PLAIN'",
    "starts_with(t, 'pl')",
    "contains(t, 'lai')",
    "t IS NULL",
    "t IS NOT NULL AND b",
    "b IS TRUE",
    "NOT b",
    "d > '2020-01-20'::DATE",
    "d = DATE '2020-01-05'",
    "list_contains(tags, 't1')",
    "list_has_any(tags, ['t1', 't2'])",
    "st.x = 2",
    "rows.id = 2",
    '"Odd Name" = 2',
    "ID = 2",
    "id % 3 = 1",
    "id * 2 - 1 > 40 + -3",
    "id = 2 -- the rest is a comment",
    "id = 2 /* so is this */",
    "id > 10",
]


@pytest.fixture
def lake(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1], key=["one"])})
    tables.append(disk_lake.location, "rows", rows())
    return disk_lake


@pytest.fixture
def lake_with_labels(empty_lake, build):
    texts = ["a man rides a horse", "a rider on a brown horse", "a dog"]
    captions = build.captions(caption_id=[11, 12, 13], image_id=[1, 1, 1], text=texts)
    empty_lake.ingest({"images": build.images(image_id=[1], key=["one"]), "captions": captions})
    empty_lake.add_column("captions", "marked", "length(text)", sensitive=True)
    empty_lake.add_column("captions", "told", "upper(text)", sensitive=True)
    empty_lake.refresh(executor="inline")
    return empty_lake


def test_as_duckdb_has_it(lake):
    with lake.session() as session:
        for text in GOOD:
            expected = session.sql(f"SELECT id FROM rows WHERE {text}\n ORDER BY id").fetchall()
            got = session.sql(
                "SELECT id FROM vector_search(rows, 'embedding', [1, 1], k := 99, where := $w) ORDER BY id", w=text
            )
            assert got.fetchall() == expected, text
            assert expected, text


BAD = [
    "id = 1; DROP TABLE rows",
    "id = 1 UNION SELECT 1",
    "id IN (SELECT 1)",
    "EXISTS (SELECT 1)",
    "(SELECT 1) = 1",
    "id = (SELECT max(id) FROM rows)",
    "id = ANY (SELECT 1)",
    "id = 1 ORDER BY id",
    "id = 1 LIMIT 1",
    "id = 1 GROUP BY id",
    "id = 1 WINDOW w AS ()",
    "read_text('/etc/passwd') = 'x'",
    "getenv('HOME') = 'x'",
    "random() > 0.5",
    "regexp_matches(t, 'x')",
    "t ~ 'x'",
    "t SIMILAR TO 'x'",
    "t LIKE 'x' ESCAPE '!'",
    "CASE WHEN id = 1 THEN TRUE END",
    "id = $1",
    "id = ?",
    "id = $w",
    "count(*) > 1",
    "sum(id) OVER () > 1",
    "tags[1] = 'x'",
    "COLUMNS('id') = 1",
    "*",
    "current_user = 'x'",
    "id IS DISTINCT FROM 1",
    "(id, t) = (1, 'x')",
    "CAST(t AS INTEGER) = 1",
    "id / 2 = 1",
    "vader(t) = 1",
    "[x for x in tags] = tags",
    "list_filter(tags, lambda x: x = 'a') = tags",
]


@pytest.mark.parametrize("text", BAD)
def test_more_than_a_condition_is_refused(text):
    with pytest.raises((RefusedError, SqlError)) as caught:
        lance_filter(text, SCHEMA, "rows")
    assert caught.value.code in {"E3250", "E3452"}


@pytest.mark.parametrize(
    "text", ["", "  ", "id =", "id = 1)", "id = 1) OR (1 = 1", "'", "id = 'x", "(" * 5000 + "1" + ")" * 5000]
)
def test_what_cannot_be_read(text):
    with pytest.raises(CounterbalanceError) as caught:
        lance_filter(text, SCHEMA, "rows")
    assert caught.value.code in {"E3452", "E3250"}


@pytest.mark.parametrize("text", ["secret = 1", "other.id = 1", "_rowid = 1", "t__code = 1", "main.rows.secret = 1"])
def test_columns_that_are_not_shown_do_not_exist(text):
    with pytest.raises(SqlError) as caught:
        lance_filter(text, SCHEMA, "rows")
    assert caught.value.code == "E3453"


def test_hidden_columns_of_a_real_table(lake, build):
    """Codes and pictures lie in the table, but no search sees them."""
    lake.ingest({"images": build.images(image_id=[2], key=["two"], split=["val"], image=[b"picture"])})
    for column in ("split__code", "image", "_rowaddr", "_row_last_updated_at_version"):
        with pytest.raises(SqlError) as caught:
            lake.sql(f"SELECT * FROM full_text_search(images, '{column}', 'x')").fetchall()
        assert caught.value.code == "E3453"
        text = f"SELECT * FROM vector_search(rows, 'embedding', [1, 1], where := '{column} = 1')"
        with pytest.raises(SqlError) as caught:
            lake.sql(text).fetchall()
        assert caught.value.code == "E3453"


def test_what_the_filter_cannot_compare_is_an_error_in_the_query(lake):
    with pytest.raises(SqlError, match="cannot be applied") as caught:
        lake.sql("SELECT * FROM vector_search(rows, 'embedding', [1, 1], where := 't > 3')").fetchall()
    assert caught.value.code == "E3457"


@given(text=st.text(alphabet="id t'\"`\\-/*;()=<>,x1%$[]{}", max_size=25))
def test_any_text_is_a_condition_or_an_error_of_ours(text):
    try:
        made = lance_filter(text, SCHEMA, "rows")
    except CounterbalanceError:
        return
    assert made.count("'") % 2 == 0
    assert ";" not in "".join(made.split("'")[::2])


@given(value=st.text(max_size=12))
def test_a_text_stays_a_text(value):
    quoted = "'" + value.replace("'", "''") + "'"
    try:
        made = lance_filter(f"t = {quoted}", SCHEMA, "rows")
    except SqlError:
        assert "\x00" in value or "\r" in value or not value.isprintable()
        return
    assert made == f"(`t` = {quoted})"


def test_searches_do_not_carve_what_is_known_of_persons(lake, build):
    """Rows chosen by a search would cut the cells of an audit to tell of single persons."""
    from counterbalance.engine.errors import SensitiveError

    columns = {
        "label_id": range(40),
        "image_id": [1] * 40,
        "attribute": ["perceived_gender"] * 40,
        "value": ["f"] * 40,
        "annotator": ["a"] * 40,
    }
    lake.ingest({"labels": build.labels(**columns)})
    audit = "SELECT * FROM crime_words(texts := {}, groups := image_labels('perceived_gender'))"
    lake.sql(audit.format("captions")).fetchall()
    with pytest.raises(SensitiveError) as caught:
        lake.sql(audit.format("vector_search(rows, 'embedding', [1, 1])")).fetchall()
    assert caught.value.code == "E3306"


def test_sensitive_columns_need_a_purpose(lake_with_labels):
    """Neither searched nor filtered by, unless the session says why."""
    lake = lake_with_labels
    build_index(tables.open_table(lake.location, "captions"), IndexSpec("words", "fts", "text"))
    build_index(tables.open_table(lake.location, "captions"), IndexSpec("hidden", "fts", "told"))
    by_words = "SELECT caption_id FROM full_text_search(captions, 'text', 'horse', where := 'marked > 19') ORDER BY 1"
    by_label = "SELECT caption_id FROM full_text_search(captions, 'told', 'A')"
    for query in (by_words, by_label):
        with pytest.raises(SqlError) as caught:
            lake.sql(query).fetchall()
        assert caught.value.code == "E3453"
    assert lake.sql(by_words, sensitive="a test of horses").fetchall() == [(12,)]
    assert len(lake.sql(by_label, sensitive="a test of horses").fetchall()) > 1


@pytest.mark.thorough
def test_building_an_index_prints_nothing(tmp_path, spawn):
    """Lance would warn of each of the partitions that few new rows leave empty."""
    process = spawn("extend_an_index", tmp_path / "t.lance")
    out, error = process.communicate(timeout=500)
    assert (process.returncode, out.strip(), error) == (0, "incremental 10", "")

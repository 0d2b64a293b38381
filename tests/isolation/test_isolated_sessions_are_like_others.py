"""A session whose queries run in a worker process answers as one whose queries do not: rows, forms, errors, closed labels."""

from __future__ import annotations

import datetime as dt
import decimal
import gc
import threading
import uuid

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.errors import CounterbalanceError, LimitError, RequestError, SensitiveError
from counterbalance.engine.isolation import process

QUERIES = [
    "SELECT * FROM captions ORDER BY caption_id",
    "SELECT image_id, key FROM images WHERE image_id < 0",
    "SELECT * FROM crime_words(groups := 'caption_gender', min_count := 1)",
    "SELECT sentence.text FROM (SELECT {'text': text, 'n': [1, 2]} AS sentence FROM captions) ORDER BY 1 LIMIT 3",
    "SELECT 'b'::ENUM('a', 'b') AS e, 1::HUGEINT AS h, uuid() IS NULL AS u, INTERVAL 1 DAY AS i, DATE '2026-01-02' AS d",
    "SHOW TABLES",
    "DESCRIBE captions",
    "EXPLAIN SELECT 1",
    "FROM meta.columns",
    "SELECT vader(text) FROM captions ORDER BY caption_id",
]
WRONG = [
    "SELECT nope FROM images",
    "SELECT\n  txet FROM captions",
    "SELECT * FROM imges",
    "SELECT FROM WHERE",
    "DELETE FROM images",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT $a",
    "SELECT image_id + 'x' FROM images",
    "SELECT value FROM labels WHERE 1 = length(value, 2)",
    "SELECT * FROM crime_words(groups := 3)",
]


@pytest.fixture(scope="module")
def both(folder_lake):
    with folder_lake.session() as here, folder_lake.session(isolated=True) as there:
        yield here, there


@pytest.mark.cases(4)
@pytest.mark.parametrize("query", QUERIES)
def test_rows_notes_and_sql(both, query):
    here, there = (session.sql(query) for session in both)
    assert there.schema.equals(here.schema, check_metadata=True)
    assert there.to_arrow().equals(here.to_arrow())
    assert there.notes == here.notes
    assert (there.sql == here.sql) or "~" in here.sql
    assert repr(there) == repr(here)


@pytest.mark.parametrize("query", WRONG)
def test_errors(both, query):
    told = []
    for session in both:
        with pytest.raises(CounterbalanceError) as caught:
            session.sql(query).fetchall()
        error = caught.value
        told.append((type(error), str(error), error.to_dict()))
    assert told[0] == told[1]


def test_forms(both):
    _, there = both
    result = there.sql("SELECT image_id AS a, key AS b FROM images ORDER BY 1", max_rows=2)
    rows = [(0, "0"), (1, "1")]
    assert result.fetchall() == rows
    assert list(result) == rows
    assert result.df().to_dict("list") == result.pl().to_dict(as_series=False) == {"a": [0, 1], "b": ["0", "1"]}
    assert result.to_batches().read_all().num_rows == len(result) == 2
    assert pa.table(result).num_rows == 2
    assert result.columns == ["a", "b"]
    assert result.notes == ["stopped after 2 rows"]


def test_values_and_tables(both):
    here, there = both
    values = {
        "moment": dt.datetime(2026, 1, 2, 3, 4, 5, 6),  # noqa: DTZ001 - a TIMESTAMP has none
        "zoned": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "day": dt.date(2026, 1, 2),
        "clock": dt.time(1, 2, 3),
        "span": dt.timedelta(days=1, seconds=2),
        "money": decimal.Decimal("1.50"),
        "name": uuid.UUID(int=7),
        "raw": b"\x00\xff",
        "many": [1, None, 3],
        "pair": {"a": 1, "b": "x"},
        "nothing": None,
        "yes": True,
        "real": float("inf"),
        "word": "it's",
    }
    query = "SELECT " + ", ".join(f"${name} AS {name}" for name in values)
    assert there.sql(query, values).fetchall() == here.sql(query, values).fetchall()
    mine = pa.table({"image_id": [1, 2, 99], "w": ["a", "b", "c"]})
    joined = "SELECT w FROM mine JOIN images USING (image_id) ORDER BY 1"
    assert there.sql(joined, mine=mine).fetchall() == [("a",), ("b",)]
    big = pa.table({"x": range(1_000_000)})
    assert (
        there.sql("SELECT sum(x) FROM big", big=big).fetchall()
        == here.sql("SELECT sum(x) FROM big", big=big).fetchall()
    )
    with pytest.raises(RequestError, match="a worker process cannot be given"):
        there.sql("SELECT $x", x=object())


def test_audits_with_tables(both):
    groups = pa.table({"image_id": list(range(64)), "label": ["a", "b"] * 32})
    here, there = (s.audit("crime_words", groups=groups, min_count=0).to_arrow() for s in both)
    assert there.equals(here)
    assert there.num_rows


def test_what_it_tells_of_itself(both):
    here, there = both
    assert there.versions == here.versions
    assert there.names() == here.names()
    query = "SELECT count(*) FROM captions WHERE matches(text, ['man'])"
    assert there.expand(query) == here.expand(query)
    assert there.explain("SELECT 1") == here.explain("SELECT 1")


def test_closed_labels_stay_closed(folder_lake):
    query = "SELECT value FROM labels WHERE attribute = 'perceived_gender'"
    with folder_lake.session(isolated=True, sensitive="a test of isolation") as session:
        assert len(session.sql(query).fetchall()) == 64

    def reads():
        listed = folder_lake.accesses(sensitive="a test of isolation").to_pylist()
        return [line for line in listed if line["sql"] == query]

    before = len(reads())
    with folder_lake.session(isolated=True) as session:  # in the same process as before
        result = session.sql(query)
        assert result.fetchall() == []
        assert any("perceived_gender are not shown" in note for note in result.notes)
        with pytest.raises(SensitiveError):
            session.sql("SELECT * FROM meta.access").fetchall()
    assert len(reads()) == before
    assert reads()[-1]["rows"] == 64


@pytest.mark.thorough
def test_one_snapshot(tmp_path, build):
    lake = cb.connect(tmp_path / "x.lake")
    lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    lake.tag("first")
    with lake.session(isolated=True) as session:
        result = session.sql("SELECT count(*) FROM images")
        lake.ingest({"images": build.images(image_id=[2], key=["b"])})
        assert lake.sql("SELECT count(*) FROM images", timeout=60).fetchall() == [(2,)]
        assert result.fetchall() == [(1,)]
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(1,)]
        unread = session.sql("SELECT count(*) FROM images")
        session.renew()
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
        assert unread.fetchall() == [(1,)]
    assert lake.sql("SELECT count(*) FROM images", at="first", timeout=60).fetchall() == [(1,)]
    with lake.session(isolated=True, attach={"same": lake}) as session:
        assert session.sql("SELECT count(*) FROM same.images").fetchall() == [(2,)]


def test_statements_that_declare(tmp_path, build):
    lake = cb.connect(tmp_path / "x.lake")
    lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    with lake.session(timeout=60) as session:
        session.sql("CREATE MATERIALIZED VIEW v WITH (key = 'image_id') AS SELECT image_id, key FROM images")
        session.sql("REFRESH v")
        assert session.sql("SELECT count(*) FROM v").fetchall() == [(2,)]


def test_a_session_that_is_closed(folder_lake):
    with folder_lake.session(isolated=True) as session:
        result = session.sql("SELECT 1")
        rows = iter(session.sql("SELECT range FROM range(1000000)"))
        next(rows)
    for use in (result.fetchall, lambda: list(rows), lambda: session.sql("SELECT 1")):
        with pytest.raises(RequestError, match="session is closed"):
            use()


def test_half_read_answers(folder_lake):
    with folder_lake.session(isolated=True) as session:
        one, other = (iter(session.sql(f"SELECT range + {n} FROM range(200000)")) for n in (0, 5))
        assert (next(one), next(other), next(one)) == ((0,), (5,), (1,))
        assert sum(1 for _ in other) == 199_999
        del one
        gc.collect()
        assert session.sql("SELECT 1").fetchall() == [(1,)]
    assert not [worker for worker in process._all if worker.users]


def test_a_slow_reader_does_not_use_up_the_time(folder_lake):
    pause = threading.Event()
    for number, _ in enumerate(folder_lake.sql("SELECT range FROM range(300000)", timeout=1.5).to_batches()):
        if number < 2:
            pause.wait(1.0)


def test_threads_have_a_worker_each(folder_lake):
    found = []

    def ask(number):
        found.append(folder_lake.sql("SELECT count(*) + $n FROM images", n=number, timeout=60).fetchall()[0][0])

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [64, 65, 66, 67]


def test_what_only_this_process_has(folder_lake, lake, monkeypatch):
    def call(x):
        return x

    parameters = (functions.Parameter("x", pa.int64()),)
    functions.functions()
    made = functions.Function("t_only_here", call, parameters, pa.int64(), "1")
    monkeypatch.setitem(functions._registry, "t_only_here", made)
    query = "SELECT max(t_only_here(image_id)) FROM images"
    result = folder_lake.sql(query, timeout=60)
    assert result.fetchall() == [(63,)]
    assert any("t_only_here() is known to this process only" in note for note in result.notes)
    with pytest.raises(RequestError) as caught:
        folder_lake.sql(query, isolated=True)
    assert caught.value.code == "E3064"
    with pytest.raises(RequestError, match="lives in the memory of this process"):
        lake.sql("SELECT 1", isolated=True)
    assert lake.sql("SELECT count(*) FROM images", timeout=60).fetchall() == [(6,)]
    with folder_lake.session(timeout=60) as session:
        name = session.bind("mine", pa.table({"a": [1]}))
        assert session.sql(f"SELECT * FROM {name}").fetchall() == [(1,)]


def test_functions_that_are_loaded_later(folder_lake, tmp_path):
    file = tmp_path / "later.py"
    file.write_text(
        "import pyarrow as pa, counterbalance as cb\n"
        "@cb.udf(returns=pa.int64(), parameters={'x': pa.int64()}, version='1')\n"
        "def t_later(x):\n"
        "    return x\n"
    )
    with folder_lake.session(isolated=True) as session:
        assert session.sql("SELECT 1").fetchall() == [(1,)]
        functions.load_file(str(file))
        assert session.sql("SELECT max(t_later(image_id)) FROM images").fetchall() == [(63,)]


@pytest.mark.cases(1)
@pytest.mark.parametrize("isolated", [True, False])
def test_moments_are_of_utc_wherever_the_caller_is(folder_lake, monkeypatch, isolated):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    with folder_lake.session(isolated=isolated) as session:
        moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
        assert session.sql("SELECT extract('hour' FROM $m::TIMESTAMPTZ)", m=moment).fetchall() == [(0,)]


def test_a_limit_that_is_reached_leaves_the_session_open(folder_lake, answer):
    with folder_lake.session(timeout=0.5) as session:
        for _ in range(2):
            with pytest.raises(LimitError):
                session.sql("SELECT sum(sin(range)) FROM range(20000000000)").fetchall()
            assert answer(session, "SELECT count(*) FROM images") == [(64,)]

"""A DuckDB is one session's at a time, and the next one's only if it is as good as new."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.backends.duckdb import connection
from counterbalance.engine.errors import CounterbalanceError, LimitError, NotFoundError, RequestError

ENDLESS = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range + b.range = -1"
BREAKS = "SELECT a::VARCHAR FROM mine"
"""With numbers that are not moments, an internal error of DuckDB's, after which an instance refuses everything."""


@pytest.fixture(autouse=True)
def no_idle():
    """No instance is kept from tests before; what is kept here goes."""
    connection._close_idle()
    connection._ended.clear()
    yield
    connection._close_idle()
    connection._ended.clear()


@pytest.fixture
def filled(disk_lake, build):
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1, 2]),
            "captions": build.captions(caption_id=[1, 2], image_id=[1, 2], text=["a man", "a woman"]),
        }
    )
    return disk_lake


def used(lake, query="SELECT count(*) FROM images", params=None, **settings):
    """The instance that a session used, which has ended."""
    with lake.session(**settings) as session:
        session.sql(query, **(params or {})).fetchall()
        return session._engine.backend._opened()


def test_the_next_session_has_it(filled):
    first = used(filled)
    assert connection._idle == [first]
    assert used(filled) is first
    assert used(filled, "SELECT count(*) FROM captions WHERE text LIKE '%man'") is first


def test_also_after_a_session_that_was_let_go(filled):
    session = filled.session()
    session.sql("SELECT 1").fetchall()
    first = session._engine.backend._opened()
    del session
    assert used(filled) is first


def test_two_sessions_have_one_each(filled):
    with filled.session() as first, filled.session() as second:
        assert first.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
        assert second.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
        assert first._engine.backend._opened() is not second._engine.backend._opened()
    with filled.session() as third:
        assert third._engine.backend._opened() in {first._engine.backend._instance, second._engine.backend._instance}


@pytest.mark.parametrize(
    ("query", "params", "settings"),
    [
        ("SELECT 1", {}, {"threads": 1}),
        ("SELECT 1", {}, {"memory": "200MB"}),
        ("SELECT vader('good')", {}, {}),
        ("SELECT count(*) FROM labels", {}, {"sensitive": "a test of reuse"}),
    ],
)
def test_limits_functions_and_purposes_stay_with_their_session(filled, query, params, settings):
    own = used(filled, query, params, **settings)
    assert connection._idle == []
    assert not Path(own.spill).exists()
    assert used(filled) is not own


@pytest.mark.parametrize(
    "query",
    ["SELECT nope FROM images", "SELECT key::INTEGER + 'x'::INTEGER FROM images", "SELECT image_id::DATE FROM images"],
)
def test_not_after_an_error(filled, query):
    with filled.session() as session:
        with pytest.raises(CounterbalanceError):
            session.sql(query).fetchall()
        own = session._engine.backend._opened()
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
    assert used(filled) is not own


@pytest.mark.parametrize("prefix", ["", "EXPLAIN ANALYZE "])
def test_an_internal_error_is_one_sessions_trouble(filled, prefix):
    mine = pa.table({"a": pa.array([0] * 300_000 + [2**62], pa.timestamp("s"))})
    with filled.session() as other:
        assert other.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
        with filled.session() as session, pytest.raises((CounterbalanceError, OSError, duckdb.Error)):
            session.sql(prefix + BREAKS, mine=mine).fetchall()
        assert other.sql("SELECT count(*) FROM captions").fetchall() == [(2,)]
    for _ in range(3):
        assert filled.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
        assert len(filled.audit("demographics", min_count=0).fetchall()) == 2


def test_not_with_a_result_half_read(filled):
    with filled.session() as session:
        rows = session.sql("SELECT a FROM mine", mine=pa.table({"a": range(200_000)})).to_batches()
        rows.read_next_batch()
        own = session._engine.backend._opened()
    assert connection._idle == []
    assert used(filled) is not own


def test_nothing_of_a_session_stays(filled):
    with filled.session() as session:
        result = session.sql("SELECT a FROM mine", mine=pa.table({"a": [1]}))
        result.fetchall()
        name = re.search(r"mine__[0-9a-f]+", result.sql)[0]
        first = session._engine.backend._opened()
    with filled.session() as session, session._engine.backend._opened().cursor() as cursor:
        assert session._engine.backend._opened() is first
        assert cursor.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal").fetchall() == []
        with pytest.raises(NotFoundError):
            session.sql(f'SELECT * FROM "{name}"')


def test_what_was_half_read_says_that_the_session_is_closed(filled):
    with filled.session() as session:
        rows = iter(session.sql("SELECT a FROM mine", mine=pa.table({"a": range(500_000)})))
        next(rows)
    with pytest.raises(RequestError, match="the session is closed") as caught:
        list(rows)
    assert caught.value.code == "E3040"


def test_an_interrupt_never_fails(filled):
    """Whatever a query is about at that moment."""
    stop, wrong = threading.Event(), []

    def interrupting(session):
        while not stop.is_set():
            try:
                session.interrupt()
            except Exception as error:  # noqa: BLE001 - none is allowed
                wrong.append(error)

    with filled.session() as session:
        thread = threading.Thread(target=interrupting, args=(session,))
        thread.start()
        for _ in range(int(os.environ.get("COUNTERBALANCE_STATEMENTS", "50"))):
            with contextlib.suppress(LimitError):
                session.sql("SELECT count(*) FROM images").fetchall()
        stop.set()
        thread.join()
    assert wrong == []


def test_not_when_it_is_old(filled, monkeypatch):
    first = used(filled)
    monkeypatch.setattr(connection, "_OLD", 0.0)
    assert used(filled) is not first


def test_not_when_its_folder_was_cleaned_away(filled):
    first = used(filled)
    (Path(first.spill) / ".in-use").unlink()
    Path(first.spill).rmdir()
    assert used(filled) is not first


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="how large a process is is not told here")
def test_not_when_a_query_took_much_memory(filled):
    large = "SELECT count(*) FROM (SELECT r % 5000000 AS k, count(*) FROM range(5000000) t(r) GROUP BY k)"
    first = used(filled)
    assert used(filled, large) is first
    assert connection._idle == []
    assert used(filled) is not first


def test_few_are_kept(filled):
    sessions = [filled.session() for _ in range(5)]
    for session in sessions:
        session.sql("SELECT 1").fetchall()
    for session in sessions:
        session.close()
    assert len(connection._idle) == 2


def test_a_closed_session_asks_nothing(filled):
    session = filled.session()
    session.sql("SELECT 1").fetchall()
    session.close()
    session.close()
    for query in ("SELECT count(*) FROM images", "SELECT vader('good')"):
        with pytest.raises(RequestError, match="the session is closed"):
            session.sql(query).fetchall()
    assert len(connection._idle) == 1


def test_its_end_stops_what_another_thread_reads(filled):
    session, ended = filled.session(), []

    def run():
        with pytest.raises(RequestError, match="the session is closed") as caught:
            session.sql(ENDLESS).fetchall()
        ended.append(caught.value.code)

    thread = threading.Thread(target=run)
    thread.start()
    while not session._engine.backend._running:
        pass
    with filled.session() as other:
        for _ in range(20):
            assert other.sql("SELECT count(*) FROM images").fetchall() == [(2,)]
        other.interrupt()
        assert thread.is_alive()
        session.close()
        thread.join(30)
        assert not thread.is_alive()
        assert len(ended) == 1
        assert other.sql("SELECT sum(image_id) FROM images").fetchall() == [(3,)]


def test_many_threads(filled):
    answers = []

    def run():
        for _ in range(4):
            with filled.session() as session:
                answers.append(session.sql("SELECT count(*), min(text) FROM captions").fetchall())

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[(2, "a man")]] * 24
    assert len(connection._idle) <= 2


def test_no_folder_is_left_where_it_cannot_be_opened(filled, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for raised in (KeyboardInterrupt, duckdb.IOException("no")):
        with monkeypatch.context() as patched:
            patched.setattr(connection, "connect", lambda *_, e=raised: (_ for _ in ()).throw(e))
            with pytest.raises((KeyboardInterrupt, duckdb.Error, CounterbalanceError)):
                filled.sql("SELECT 1").fetchall()
    assert not list(tmp_path.glob("counterbalance-spill-*"))


PROGRAM = """
import sys
import counterbalance as cb
lake = cb.connect(sys.argv[1])
kept = [lake.session() for _ in range(3)]
print([s.sql("SELECT count(*) FROM images").fetchall() for s in kept])
"""


def run(program, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **environment},
        cwd=tempfile.gettempdir(),
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


@pytest.mark.parametrize("last", ["", "kept.pop(); sys.exit(0)", *again("for s in kept: s.close()")])
def test_nothing_is_left_at_the_end_of_the_process(filled, tmp_path, last):
    place = tmp_path / "tmp"
    place.mkdir()
    ended = run(PROGRAM + last, filled.location.path, TMPDIR=str(place))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[[(2,)], [(2,)], [(2,)]]\n", "")
    assert list(place.iterdir()) == []


# children ask DuckDB alone: Lance is not made for forks
FORKED = """
import os
from counterbalance.engine.backends.duckdb import connection
kept.pop().close()
pid = os.fork()
if pid == 0:
    instance = connection.take(None, None, reusable=True)
    with instance.cursor() as cursor:
        told = cursor.sql("SELECT count(*) FROM range(7)").fetchall()
    connection.release(instance)
    sys.exit(0 if told == [(7,)] else 3)
print(os.waitpid(pid, 0)[1], kept[0].sql("SELECT count(*) FROM range(8)").fetchall(), len(os.listdir(sys.argv[2])))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_leaves_its_parents_alone(filled, tmp_path):
    place = tmp_path / "tmp"
    place.mkdir()
    ended = run(PROGRAM + FORKED, filled.location.path, place, TMPDIR=str(place))
    assert ended.stdout.splitlines()[-1] == "0 [(8,)] 3", ended.stderr
    assert list(place.iterdir()) == []


POOLED = """
import multiprocessing, os, sys
from counterbalance.engine.backends.duckdb import connection

def ask(number):
    instance = connection.take(None, None, reusable=True)
    with instance.cursor() as cursor:
        told = cursor.sql(f"SELECT count(*) FROM range({number})").fetchall()
    connection.release(instance)
    return told[0][0]

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        print(pool.map(ask, range(4)))
        pool.close()
        pool.join()
"""


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_children_of_multiprocessing_leave_nothing(tmp_path, method):
    program = tmp_path / "pooled.py"
    program.write_text(POOLED)
    with tempfile.TemporaryDirectory(dir="/tmp") as place:  # a socket lies there, whose path must be short
        ended = subprocess.run(
            [sys.executable, program, method],
            env={**os.environ, "TMPDIR": place},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert (ended.returncode, ended.stdout) == (0, "[0, 1, 2, 3]\n"), ended.stderr
        assert not list(Path(place).glob("counterbalance-spill-*"))

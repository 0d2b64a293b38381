"""A session with a purpose writes down who read what and why; a changed or missing line shows."""

from __future__ import annotations

import os
import shutil
import threading

import lance
import pytest

from counterbalance.engine.catalog import access
from counterbalance.engine.errors import SensitiveError, SqlError
from counterbalance.engine.store.lock import writer_lock

PURPOSE = "audit of label quality"
EACH = max(1, int(os.environ.get("COUNTERBALANCE_READS", "1")) // 20)
QUERY = "SELECT value FROM labels WHERE attribute = 'race'"


@pytest.fixture
def labelled(disk_lake, build):
    ids = list(range(5))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "labels": build.labels(
                label_id=ids, image_id=ids, attribute=["race"] * 5, value=[f"secret {i}" for i in ids]
            ),
        }
    )
    return disk_lake


def entries(lake):
    return access.read(lake.location).to_pylist()


@pytest.mark.parametrize("purpose", ["", "   ", "x", " ab "])
def test_a_purpose_is_more_than_a_word(labelled, purpose):
    with pytest.raises(SensitiveError) as caught:
        labelled.session(sensitive=purpose)
    assert caught.value.code == "E3304"
    assert entries(labelled) == []


def test_begin_and_end_of_a_read(labelled):
    with labelled.session(sensitive=PURPOSE) as session:
        assert len(session.sql(QUERY)) == 5
        versions = session.versions
    begun, ended = entries(labelled)
    for entry in (begun, ended):
        assert (entry["purpose"], entry["sql"]) == (PURPOSE, QUERY)
        assert entry["user"]
        assert all(f'"{t}": {v}' in entry["versions"] for t, v in versions.items())
    assert (begun["rows"], ended["rows"]) == (None, 5)
    assert begun["at"] <= ended["at"]


def test_no_label_is_in_the_log(labelled):
    with labelled.session(sensitive=PURPOSE) as session:
        session.sql(QUERY).fetchall()
        session.sql("SELECT * FROM image_labels('race')").fetchall()
    assert "secret" not in str(entries(labelled))


def test_a_query_that_is_never_finished_is_there(labelled):
    with labelled.session(sensitive=PURPOSE) as session:
        batches = iter(session.sql(QUERY).to_batches())
        next(batches)
    assert [e["rows"] for e in entries(labelled)] == [None]


def test_looking_at_the_schema_reads_no_label(labelled):
    with labelled.session(sensitive=PURPOSE) as session:
        assert session.sql(QUERY).columns == ["value"]
    assert entries(labelled) == []


def test_a_query_that_fails_is_there(labelled):
    with labelled.session(sensitive=PURPOSE) as session, pytest.raises(SqlError):
        session.sql("SELECT CAST(value AS INTEGER) FROM labels").fetchall()
    assert len(entries(labelled)) == 1


def test_constants_and_table_functions_are_there(labelled):
    """What is evaluated on the way to an answer is a read too."""
    with labelled.session(sensitive=PURPOSE) as session:
        text = "SELECT count(*) FROM top_k((SELECT label_id, value AS text FROM labels), captions)"
        session.sql(text).fetchall()
    assert any("labels" in e["sql"] and "top_k" not in e["sql"] for e in entries(labelled))


def test_without_a_purpose_nothing_is_written(labelled):
    labelled.sql("SELECT count(*) FROM labels").fetchall()
    labelled.sql("SELECT * FROM demographics(image_labels('race'))").fetchall()
    assert entries(labelled) == []


def test_the_log_is_read_with_a_purpose(labelled):
    with labelled.session(sensitive=PURPOSE) as session:
        session.sql(QUERY).fetchall()
        got = session.sql("SELECT purpose, sql, rows FROM meta.access ORDER BY at").fetchall()
    assert got[:2] == [(PURPOSE, QUERY, None), (PURPOSE, QUERY, 5)]


def test_an_attached_lake_keeps_its_own_log(labelled, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1])})
    with empty_lake.session(attach={"other": labelled}, sensitive=PURPOSE) as session:
        session.sql("SELECT count(*) FROM other.captions").fetchall()
        assert entries(labelled) == []
        assert len(session.sql("SELECT * FROM other.labels")) == 5
    assert [e["rows"] for e in entries(labelled)] == [None, 5]


@pytest.mark.timeout(600 + 4 * EACH)
def test_every_line_of_many_writers_is_there(labelled, record_property):
    def read():
        for _ in range(EACH):
            with labelled.session(sensitive=PURPOSE) as session:
                session.sql(QUERY).fetchall()

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    record_property("readings", 4 * EACH)
    assert len(entries(labelled)) == 8 * EACH
    assert access.verify(labelled.location) == []


@pytest.fixture
def log(labelled):
    """A log of six lines, and the table that holds it."""
    with labelled.session(sensitive=PURPOSE) as session:
        for number in range(3):
            session.sql(f"{QUERY} AND image_id = {number}").fetchall()
    assert access.verify(labelled.location) == []
    return labelled, lance.dataset(labelled.location.table(access.STORED))


@pytest.mark.parametrize(
    "change",
    [{"purpose": "'nothing'"}, {"sql": "'SELECT 1'"}, {"rows": "0"}, {"user": "'somebody'"}, {"digest": "'00'"}],
)
def test_a_changed_line_shows(log, change):
    lake, table = log
    table.update(change, where="sql LIKE '%image_id = 1'")
    assert set(access.verify(lake.location)) & {2, 3}


def test_a_line_taken_out_shows(log):
    lake, table = log
    table.delete("sql LIKE '%image_id = 1' AND rows IS NULL")
    assert access.verify(lake.location)


def test_a_line_put_in_shows(log):
    import pyarrow as pa

    lake, table = log
    row = table.to_table().slice(1, 1).to_pylist()[0] | {"purpose": "forged"}
    table.insert(pa.Table.from_pylist([row], schema=access.SCHEMA))
    assert access.verify(lake.location)


@pytest.mark.parametrize("keep", [0, 1, 4, 5])
def test_a_tail_that_was_cut_shows(log, keep):
    lake, table = log
    digests = [e["digest"] for e in entries(lake)]
    assert len(digests) == 6
    gone = ", ".join(f"'{d}'" for d in digests[keep:])
    table.delete(f"digest IN ({gone})")
    assert len(entries(lake)) == keep
    assert set(range(keep, 6)) <= set(access.verify(lake.location))


def test_an_older_version_of_the_log_shows(log):
    lake, table = log
    lance.dataset(table.uri, version=table.version - 1).restore()
    assert access.verify(lake.location) == [5]


def test_later_lines_do_not_hide_a_cut(log):
    lake, table = log
    table.delete(f"digest = '{entries(lake)[-1]['digest']}'")
    with lake.session(sensitive=PURPOSE) as session:
        session.sql(QUERY).fetchall()
    assert len(entries(lake)) == 7
    assert 5 in access.verify(lake.location)


def test_a_log_that_is_gone_shows(log):
    lake, table = log
    shutil.rmtree(table.uri)
    assert access.verify(lake.location) == list(range(6))


def test_ends_that_were_cut_show(log):
    lake, _ = log
    ends = lance.dataset(lake.location.table(access.ENDS))
    ends.delete("lines > 2")
    assert access.verify(lake.location) == [2, 3, 4, 5]


def test_a_kill_between_a_line_and_its_note_is_no_finding(log):
    lake, _ = log
    ends = lance.dataset(lake.location.table(access.ENDS))
    ends.delete("lines = 6")
    assert access.verify(lake.location) == []
    with lake.session(sensitive=PURPOSE) as session:
        session.sql(QUERY).fetchall()
    assert len(entries(lake)) == 8
    assert access.verify(lake.location) == []


def test_an_ingest_does_not_keep_a_reader_waiting(labelled):
    with writer_lock(labelled.location, "ingest"), labelled.session(sensitive=PURPOSE) as session:
        assert len(session.sql(QUERY).fetchall()) == 5
    assert [e["rows"] for e in entries(labelled)] == [None, 5]

"""A closed view, and a table with a closed column, lies as a whole in the closed folder, and the engine reads it there."""

from __future__ import annotations

import datetime as dt

import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store.tables import open_table


def tables(lake, folder=""):
    return {p.name for p in (lake.location.path / folder).glob("*.lance")}


def test_places(closed):
    assert tables(closed) == {"images.lance"}
    assert tables(closed, "sensitive/tables") == {"pg.lance", "captions.lance"}
    assert {"labels.lance", "access.lance"} <= tables(closed, "sensitive")


def test_open_columns_are_read_as_before(closed):
    assert closed.sql("SELECT count(*), min(text) FROM captions").fetchall() == [(40, "OPEN caption 1")]
    assert closed.sql("SELECT origin, count(*) FROM captions GROUP BY 1").fetchall() == [("human", 40)]
    assert "perceived_gender" not in closed.sql("FROM captions").columns
    with pytest.raises(SensitiveError):
        closed.sql("FROM pg").fetchall()


def test_a_purpose_reads_all(closed, why):
    assert closed.sql("SELECT count(perceived_gender) FROM captions", sensitive=why).fetchall() == [(39,)]
    assert closed.sql("SELECT DISTINCT shout FROM pg ORDER BY 1", sensitive=why).fetchall() == [
        ("MARKLABEL0",),
        ("MARKLABEL1",),
    ]


def test_an_audit_counts_it(closed):
    found = closed.sql("SELECT label, count FROM demographics(image_labels('perceived_gender'))").fetchall()
    assert sorted(found) == [("MARKlabel0", 20), ("MARKlabel1", 20)]


def test_it_is_said_when_a_table_moves(marked):
    with marked.session() as session:
        told = [session.sql(f"ALTER TABLE captions ADD COLUMN {c} AS (length(text))").notes for c in ("race", "gender")]
    assert [any("captions lies in sensitive/tables/" in note for note in notes) for notes in told] == [True, False]


def test_lancedb_shows_nothing_of_it(closed):
    assert closed.lancedb().list_tables().tables == ["images"]


def test_rows_are_added_changed_and_found_again(closed, build, why):
    closed.ingest({"captions": build.captions(caption_id=[7, 41], image_id=[7, 40], text=["OPEN whole", "OPEN last"])})
    assert closed.refresh("captions.perceived_gender", executor="inline").mode == "incremental"
    assert closed.sql("SELECT count(*) FROM captions").fetchall() == [(41,)]
    assert closed.sql("SELECT count(perceived_gender) FROM captions", sensitive=why).fetchall() == [(41,)]
    assert tables(closed) == {"images.lance"}


def test_a_column_of_labels_does_not_meet_the_closed_labels(closed, build, why):
    label = build.labels(label_id=[91], image_id=[1], attribute=["scene"], value=["OPEN park"], annotator=["x"])
    closed.ingest({"labels": label})
    closed.add_column("labels", "gender", "length(value)")
    closed.refresh(executor="inline")
    assert "labels.lance" in tables(closed, "sensitive/tables")
    assert closed.sql("SELECT value FROM labels").fetchall() == [("OPEN park",)]
    assert closed.sql("SELECT count(*) FROM labels", sensitive=why).fetchall() == [(41,)]


def test_a_view_may_be_called_access(marked, why):
    marked.create_materialized_view("access", "SELECT label_id, value FROM labels", "label_id", purpose=why)
    marked.refresh(executor="inline")
    assert marked.sql("SELECT count(*) FROM access", sensitive=why).fetchall() == [(40,)]
    assert all(marked.accesses(sensitive=why)["whole"].to_pylist())


def test_a_column_declared_before_there_are_rows(open_folder, build):
    lake = cb.connect(open_folder / "new.lake")
    lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    lake.add_column("captions", "gender", "upper(text)")
    lake.ingest({"captions": build.captions(caption_id=[1], image_id=[1], text=["a"])})
    lake.refresh(executor="inline")
    assert tables(lake) == {"images.lance"}
    assert lake.sql("SELECT gender FROM captions", sensitive="a test of it").fetchall() == [("A",)]


def test_clean_up_goes_on(closed, why):
    closed.gc(older_than=dt.timedelta(0), apply=True)
    assert [len(open_table(closed.location, name).versions()) for name in ("pg", "captions")] == [1, 1]
    assert closed.sql("SELECT count(*) FROM pg", sensitive=why).fetchall() == [(40,)]

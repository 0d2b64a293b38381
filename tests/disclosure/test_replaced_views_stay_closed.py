"""A closed view is opened by a statement with a purpose alone, and only with rows that a refresh has made since."""

from __future__ import annotations

import pytest

from counterbalance.engine.catalog import access
from counterbalance.engine.errors import SensitiveError

OPEN = "SELECT label_id, image_id, value FROM labels WHERE attribute = 'scene'"
FROM = "SELECT value FROM pg"


@pytest.fixture
def replaced(closed):
    """``pg`` with an open query in the place of the closed one, declared without a purpose; not refreshed."""
    closed.sql(f"CREATE OR REPLACE MATERIALIZED VIEW pg WITH (key = 'label_id') AS {OPEN}")
    return closed


def refused(lake, sql=FROM, **options):
    with pytest.raises(SensitiveError):
        lake.sql(sql, **options).fetchall()
    return True


def test_old_rows_are_not_shown(replaced):
    assert refused(replaced)
    assert refused(replaced, "SELECT count(*) FROM pg")
    with pytest.raises(SensitiveError):
        replaced.create_materialized_view("copy", "SELECT label_id, value FROM pg", "label_id")


def test_nor_after_a_refresh(replaced):
    replaced.refresh(executor="inline")
    assert refused(replaced)


@pytest.mark.parametrize("guess", ["'MARKlabel1'", "concat('MARKlabel', image_id % 2)"])
def test_a_guess_is_not_compared_with_old_rows(closed, why, guess):
    """A wrong one and a right one leave the same traces: one version more, and rows that are all new."""
    before = closed.sql("SELECT version FROM meta.tables WHERE name = 'pg'", sensitive=why).fetchall()[0][0]
    rows = f"SELECT image_id AS label_id, image_id, {guess} AS value FROM images"
    closed.sql(f"CREATE OR REPLACE MATERIALIZED VIEW pg WITH (key = 'label_id') AS {rows}")
    told = closed.sql("REFRESH pg", sensitive=why).to_arrow().to_pylist()[0]
    assert [told[n] for n in ("target", "mode", "written", "updated", "deleted")] == ["pg", "incremental", 40, 0, 0]
    last = "SELECT versions_out FROM meta.runs WHERE target = 'pg' ORDER BY started DESC LIMIT 1"
    assert closed.sql(last).fetchall() == [(None,)]
    [(made,)] = closed.sql(last, sensitive=why).fetchall()
    assert [(v["table"], v["version"]) for v in made] == [("pg", before + 1)]


def test_it_is_said(closed):
    with closed.session() as session:
        told = session.sql(f"CREATE OR REPLACE MATERIALIZED VIEW pg WITH (key = 'label_id') AS {OPEN}")
        assert any("pg stays closed" in note for note in told.notes)


def test_without_a_purpose_it_cannot_be_said_to_be_open(closed):
    closed.sql(f"CREATE OR REPLACE MATERIALIZED VIEW pg WITH (key = 'label_id', sensitive = false) AS {OPEN}")
    closed.refresh(executor="inline")
    assert refused(closed)


def test_a_purpose_opens_it_from_the_next_refresh_on(closed, why, build):
    scene = build.labels(label_id=[91], image_id=[1], attribute=["scene"], value=["OPEN park"], annotator=["x"])
    closed.ingest({"labels": scene})
    closed.tag("before")
    closed.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose=why, sensitive=False)
    assert refused(closed)
    closed.tag("between")
    closed.refresh(executor="inline")
    assert closed.sql(FROM).fetchall() == [("OPEN park",)]
    assert "shout" not in closed.sql("FROM pg").columns
    assert refused(closed, at="before")
    assert refused(closed, at="between")
    closed.ingest({"images": build.images(image_id=[99], key=["99"])})
    closed.tag("after")
    assert closed.sql(FROM, at="after").fetchall() == [("OPEN park",)]


def test_the_same_rows_are_made_anew(marked, why):
    text = "SELECT caption_id, text FROM captions"
    marked.create_materialized_view("v", text, "caption_id", sensitive=True)
    marked.refresh(executor="inline")
    marked.create_materialized_view("v", text, "caption_id", replace=True, purpose=why, sensitive=False)
    assert refused(marked, "FROM v")
    assert marked.refresh(executor="inline").mode == "rebuild"
    assert len(marked.sql("FROM v").fetchall()) == 40
    assert marked.refresh(executor="inline").mode == "no_op"


def test_a_replacement_before_that_refresh_does_not_open_it(closed, why):
    closed.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose=why, sensitive=False)
    closed.create_materialized_view("pg", OPEN + " AND image_id > 0", "label_id", replace=True)
    assert refused(closed)
    closed.refresh(executor="inline")
    assert closed.sql(FROM).fetchall() == []


def test_a_refresh_that_fails_does_not_open_it(closed, why, monkeypatch):
    closed.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose=why, sensitive=False)
    with monkeypatch.context() as patch:
        patch.setattr("counterbalance.engine.refresh.views._Difference.run", _fail)
        closed.refresh(executor="inline")
    assert refused(closed)


def _fail(*_):
    raise OSError("the disk is gone")


def test_opening_is_logged(closed, why):
    closed.create_materialized_view("pg", OPEN, "label_id", replace=True, purpose="to publish scenes", sensitive=False)
    lines = [e for e in access.read(closed.location).to_pylist() if e["purpose"] == "to publish scenes"]
    assert any(e["columns"] == ["pg"] and e["sql"].startswith("open pg") for e in lines)


def test_an_open_query_opens_it_without_saying_so(closed, why):
    text = "SELECT caption_id AS label_id, image_id, text AS value FROM captions"
    closed.create_materialized_view("pg", text, "label_id", replace=True, purpose=why)
    assert refused(closed, "FROM pg")
    closed.refresh(executor="inline")
    assert len(closed.sql("FROM pg").fetchall()) == 40


def test_a_query_of_labels_does_not(closed, why):
    """With a purpose its rows are all labels, also closed ones."""
    text = "SELECT label_id, image_id, value FROM labels"
    closed.create_materialized_view("pg", text, "label_id", replace=True, purpose=why)
    closed.refresh(executor="inline")
    assert refused(closed)


def test_what_is_said_to_be_open_has_open_labels_alone(closed, why):
    text = "SELECT label_id, image_id, value FROM labels"
    closed.create_materialized_view("pg", text, "label_id", replace=True, purpose=why, sensitive=False)
    closed.refresh(executor="inline")
    assert closed.sql("FROM pg").fetchall() == []
    with pytest.raises(SensitiveError):
        closed.create_materialized_view(
            "v", "SELECT caption_id, perceived_gender FROM captions", "caption_id", purpose=why, sensitive=False
        )

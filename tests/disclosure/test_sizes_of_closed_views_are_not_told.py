"""How many rows and bytes closed views and columns have is told to a purpose only: the size of ``label = 'unclear'`` is a cell."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import pytest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.refresh import context
from counterbalance.engine.store import tables

COUNTS = ("rows_read", "written", "updated", "unchanged", "rejected")
HIDDEN = ("pg", "pg.shout", "pg_value", "captions.perceived_gender", "captions_gender")
OPEN = "open_ids"
GUESS = "SELECT label_id, image_id, 'MARKlabel1' AS value FROM (SELECT image_id AS label_id, image_id FROM images) WHERE image_id < 8"


@pytest.fixture(scope="module")
def _both(_closed, tmp_path_factory):
    both = cb.connect(shutil.copytree(_closed.location.path, tmp_path_factory.mktemp("both") / "test.lake"))
    both.create_materialized_view(OPEN, "SELECT image_id FROM images", "image_id")
    both.refresh(OPEN, executor="inline")
    return both


@pytest.fixture
def both(_both, open_folder):
    """The closed lake with an open view beside."""
    return cb.connect(shutil.copytree(_both.location.path, open_folder / "test.lake"))


def answered(capsys, *command):
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_of_tables(both, why):
    text = "SELECT name, rows, bytes FROM meta.tables"
    told = {name: rest for name, *rest in both.sql(text).fetchall()}
    assert (told["pg"], told["captions"]) == ([None, None], [40, None])
    assert told[OPEN][0] == 40
    assert told[OPEN][1] > 0
    assert told["labels"] == [0, 0]
    known = {name: rest for name, *rest in both.sql(text, sensitive=why).fetchall()}
    assert known["pg"][0] == 40
    assert min(known["pg"][1], known["captions"][1]) > 0


def test_of_tables_in_the_past(both):
    both.tag("before")
    both.drop_materialized_view("pg", cascade=True)
    assert both.sql("SELECT rows FROM meta.tables WHERE name = 'pg'", at="before").fetchall() == [(None,)]


@pytest.mark.parametrize("target", HIDDEN)
def test_of_runs(both, why, target):
    text = f"SELECT {', '.join(COUNTS)} FROM meta.runs WHERE kind = 'refresh' AND target = $target"
    assert set(both.sql(text, target=target).fetchall()) == {(None,) * 5}
    assert (None,) * 5 not in both.sql(text, target=target, sensitive=why).fetchall()
    ended = both.sql("SELECT DISTINCT state, seconds > 0 FROM meta.runs WHERE target = $target", target=target)
    assert ended.fetchall() == [("finished", True)]


def test_of_open_runs_they_are(both):
    text = "SELECT rows_read, written FROM meta.runs WHERE kind = 'refresh' AND target = $target"
    assert both.sql(text, target=OPEN).fetchall() == [(40, 40)]


def test_of_runs_once_it_is_open(both, why):
    both.create_materialized_view("pg", "SELECT label_id, image_id, value FROM labels", "label_id", replace=True, purpose=why, sensitive=False)  # fmt: skip
    assert stages(both.sql("REFRESH pg"), "rows", "written", "deleted")[0] == ("pg", None, None, None)
    told = both.sql("SELECT DISTINCT written FROM meta.runs WHERE target = 'pg' AND kind = 'refresh'").fetchall()
    assert told == [(None,)]
    assert both.sql("SELECT rows FROM meta.tables WHERE name = 'pg'").fetchall() == [(0,)]


def stages(result, *names):
    return [tuple(row[n] for n in ("target", *names)) for row in result.to_arrow().to_pylist()]


def guess(lake, sql=GUESS):
    """Declare a guess in the place of the closed view, without a purpose."""
    lake.sql(f"CREATE OR REPLACE MATERIALIZED VIEW pg WITH (key = 'label_id') AS {sql}")


def test_a_guess_is_not_marked(closed):
    """A guess in the place of a closed view: what its refresh would add, change and remove tells how good it is."""
    guess(closed)
    names = ("rows", "written", "updated", "deleted", "errors")
    assert stages(closed.sql("REFRESH pg"), *names)[0] == ("pg", None, None, None, None, None)


def test_a_refresh_in_python(both, why):
    guess(both)
    planned = both.refresh("pg", dry_run=True).to_dict()["stages"]
    stage = both.refresh("pg", executor="inline").stages[0]
    assert {s["rows"] for s in planned} == {None}
    assert (stage.rows, stage.deleted) == (None, None)
    assert stage.seconds > 0
    assert both.refresh("pg", full=True, sensitive=why).stages[0].rows == 7


def test_progress_counts_nothing(closed):
    seen = []
    closed.refresh("pg", "captions.perceived_gender", full=True, executor="inline", progress=seen.append)
    assert {(p.done, p.total) for p in seen if p.stage == "pg"} == {(0, None)}
    assert {p.total for p in seen if p.stage == "captions.perceived_gender"} == {40}
    assert not any(p.errors for p in seen)


def test_nor_do_calls_of_progress(marked, why, monkeypatch):
    """With a row a batch there was a call a row, and none of a view without rows."""
    monkeypatch.setattr(context, "_SELDOM", 3600.0)  # seconds, so that a slow machine makes no second call
    for name, images in (("one", "image_id = 2"), ("many", "image_id < 9"), ("none", "image_id < 0")):
        marked.create_materialized_view(
            name, f"SELECT label_id, value FROM labels WHERE {images}", "label_id", purpose=why
        )
        marked.add_column(name, "shout", "upper(value)", purpose=why)
    seen = []
    marked.refresh(executor="inline", batch_size=1, progress=seen.append)
    assert set(Counter(p.stage for p in seen).values()) == {1}
    assert len(seen) == 6


def test_nor_do_functions_that_return_too_few(marked, why):
    """One that forgets the last row told by how many values it returned how many rows there are."""
    marked.create_materialized_view("pg", "SELECT label_id, value FROM labels", "label_id", purpose=why)
    marked.add_column("pg", "few", "forgets_one(value)", purpose=why)
    stages = {s.target: s for s in marked.refresh(executor="inline").stages}
    assert stages["pg.few"].message.endswith("returned … values for … rows")


def test_texts_count_nothing(closed, why, build):
    text = "SELECT CASE WHEN label_id < 100 THEN label_id END AS label_id, image_id, value FROM labels"
    closed.create_materialized_view("nulls", text, "label_id", purpose=why)
    ids = list(range(101, 132))
    more = build.labels(label_id=ids, image_id=[1] * 31, attribute=["perceived_gender"] * 31, value=["x"] * 31, annotator=["y"] * 31)  # fmt: skip
    closed.ingest({"labels": more})
    [stage] = closed.refresh("nulls", executor="inline").stages
    assert (stage.mode, stage.message) == ("failed", "the key of nulls is NULL in … rows")
    written = closed.sql("SELECT details FROM meta.runs WHERE target = 'nulls' AND kind = 'refresh'").fetchall()
    assert written == [("the key of nulls is NULL in … rows",)]
    reasons = [r["reason"] for r in closed.status().to_pylist() if r["target"] == "nulls"]
    assert reasons == ["last refresh failed: the key of nulls is NULL in … rows"]
    known = closed.sql("SELECT details FROM meta.runs WHERE target = 'nulls' AND mode = 'failed'", sensitive=why)
    assert known.fetchall() == [("the key of nulls is NULL in 31 rows",)]


@pytest.mark.parametrize("target", HIDDEN)
def test_of_the_status(both, why, target):
    told = {r["target"]: r for r in both.status().to_pylist()}
    row = told[target]
    assert [row[n] for n in ("stale_rows", "errors", "coverage", "bytes")] == [None] * 4
    assert row["state"] == "fresh"
    assert row["seconds"] > 0
    assert told[OPEN]["bytes"] > 0
    known = {r["target"]: r for r in both.status(sensitive=why).to_pylist()}
    assert known[target]["bytes"] is not None
    assert known["captions.perceived_gender"]["errors"] == 1


def test_commands(both, capsys, why):
    uri = str(both.location.path)
    purpose = ("--sensitive", why)
    rows = {r["name"]: r["rows"] for r in answered(capsys, "tables", uri)}
    assert (rows["pg"], rows[OPEN]) == (None, 40)
    assert {r["name"]: r["rows"] for r in answered(capsys, "tables", uri, *purpose)}["pg"] == 40
    assert {r["written"] for r in answered(capsys, "history", uri, "--target", "pg")} == {None}
    assert 40 in {r["written"] for r in answered(capsys, "history", uri, "--target", "pg", *purpose)}
    assert {r["target"]: r["bytes"] for r in answered(capsys, "status", uri)}["pg"] is None
    assert {r["target"]: r["bytes"] for r in answered(capsys, "status", uri, *purpose)}["pg"] > 0
    assert {r["indexed"] for r in answered(capsys, "index", uri)} == {None}


def test_refresh_commands(both, capsys, why):
    uri = str(both.location.path)
    guess(both)
    stage = answered(capsys, "refresh", uri, "pg", "--progress", "never")["stages"][0]
    assert [stage[n] for n in ("rows", "written", "updated", "deleted", "errors")] == [None] * 5
    assert (stage["target"], stage["mode"]) == ("pg", "incremental")
    guess(both, GUESS + " AND image_id < 6")
    assert main(["refresh", uri, "pg", "--progress", "never"]) == 0
    written = capsys.readouterr().out
    assert "pg" in written
    assert "removed" not in written
    guess(both)
    assert main(["refresh", uri, "pg", "--progress", "never", "--sensitive", why]) == 0
    assert "0 removed" in capsys.readouterr().out


def test_what_a_deletion_took_of_them(both):
    done = both.delete(ids=[3], apply=True)
    assert "pg" not in done.rows
    assert done.rows[OPEN] == 1
    assert "pg" not in both.sql("SELECT details FROM meta.runs WHERE kind = 'delete'").fetchall()[0][0]


def test_a_purpose_is_logged(both, why):
    both.status(sensitive="a look at sizes")
    both.refresh(sensitive="a look at a refresh")
    told = {(r["purpose"], r["sql"]) for r in both.accesses(sensitive=why).to_pylist()}
    assert {("a look at sizes", "status"), ("a look at a refresh", "REFRESH")} <= told


def test_what_can_be_collected(both, why, build, capsys):
    """Of closed tables nothing, before or after, for an old version of one would answer a guess; and they are cleaned."""
    uri = str(both.location.path)
    both.ingest({"labels": build.labels(label_id=[900], image_id=[1], attribute=["perceived_gender"], value=["x"], annotator=["z"])})  # fmt: skip
    both.refresh("pg", full=True, executor="inline", sensitive=why)
    for more in ((), ("--apply",)):
        found = {f["name"]: f for f in answered(capsys, "gc", uri, "--older-than", "0", *more)["findings"]}
        assert not [name for name in found if name == "pg" or name.startswith("sensitive/")]
        assert not [name for name in found if name.startswith("meta/")]
    assert len(tables.open_table(both.location, "pg").versions()) == 1
    assert main(["gc", uri, "--older-than", "0"]) == 0


def test_the_datasheet_of_an_export(both, why, tmp_path):
    """Also of an audit that reads a closed view: how many closed labels it was made of."""
    text = "SELECT count(*) AS n FROM demographics(groups := pg_groups)"
    both.create_materialized_view("pg_groups", "SELECT image_id, value AS label FROM labels WHERE attribute = 'perceived_gender'", "image_id", purpose=why)  # fmt: skip
    both.refresh("pg_groups", executor="inline", sensitive=why)
    both.export(text, tmp_path / "out", to="parquet")
    told = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "| `sensitive/labels` | " in told
    assert [line.split("|")[3].strip() for line in told.splitlines() if line.startswith("| `sensitive/")] == [""]

"""``status`` tells of everything that is declared whether it is fresh, and why not; ``schedule`` when it is due."""

from __future__ import annotations

import datetime as dt

import pytest

from counterbalance.engine.errors import NotFoundError
from counterbalance.engine.functions import Partial, udf
from counterbalance.engine.refresh.status import schedule, status
from counterbalance.engine.store import tables


@pytest.fixture
def declared(lake):
    lake.add_column("captions", "shout", "upper(text)", schedule="@daily")
    lake.add_column("captions", "loud", "shout || '!'")
    lake.create_materialized_view(
        "per_image", "SELECT image_id, count(loud) AS n FROM captions GROUP BY image_id", "image_id"
    )
    lake.create_index("captions", "text", "btree", name="texts")
    return lake


def rows(lake, **wanted):
    found = {r["target"]: r for r in status(lake.location).to_pylist()}
    return {t: {k: r[k] for k in wanted["keys"]} for t, r in found.items()} if wanted else found


def state_of(lake):
    return {t: (r["state"], r["reason"]) for t, r in rows(lake).items()}


def test_before_the_first_refresh(declared):
    assert state_of(declared) == {
        "captions.shout": ("stale", "never computed"),
        "captions.loud": ("stale", "never computed"),
        "per_image": ("stale", "never computed"),
        "texts": ("stale", "not built"),
    }
    assert all(r["refreshed"] is None and r["seconds"] is None for r in rows(declared).values())
    assert rows(declared)["texts"]["coverage"] == 0.0


def test_each_comes_after_what_it_reads(declared):
    order = list(rows(declared))
    assert order.index("captions.shout") < order.index("captions.loud") < order.index("per_image")


def test_after_a_refresh(declared):
    before = dt.datetime.now(dt.UTC)
    declared.refresh()
    found = rows(declared)
    assert {r["state"] for r in found.values()} == {"fresh"}
    assert {r["reason"] for r in found.values()} == {""}
    assert all(before < r["refreshed"] < dt.datetime.now(dt.UTC) for r in found.values())
    assert all(r["seconds"] >= 0 for r in found.values())
    assert found["texts"]["coverage"] == 1.0
    assert all(r["stale_rows"] is None for r in found.values())
    assert found["captions.loud"]["bytes"] > 0
    assert found["per_image"]["bytes"] > 0


def test_looking_writes_nothing(declared):
    declared.refresh()
    tables_before = {t: tables.latest_version(declared.location, t) for t in ("captions", "per_image", "meta/runs")}
    status(declared.location)
    assert {t: tables.latest_version(declared.location, t) for t in tables_before} == tables_before


def test_new_rows_make_stale_what_reads_them(declared, build):
    declared.refresh()
    declared.ingest({"captions": build.captions(caption_id=[90, 91], image_id=[1, 2], text=["a", "b"])})
    found = rows(declared)
    assert found["captions.shout"]["stale_rows"] == 2
    assert found["captions.shout"]["reason"] == "2 rows are new or changed"
    assert {t: r["state"] for t, r in found.items()} == dict.fromkeys(found, "stale")
    assert found["texts"]["coverage"] == pytest.approx(8 / 10)


def test_a_no_op_is_not_the_last_refresh(declared):
    declared.refresh()
    before = rows(declared)["captions.shout"]["refreshed"]
    declared.refresh()
    assert rows(declared)["captions.shout"]["refreshed"] == before


def test_failed_rows_are_counted(lake):
    import pyarrow as pa

    @udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1", name="status_picky")
    def status_picky(text):
        bad = {i: "no" for i, t in enumerate(text.to_pylist()) if t and "man" in t}
        return Partial(pa.nulls(len(text), pa.int32()), bad)

    lake.add_column("captions", "picked", "status_picky(text)")
    lake.refresh(executor="inline")
    assert rows(lake)["captions.picked"]["errors"] == 3  # "a man …", "a woman …", "a man and a woman …"


def test_a_refresh_that_failed_is_told(lake):
    import pyarrow as pa

    @udf(returns=pa.int32(), parameters={"text": pa.string()}, version="1", name="status_broken", on_error="raise")
    def status_broken(text):
        raise OSError("no weights")

    lake.add_column("captions", "x", "status_broken(text)")
    assert lake.refresh(executor="inline").mode == "failed"
    state, reason = state_of(lake)["captions.x"]
    assert state == "failed"
    assert reason.startswith("last refresh failed: ")
    assert "no weights" in reason


def test_a_missing_function_is_shown_not_raised(lake, monkeypatch):
    import pyarrow as pa

    from counterbalance.engine import functions

    @udf(returns=pa.string(), parameters={"text": pa.string()}, version="1", name="status_absent")
    def status_absent(text):
        return text

    lake.add_column("captions", "x", "status_absent(text)")
    lake.add_column("captions", "y", "x || '!'")
    lake.add_column("captions", "z", "upper(text)")
    lake.refresh(executor="inline")
    monkeypatch.delitem(functions._registry, "status_absent")
    found = state_of(lake)
    assert found["captions.x"][0] == "unknown"
    assert found["captions.x"][1].startswith("captions.x calls status_absent(), which is not declared here")
    assert found["captions.y"][0] == "unknown"
    assert found["captions.z"] == ("fresh", "")


def test_nothing_declared(lake):
    assert status(lake.location).num_rows == 0
    assert schedule(lake.location).num_rows == 0


def test_no_lake(empty_lake):
    with pytest.raises(NotFoundError, match="no lake"):
        status(empty_lake.location)
    with pytest.raises(NotFoundError, match="no lake"):
        schedule(empty_lake.location)


def test_schedule(declared):
    noon = dt.datetime(2026, 5, 5, 12, 0, tzinfo=dt.UTC)
    midnight = noon.replace(hour=0)
    assert schedule(declared.location, noon).to_pylist() == [
        {"target": "captions.shout", "schedule": "@daily", "tried": None, "due": True}
        | {"due_since": midnight, "next_due": midnight + dt.timedelta(days=1)}
    ]
    declared.refresh()
    now = dt.datetime.now(dt.UTC)
    (row,) = schedule(declared.location, now).to_pylist()
    assert not row["due"]
    assert row["due_since"] is None
    assert now < row["next_due"] <= now + dt.timedelta(days=1)
    assert row["next_due"].time() == dt.time(0)
    tomorrow = row["next_due"] + dt.timedelta(hours=3)
    (row,) = schedule(declared.location, tomorrow).to_pylist()
    assert row["due"]
    midnight = tomorrow.replace(hour=0, minute=0, second=0, microsecond=0)
    assert (row["due_since"], row["next_due"]) == (midnight, midnight + dt.timedelta(days=1))
    (row,) = schedule(declared.location, tomorrow + dt.timedelta(days=9)).to_pylist()
    assert (row["due_since"], row["next_due"]) == (midnight, midnight + dt.timedelta(days=10))
    assert rows(declared)["captions.shout"]["next_due"] > now
    assert rows(declared)["captions.shout"]["due_since"] is None

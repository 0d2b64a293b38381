"""A deletion that was killed is seen as a whole or not at all, and the next writer finishes it."""

from __future__ import annotations

import os
import shutil

import pytest

import counterbalance as cb
from counterbalance.engine.catalog import meta
from counterbalance.engine.store import tables

IDS, GONE = 60, list(range(10, 25))
KILLS = 10 if "COUNTERBALANCE_KILLS" in os.environ else 4


@pytest.fixture
def filled(tmp_path, build):
    lake = cb.connect(tmp_path / "before.lake")
    ids = list(range(IDS))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"key{i}" for i in ids], split=["a", "b"] * 30),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"text {i}" for i in ids]),
            "detections": build.detections(detection_id=ids, image_id=ids, category=["person"] * IDS),
            "labels": build.labels(
                label_id=[*ids, *(i + IDS for i in ids)],
                image_id=ids * 2,
                attribute=["scene"] * IDS + ["perceived_gender"] * IDS,
                value=["in", "out"] * IDS,
            ),
        }
    )
    lake.create_index("captions", "text", "btree", name="words")
    lake.create_materialized_view("texts", "SELECT caption_id, text FROM captions", "caption_id")
    lake.create_materialized_view("counts", "SELECT split, count(*) AS n FROM images GROUP BY 1", "split")
    lake.refresh()
    return lake


def seen(lake):
    """Which images each table tells of, for a reader."""
    with lake.session(sensitive="a test of deletion") as session:
        ids = dict.fromkeys(("images", "captions", "detections", "labels"), "image_id") | {"texts": "caption_id"}
        return {t: {r[0] for r in session.sql(f"SELECT DISTINCT {c} FROM {t}").fetchall()} for t, c in ids.items()}


def test_killed_at_some_moments(filled, spawn, tmp_path, record_property):
    def killed(number):
        lake = tmp_path / f"killed{number}.lake"
        shutil.copytree(filled.location.path, lake)
        program = spawn("delete_and_die", lake, number, ",".join(map(str, GONE)))
        out, err = program.communicate(timeout=500)
        return cb.connect(lake), program.returncode, out, err

    whole, code, out, err = killed(0)
    assert code == 0, err
    before, after = set(range(IDS)), set(range(IDS)) - set(GONE)
    assert set(map(frozenset, seen(whole).values())) == {frozenset(after)}
    numbers = [1 + (2 * n + 1) * int(out) // (2 * KILLS) for n in range(KILLS)]
    states = set()
    record_property("kills", len(numbers))
    for number in numbers:
        lake, code, _, err = killed(number)
        assert code == -9, err
        state = set(map(frozenset, seen(lake).values()))
        assert state in ({frozenset(before)}, {frozenset(after)}), number
        begun = len(meta.read(lake.location, "removed")) > 0
        lake.ingest({"images": seen_again(filled)})
        finished = set(map(frozenset, seen(lake).values()))
        assert finished == {frozenset(after if begun else before)}, number
        states |= {("before" if frozenset(before) in state else "after", begun)}
        assert lake.sql("SELECT value, count(*) FROM labels GROUP BY 1 ORDER BY 1").fetchall() == (
            [("in", 22), ("out", 23)] if begun else [("in", 30), ("out", 30)]
        )
        done = lake.delete(ids=GONE, apply=True, purge=True)
        assert done.complete, number
        assert set(map(frozenset, seen(lake).values())) == {frozenset(after)}
        assert lake.sql("SELECT sum(n) FROM counts").fetchall() == [(len(after),)]
    assert {("before", True), ("after", True)} <= states


def seen_again(lake):
    """The images as they were ingested."""
    return lake.sql("SELECT image_id, key, split FROM images").to_arrow()


def test_one_that_fails_is_finished_by_the_next_writer(filled, monkeypatch):
    def full(location, name, predicate):
        if name == "captions":
            raise OSError("No space left on device")
        return delete(location, name, predicate)

    delete = tables.delete
    with monkeypatch.context() as patch:
        patch.setattr(tables, "delete", full)
        with pytest.raises(OSError, match="No space left"):
            filled.delete(ids=GONE, apply=True)
    assert set(map(frozenset, seen(filled).values())) == {frozenset(range(IDS))}
    filled.gc(apply=True)
    assert set(map(frozenset, seen(filled).values())) == {frozenset(set(range(IDS)) - set(GONE))}
    (row,) = filled.sql("SELECT state, details FROM meta.runs WHERE kind = 'delete'").fetchall()
    assert row[0] == "finished"
    assert "15 captions" in row[1]

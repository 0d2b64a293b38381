"""Of a large table the values of a group of fragments are published before the next is computed; old values go all at once."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.refresh import compute

FRAGMENTS, ROWS = 10, 40
COUNT = FRAGMENTS * ROWS


@pytest.fixture
def texts(empty_lake, build, monkeypatch):
    """400 captions in ten fragments, published by three."""
    monkeypatch.setattr(compute, "_GROUP_ROWS", 100)
    monkeypatch.setattr(compute, "_TASK_ROWS", 25)
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    for number in range(FRAGMENTS):
        add(empty_lake, build, number * ROWS, ROWS)
    return empty_lake


def add(lake, build, first, count, text="text"):
    ids = list(range(first, first + count))
    lake.ingest({"captions": build.captions(caption_id=ids, image_id=[1] * count, text=[f"{text} {i}" for i in ids])})


def refresh(lake, **options):
    return lake.refresh("captions.c", executor="inline", **{"batch_size": 10, **options}).stages[0]


def values(lake):
    return [v for (v,) in lake.sql("SELECT c FROM captions ORDER BY caption_id").fetchall()]


def number(text):
    return int(text.split()[1])


def test_all_are_computed_once(texts, row_function):
    function = row_function("g_once", number, returns=pa.int64())
    texts.add_column("captions", "c", "g_once(text)")
    stage = refresh(texts)
    assert (stage.mode, stage.rows, stage.updated, stage.errors) == ("rebuild", COUNT, COUNT, 0)
    assert values(texts) == list(range(COUNT))
    assert len(function.taken()) == COUNT
    assert refresh(texts).mode == "no_op"


def test_a_group_is_seen_when_it_is_done(texts, row_function):
    seen = []

    def looks(text):
        if number(text) % 120 == 0:
            with texts.session() as session:
                (count,) = session.sql("SELECT count(c) FROM captions").fetchall()[0]
            seen.append((number(text), count))
        return number(text)

    row_function("g_seen", looks, returns=pa.int64())
    texts.add_column("captions", "c", "g_seen(text)")
    refresh(texts)
    assert seen == [(0, 0), (120, 120), (240, 240), (360, 360)]


@pytest.mark.thorough
def test_progress_goes_on_over_groups(texts, row_function):
    told = []
    row_function("g_told", number, returns=pa.int64())
    texts.add_column("captions", "c", "g_told(text)")
    texts.refresh("captions.c", executor="inline", batch_size=10, progress=told.append)
    done = [p.done for p in told]
    assert done == sorted(done)
    assert (done[-1], {p.total for p in told if p.total}) == (COUNT, {COUNT})


def test_what_is_published_stays_when_the_function_breaks(texts, row_function):
    def breaks(text):
        if number(text) >= 250:
            raise RuntimeError("no such device")
        return number(text)

    row_function("g_breaks", breaks, returns=pa.int64())
    texts.add_column("captions", "c", "g_breaks(text)")
    stage = refresh(texts)
    assert (stage.mode, stage.updated, stage.errors) in {("failed", 240, 0), ("rebuild", COUNT, 150)}
    assert values(texts)[:240] == list(range(240))


@pytest.mark.thorough
def test_old_values_go_all_at_once(texts, row_function):
    function = row_function("g_old", number, returns=pa.int64())
    texts.add_column("captions", "c", "g_old(text)")
    refresh(texts)
    seen = []

    def looks(text):
        if number(text) == COUNT - 1:
            with texts.session() as session:
                seen.extend(v for (v,) in session.sql("SELECT c FROM captions ORDER BY caption_id").fetchall())
        return -number(text)

    function.of = looks
    function.declare(version="2")
    assert refresh(texts).mode == "rebuild"
    assert seen == list(range(COUNT))
    assert values(texts) == [-i for i in range(COUNT)]


def test_rows_that_change_meanwhile_are_computed_again(texts, build, row_function):
    """In a group that is published, and in one that is to come."""

    def writes(text):
        if text == "text 200":
            add(texts, build, 10, 5, "more")
            add(texts, build, 390, 20, "more")
        return number(text) + (1000 if text.startswith("more") else 0)

    row_function("g_writes", writes, returns=pa.int64())
    texts.add_column("captions", "c", "g_writes(text)")
    refresh(texts)
    changed = {*range(10, 15), *range(390, 410)}
    assert values(texts) == [i + 1000 * (i in changed) for i in range(410)]
    assert refresh(texts).mode == "no_op"


@pytest.mark.thorough
def test_a_column_that_is_dropped_meanwhile(texts, row_function):
    def drops(text):
        if text == "text 130":
            texts.drop_column("captions", "c")
        return number(text)

    row_function("g_drops", drops, returns=pa.int64())
    texts.add_column("captions", "c", "g_drops(text)")
    stage = refresh(texts)
    assert (stage.mode, stage.code) == ("failed", "E3428")
    assert "not published" in stage.hint


def test_only_fragments_with_stale_rows_count(texts, build, row_function):
    function = row_function("g_stale", number, returns=pa.int64())
    texts.add_column("captions", "c", "g_stale(text)")
    refresh(texts)
    for first in (0, 200, 399):
        add(texts, build, first, 1, "more")
    stage = refresh(texts)
    assert (stage.mode, stage.updated) == ("incremental", 3)
    assert len(function.taken()) == COUNT + 3


def test_long_vectors_are_fewer_rows():
    assert compute._bytes(pa.list_(pa.float32(), 512)) == 2048
    assert compute._bytes(pa.bool_()) == 1
    assert compute._bytes(pa.string()) == 16

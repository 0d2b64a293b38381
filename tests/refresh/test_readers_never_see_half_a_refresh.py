"""Readers see one version before, during and after a refresh; writers go on meanwhile; a kill leaves nothing half visible."""

from __future__ import annotations

import signal
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from copies import filled
from repeats import again

from counterbalance.engine.catalog import meta, snapshot
from counterbalance.engine.store import tables
from counterbalance.engine.write.journal import writing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import SimpleNamespace

    from counterbalance.engine.lake import Lake


@pytest.fixture
def texts(kept: Path, disk_lake: Lake, build: SimpleNamespace) -> Lake:
    """50 captions on disk."""

    def fill(lake: Lake) -> None:
        lake.ingest({"images": build.images(image_id=[1], key=["1"])})
        _add(lake, build, 0, 50)

    return filled(kept, disk_lake, fill)


def _add(lake: Lake, build: SimpleNamespace, first: int, count: int) -> None:
    ids = list(range(first, first + count))
    lake.ingest({"captions": build.captions(caption_id=ids, image_id=[1] * count, text=[f"text {i}" for i in ids])})


def test_writers_go_on(texts: Lake, build: SimpleNamespace, row_function: Callable[..., Any]) -> None:
    """Rows that are added, changed and deleted while a function runs are right in the end, and none is lost."""
    started = threading.Event()

    def slow(text: str) -> int:
        started.set()
        time.sleep(0.01)
        return len(text)

    row_function("r_slow", slow)
    texts.add_column("captions", "size", "r_slow(text)")
    texts.add_column("captions", "more", "size + 1")
    done: list[Any] = []
    refresh = threading.Thread(target=lambda: done.append(texts.refresh(executor="inline", batch_size=5)))
    refresh.start()
    assert started.wait(60)
    _add(texts, build, 100, 20)
    captions = build.captions(caption_id=[3, 4], image_id=[1, 1], text=["another text", "yet another"])
    texts.ingest({"captions": captions})
    dataset = tables.open_table(texts.location, "captions")
    assert dataset is not None
    dataset.delete("caption_id IN (7, 8)")
    with texts.session() as during:
        assert during.sql("SELECT count(*), count(size) FROM captions").fetchall() == [(68, 0)]
        refresh.join(120)
        assert during.sql("SELECT count(*), count(size) FROM captions").fetchall() == [(68, 0)]
    assert [s.mode for s in done[0].stages] == ["rebuild", "rebuild"]
    rows = texts.sql("SELECT caption_id, text, size, more FROM captions").fetchall()
    assert {r[0] for r in rows} == ({*range(50), *range(100, 120)} - {7, 8})
    assert all((size, more) == (len(text), len(text) + 1) for _, text, size, more in rows)
    assert {s.mode for s in texts.refresh(executor="inline").stages} == {"no_op"}


def test_rows_that_wait_for_their_input(texts: Lake, build: SimpleNamespace, row_function: Callable[..., Any]) -> None:
    """A row that was added after its generated input was refreshed is not computed from the missing value."""

    def add(size: int | None) -> int:
        if not added:
            added.append(1)
            _add(texts, build, 100, 1)
        return -1 if size is None else size

    added: list[int] = []
    row_function("r_first", len)
    second = row_function("r_second", add, parameters={"size": pa.int64()})
    texts.add_column("captions", "size", "r_first(text)")
    texts.add_column("captions", "filled", "r_second(size)")
    texts.refresh(executor="inline")
    assert None not in second.taken()
    assert texts.sql("SELECT size, filled FROM captions WHERE caption_id = 100").fetchall() == [(None, None)]
    texts.refresh(executor="inline")
    assert texts.sql("SELECT size, filled FROM captions WHERE caption_id = 100").fetchall() == [(8, 8)]
    assert {s.mode for s in texts.refresh(executor="inline").stages} == {"no_op"}


def test_nothing_is_seen_while_it_is_published(texts: Lake, row_function: Callable[..., Any], monkeypatch: Any) -> None:
    """Every commit of a refresh is followed by a look: readers see all of it or nothing."""
    from counterbalance.engine.store import columns

    row_function("r_seen", len)
    texts.add_column("captions", "size", "r_seen(text)")
    texts.create_materialized_view("v", "SELECT caption_id, size FROM captions", "caption_id")
    texts.refresh(executor="inline")
    seen: list[Any] = []
    fill, delete, append = columns.fill, tables.delete, tables.append

    def looking(call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            result = call(*arguments, **named)
            if len(arguments) > 1 and arguments[1] in {"captions", "v"}:
                seen.append(
                    texts.sql("SELECT (SELECT count(size) FROM captions), (SELECT count(*) FROM v)").fetchall()[0]
                )
            return result

        return watched

    monkeypatch.setattr(columns, "fill", looking(fill))
    monkeypatch.setattr(tables, "delete", looking(delete))
    monkeypatch.setattr(tables, "append", looking(append))
    dataset = tables.open_table(texts.location, "captions")
    assert dataset is not None
    dataset.delete("caption_id < 10")
    dataset.update({"text": "'changed'"}, where="caption_id >= 40")
    texts.refresh(executor="inline", full=True)
    assert len(seen) >= 2
    assert set(seen) <= {(40, 50), (40, 40)}


class _Kill(BaseException):
    pass


@pytest.mark.parametrize(
    ("moment", "then"),
    [
        *(("fill", "ingest"), ("declare", "refresh"), ("view", "ingest")),
        *again(("fill", "refresh"), ("declare", "ingest"), ("view", "refresh")),
    ],
)
def test_half_of_a_killed_refresh_is_never_seen(
    texts: Lake,
    build: SimpleNamespace,
    row_function: Callable[..., Any],
    spawn: Callable[..., Any],
    moment: str,
    then: str,
) -> None:
    function = row_function("r_killed", len)
    texts.add_column("captions", "size", "r_killed(text)")
    texts.create_materialized_view("v", "SELECT caption_id, size FROM captions", "caption_id")
    texts.refresh(executor="inline")
    before = texts.sql("SELECT * FROM v ORDER BY 1").fetchall()
    if moment == "view":
        dataset = tables.open_table(texts.location, "captions")
        assert dataset is not None
        dataset.delete("caption_id < 5")
    process = spawn("refresh_and_die", texts.uri, moment)
    _, told = process.communicate(timeout=500)
    assert process.returncode == -signal.SIGKILL, told
    assert texts.sql("SELECT * FROM v ORDER BY 1").fetchall() == before
    if moment != "view":
        assert texts.sql("SELECT caption_id, size FROM captions ORDER BY 1").fetchall() == before
    if then == "ingest":
        _add(texts, build, 100, 1)
        assert texts.sql("SELECT * FROM v ORDER BY 1").fetchall() == before
        if moment != "view":
            held = texts.sql("SELECT caption_id, size FROM captions WHERE caption_id < 100 ORDER BY 1").fetchall()
            assert held == before
    function.of = lambda text: len(text) + 1000
    function.declare(version="2")
    texts.refresh(executor="inline")
    texts_now = texts.sql("SELECT caption_id, length(text) + 1000 FROM captions ORDER BY 1").fetchall()
    assert texts.sql("SELECT caption_id, size FROM captions ORDER BY 1").fetchall() == texts_now
    assert texts.sql("SELECT * FROM v ORDER BY 1").fetchall() == texts_now
    assert {s.mode for s in texts.refresh(executor="inline").stages} == {"no_op"}
    states = [r["state"] for r in meta.read(texts.location, "runs").to_pylist() if r["mode"] == "rolled_back"]
    assert states == ["rolled_back"]


def test_an_ingest_that_was_killed(texts: Lake, build: SimpleNamespace, row_function: Callable[..., Any]) -> None:
    """A refresh goes on over its rows, and readers still do not see them, until the same ingest is complete."""
    row_function("r_ingest", len)
    texts.add_column("captions", "size", "r_ingest(text)")
    texts.create_materialized_view("v", "SELECT caption_id, size FROM captions", "caption_id")
    texts.refresh(executor="inline")
    half = [{"captions": build.captions(caption_id=[100], image_id=[1], text=["half"])}]

    def cut() -> Any:
        yield from half
        raise _Kill

    from counterbalance.engine.write.ingest import ingest

    with pytest.raises(_Kill):
        ingest(texts.location, build.source(cut(), "test:cut"), "test")
    assert snapshot.take(texts.location).unfinished == "test:cut"
    before = texts.sql("SELECT * FROM v ORDER BY 1").fetchall()
    found = {s.target: s.mode for s in texts.refresh(executor="inline").stages}
    assert found == {"captions.size": "incremental", "v": "no_op"}
    assert snapshot.take(texts.location).unfinished == "test:cut"
    assert texts.sql("SELECT count(*) FROM captions").fetchall() == [(50,)]
    assert texts.sql("SELECT * FROM v ORDER BY 1").fetchall() == before
    ingest(texts.location, build.source(iter(half), "test:cut"), "test")
    assert texts.sql("SELECT caption_id, size FROM captions WHERE caption_id = 100").fetchall() == [(100, 4)]
    assert {s.target: s.mode for s in texts.refresh(executor="inline").stages} == {
        "captions.size": "no_op",
        "v": "incremental",
    }
    assert texts.sql("SELECT * FROM v WHERE caption_id = 100").fetchall() == [(100, 4)]


def test_a_view_that_waits_for_an_ingest(texts: Lake, build: SimpleNamespace) -> None:
    """What it reads was first computed while an ingest waits to be completed: told with the ingest's name."""
    from counterbalance.engine.write.ingest import ingest

    half = [{"captions": build.captions(caption_id=[100], image_id=[1], text=["half"])}]

    def cut() -> Any:
        yield from half
        raise _Kill

    texts.create_materialized_view("v", "SELECT caption_id % 10 AS g, count(*) AS n FROM captions GROUP BY 1", "g")
    texts.create_materialized_view("w", "SELECT n, count(*) AS c FROM v GROUP BY 1", "n")
    with pytest.raises(_Kill):
        ingest(texts.location, build.source(cut(), "test:cut"), "test")
    found = {s.target: s for s in texts.refresh(executor="inline").stages}
    assert (found["v"].mode, found["w"].code) == ("rebuild", "E3424")
    assert "test:cut" in found["w"].message
    ingest(texts.location, build.source(iter(half), "test:cut"), "test")
    assert {s.target: s.mode for s in texts.refresh(executor="inline").stages} == {"v": "incremental", "w": "rebuild"}
    assert texts.sql("SELECT n, c FROM w ORDER BY 1").fetchall() == [(5, 9), (6, 1)]


def test_what_fails_while_it_writes_is_taken_back(texts: Lake) -> None:
    before = texts.sql("SELECT * FROM captions ORDER BY caption_id").fetchall()

    def write() -> None:
        with writing(texts.location, "refresh", "captions.x") as work:
            work.committed("captions", 1)
            tables.delete(texts.location, "captions", "caption_id < 10")
            raise _Kill

    with pytest.raises(_Kill):
        write()
    assert texts.sql("SELECT * FROM captions ORDER BY caption_id").fetchall() == before
    assert "captions" in snapshot.take(texts.location).coded


def test_tagged_versions_stay(texts: Lake, row_function: Callable[..., Any], tmp_path: Path) -> None:
    function = row_function("r_tag", len)
    texts.add_column("captions", "size", "r_tag(text)")
    texts.refresh(executor="inline")
    texts.tag("first")
    function.of = lambda text: -len(text)
    function.declare(version="2")
    texts.refresh(executor="inline")
    assert texts.sql("SELECT min(size) > 0 FROM captions", at="first").fetchall() == [(True,)]
    assert texts.sql("SELECT max(size) < 0 FROM captions").fetchall() == [(True,)]

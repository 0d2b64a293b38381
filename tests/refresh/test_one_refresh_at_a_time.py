"""A second refresh is told at once that it is busy; a dead process keeps nothing; declaring and writing go on."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from counterbalance.engine.errors import BusyError
from counterbalance.engine.store import lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import SimpleNamespace

    from counterbalance.engine.lake import Lake


def _prepare(lake: Lake, build: SimpleNamespace) -> Lake:
    lake.ingest(
        {
            "images": build.images(image_id=[1], key=["1"]),
            "captions": build.captions(caption_id=[1, 2], image_id=[1, 1], text=["one", "three"]),
        }
    )
    return lake


class _Held:
    """A refresh that stands still inside its function."""

    def __init__(self, lake: Lake, row_function: Callable[..., Any], name: str) -> None:
        self._inside, self._go_on = threading.Event(), threading.Event()
        row_function(name, self._wait)
        lake.add_column("captions", "size", f"{name}(text)")
        self._thread = threading.Thread(target=lambda: lake.refresh(executor="inline"))

    def _wait(self, text: str) -> int:
        self._inside.set()
        assert self._go_on.wait(60)
        return len(text)

    def __enter__(self) -> None:
        self._thread.start()
        assert self._inside.wait(60)

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        self._thread.join(60)


@pytest.mark.parametrize("place", ["empty_lake", "disk_lake"])
def test_busy(request: Any, build: SimpleNamespace, row_function: Callable[..., Any], place: str) -> None:
    _busy(request.getfixturevalue(place), build, row_function, place)


def _busy(lake: Lake, build: SimpleNamespace, row_function: Callable[..., Any], place: str) -> None:
    _prepare(lake, build)
    with _Held(lake, row_function, f"o_{place}"):
        with pytest.raises(BusyError):
            lake.refresh(executor="inline")
        assert lake.refresh(dry_run=True).dry_run
        assert lake.sql("SELECT count(size) FROM captions").fetchall() == [(0,)]
        lake.ingest({"captions": build.captions(caption_id=[3], image_id=[1], text=["sixsix"])})
    assert lake.sql("SELECT size FROM captions ORDER BY caption_id").fetchall() == [(3,), (5,), (6,)]
    assert {s.mode for s in lake.refresh(executor="inline").stages} == {"no_op"}


def test_exit_code(disk_lake: Lake, build: SimpleNamespace) -> None:
    lake = _prepare(disk_lake, build)
    with lock.writer_lock(lake.location, "refresh", name=lock.REFRESH):
        command = [sys.executable, "-m", "counterbalance", "refresh", lake.uri]
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert found.returncode == 75, found.stderr


def test_a_killed_refresh_keeps_nothing(
    disk_lake: Lake, build: SimpleNamespace, row_function: Callable[..., Any], spawn: Callable[..., Any]
) -> None:
    """It dies in the middle of publishing, with both locks in its hands."""
    lake = _prepare(disk_lake, build)
    row_function("r_killed", len)
    lake.add_column("captions", "size", "r_killed(text)")
    process = spawn("refresh_and_die", lake.uri, "declare")
    process.communicate(timeout=500)
    assert process.returncode == -signal.SIGKILL
    assert lake.refresh(executor="inline").mode == "rebuild"
    assert (
        lake.sql("SELECT count(size) FROM captions").fetchall()
        == lake.sql("SELECT count(text) FROM captions").fetchall()
    )


@pytest.mark.thorough
def test_busy_on_an_object_store_and_the_lease_of_a_dead_process(
    s3_lake: Lake, build: SimpleNamespace, row_function: Callable[..., Any], monkeypatch: Any
) -> None:
    """There it is taken over once it has not been renewed for its time."""
    lake = s3_lake
    _busy(lake, build, row_function, "s3_lake")
    system, root = lake.location.filesystem()
    note = {"pid": 1, "host": "gone", "purpose": "refresh", "since": dt.datetime.now(dt.UTC).isoformat()}
    system.pipe_file(f"{root}/{lock.REFRESH}", json.dumps(note).encode())
    with pytest.raises(BusyError, match="gone"):
        lake.refresh(executor="inline")
    monkeypatch.setattr(lock, "LEASE_SECONDS", -1.0)
    row_function("o_s3_lake", len, version="2")
    assert lake.refresh(executor="inline").mode == "rebuild"
    assert not system.exists(f"{root}/{lock.REFRESH}")

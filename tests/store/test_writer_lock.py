"""One writer a lake: a second one is told who holds it, a dead one keeps nothing."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time

import pytest

from counterbalance.engine.errors import BusyError, StorageError
from counterbalance.engine.store import lock
from counterbalance.engine.store.location import Location
from counterbalance.engine.store.lock import writer_lock


@pytest.fixture
def place(tmp_path):
    (tmp_path / "a.lake").mkdir()
    return Location(str(tmp_path / "a.lake"))


def hold(spawn, place):
    process = spawn("hold_the_lock", place.uri)
    assert process.stdout.readline() == "held\n", process.stderr.read()
    return process


def test_a_second_writer_is_told_the_process(place, spawn):
    holder = hold(spawn, place)
    with pytest.raises(BusyError) as caught, writer_lock(place, "mine", wait=0.2):
        pass
    assert f"process {holder.pid} on " in str(caught.value)
    assert "test purpose" in str(caught.value)
    assert caught.value.hint is not None
    assert caught.value.exit_code == 75
    assert caught.value.retryable


def test_ingest_is_busy_too(place, spawn, build):
    import counterbalance as cb

    hold(spawn, place)
    lake = cb.connect(place.uri)
    with pytest.raises(BusyError):
        lake.ingest({"images": build.images(image_id=[1])}, wait=0.0)


def test_a_killed_writer_keeps_nothing(place, spawn):
    holder = hold(spawn, place)
    holder.kill()
    holder.wait()
    with writer_lock(place, "mine", wait=0.0):
        note = json.loads((place.path / lock.NAME).read_text())
        assert note["pid"] == os.getpid()


def test_it_waits_for_a_short_writer(place, spawn):
    holder = hold(spawn, place)
    timer = threading.Timer(0.3, holder.stdin.close)
    timer.start()
    with writer_lock(place, "mine", wait=10.0):
        assert holder.wait() == 0
    timer.join()


def test_an_exception_gives_it_back(place):
    with pytest.raises(RuntimeError), writer_lock(place, "mine"):
        raise RuntimeError
    assert (place.path / lock.NAME).read_text() == ""
    with writer_lock(place, "mine", wait=0.0):
        pass


def test_nothing_is_left_of_a_folder_that_was_not_written(tmp_path):
    place = Location(str(tmp_path / "new.lake"))
    with writer_lock(place, "mine"):
        assert place.path.is_dir()
    assert not place.path.exists()


def test_a_removed_file_is_no_lock(place, monkeypatch):
    """What was opened may be gone by the time it is locked: the lock is the file that others see."""
    waited = []

    def flock(handle, operation):
        if not waited:
            waited.append(True)
            (place.path / lock.NAME).unlink()
        locked(handle, operation)

    locked = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", flock)
    with writer_lock(place, "mine"):
        assert (place.path / lock.NAME).exists()
        with pytest.raises(BusyError), writer_lock(place, "other", wait=0.0):
            pass


def test_many_writers_of_a_new_folder_come_one_by_one(tmp_path):
    place = Location(str(tmp_path / "new.lake"))
    inside = threading.Semaphore(1)
    done: list[bool] = []

    def write(number: int) -> None:
        with writer_lock(place, f"writer {number}", wait=30.0):
            alone = inside.acquire(blocking=False)
            time.sleep(0.002)
            done.append(alone)
            inside.release()

    threads = [threading.Thread(target=write, args=(n,)) for n in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [True] * 40


def test_a_file_in_the_way_is_a_clear_error(tmp_path):
    (tmp_path / "a.lake").write_text("no folder")
    with (
        pytest.raises(StorageError, match=r"cannot write to .*a\.lake"),
        writer_lock(Location(str(tmp_path / "a.lake")), "mine"),
    ):
        pass


def test_memory_has_one_writer_as_well(empty_lake):
    with (
        writer_lock(empty_lake.location, "first"),
        pytest.raises(BusyError),
        writer_lock(empty_lake.location, "second", wait=0.0),
    ):
        pass


def test_object_store_has_one_writer(s3_lake):
    place = s3_lake.location
    with (
        writer_lock(place, "first"),
        pytest.raises(BusyError, match=rf"process {os.getpid()} on .*\(first, since"),
        writer_lock(place, "second", wait=0.0),
    ):
        pass
    with writer_lock(place, "third", wait=0.0):
        pass


def test_a_lease_that_is_not_renewed_is_taken_over(s3_lake, monkeypatch):
    place = s3_lake.location
    system, root = place.filesystem()
    dead = {"pid": 1, "host": "gone", "purpose": "died", "since": "long ago", "token": "x"}
    system.pipe_file(f"{root}/{lock.NAME}", json.dumps(dead).encode())
    with pytest.raises(BusyError, match="process 1 on gone"), writer_lock(place, "early", wait=0.0):
        pass
    monkeypatch.setattr(lock, "LEASE_SECONDS", 1.0)
    time.sleep(2.1)
    with writer_lock(place, "late", wait=0.0):
        assert json.loads(system.cat_file(f"{root}/{lock.NAME}"))["purpose"] == "late"
    assert not system.exists(f"{root}/{lock.NAME}")


def test_a_held_lease_is_renewed(s3_lake, monkeypatch):
    monkeypatch.setattr(lock, "LEASE_SECONDS", 2)
    system, root = s3_lake.location.filesystem()
    with writer_lock(s3_lake.location, "long"):
        times = set()
        while len(times) < 3:  # written, and renewed twice
            times.add(system.modified(f"{root}/{lock.NAME}"))
            time.sleep(0.1)
        monkeypatch.setattr(lock, "LEASE_SECONDS", 60)  # that no renewal is late on a busy machine
        with pytest.raises(BusyError), writer_lock(s3_lake.location, "second", wait=0.0):
            pass


def test_a_lease_that_was_lost_is_not_taken_back(s3_lake, monkeypatch):
    """A writer that was suspended for too long neither renews nor removes the lease of the one that took over."""
    monkeypatch.setattr(lock, "LEASE_SECONDS", 0.4)
    place = s3_lake.location
    system, root = place.filesystem()
    other = {"pid": 2, "host": "other", "purpose": "took over", "since": "now", "token": "y"}
    with writer_lock(place, "suspended"):
        system.pipe_file(f"{root}/{lock.NAME}", json.dumps(other).encode())
        time.sleep(0.5)
        assert json.loads(system.cat_file(f"{root}/{lock.NAME}")) == other
    assert json.loads(system.cat_file(f"{root}/{lock.NAME}")) == other


def test_a_bucket_that_is_not_there_is_a_clear_error(s3_lake):
    place = Location(s3_lake.uri.replace("bucket-", "no-such-bucket-"))
    with pytest.raises(StorageError, match="cannot write to s3://no-such"), writer_lock(place, "mine"):
        pass


def test_when_the_present_writer_began_is_told(place, spawn):
    assert lock.writing_since(place).timestamp() == pytest.approx(time.time(), abs=30)
    (place.path / lock.NAME).write_text(
        json.dumps(lock._note("of a dead one") | {"since": "2020-01-01T00:00:00+00:00"})
    )
    assert lock.writing_since(place).year > 2020
    holder = hold(spawn, place)
    began = json.loads((place.path / lock.NAME).read_text())["since"]
    assert lock.writing_since(place).isoformat() == began
    holder.kill()
    holder.wait()
    assert lock.writing_since(place).isoformat() != began

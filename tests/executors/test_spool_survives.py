"""What workers have computed is there after a kill, a cut-off file or a full disk, and nothing is there half."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.executors.spool import Done, Spool, fresh, rounds, schema
from counterbalance.engine.executors.worker import Worker
from counterbalance.engine.store.location import Location

STRUCT = pa.struct([("a", pa.float64()), ("b", pa.list_(pa.string()))])


def batch(start, count, stamp=3):
    rows = range(start, start + count)
    values = pa.array([{"a": r / 7, "b": ["w"] * (r % 4)} if r % 5 else None for r in rows], STRUCT)
    failed = [None if r % 5 else f"row {r}" for r in rows]
    columns = [pa.array(rows, pa.int64()), pa.array([stamp] * count, pa.int64()), values]
    return pa.record_batch([*columns, *(pa.array(failed, pa.string()) for _ in range(3))], schema=schema(STRUCT))


def written(spool, *batches):
    writer = spool.writer("f00000000-0")
    for one in batches:
        writer.append(one)
    return writer


def test_batches_are_there_before_the_file_is_closed(tmp_path):
    spool = Spool(Location(str(tmp_path)), "refresh/x/1")
    written(spool, batch(0, 10), batch(10, 5))
    [file] = spool.files()
    assert spool.read(file) == [batch(0, 10), batch(10, 5)]


@pytest.mark.parametrize("step", [13, *again(1)])
def test_a_file_cut_off_anywhere_is_read_up_to_its_last_whole_batch(tmp_path, step):
    spool = Spool(Location(str(tmp_path)), "refresh/x/1")
    written(spool, batch(0, 10), batch(10, 5)).close()
    [file] = spool.files()
    path = tmp_path / "refresh/x/1" / file
    whole = path.read_bytes()
    first = Spool(Location(str(tmp_path)), "refresh/x/2")
    written(first, batch(0, 10)).close()
    end = len((tmp_path / "refresh/x/2" / first.files()[0]).read_bytes())
    found = []
    sizes = sorted({*range(0, len(whole), step), end - 1, end, len(whole) - 1})
    for size in sizes:
        path.write_bytes(whole[:size])
        found.append(len(spool.read(file)))
        assert spool.read(file) == [batch(0, 10)][: found[-1]]
    assert found == [int(size >= end) for size in sizes]


def test_a_full_disk_leaves_whole_batches_only(tmp_path):
    """A write that stops midway is an error, and closing the file adds nothing that looks like the rest of it."""
    program = """
import resource, signal, sys
import pyarrow as pa
from counterbalance.engine.executors.spool import Spool, schema
from counterbalance.engine.store.location import Location
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
writer = Spool(Location(sys.argv[1]), "refresh/x/1").writer("f")
columns = [pa.array(range(100))] * 3 + [pa.nulls(100, pa.string())] * 3
try:
    for _ in range(3):
        writer.append(pa.record_batch(columns, schema=schema(pa.int64())))
except OSError as error:
    print(type(error).__name__)
writer.close()
"""
    import sys

    for limit in (5_000, 5_800, 6_500):
        place = tmp_path / str(limit)
        done = subprocess.run(
            [sys.executable, "-c", program, str(place), str(limit)],
            capture_output=True,
            text=True,
            check=True,
            cwd=tmp_path,
        )
        assert done.stdout.strip() == "OSError"
        spool = Spool(Location(str(place)), "refresh/x/1")
        [file] = spool.files()
        batches = spool.read(file)
        assert 1 <= len(batches) < 3
        assert all(b.column("value").to_pylist() == list(range(100)) for b in batches)


def test_of_a_row_with_two_stamps_the_higher_counts():
    done = Done([batch(0, 4, stamp=9), batch(2, 4, stamp=5)])
    assert len(done) == 6
    rows = np.arange(8)
    assert done.has(rows, np.full(8, 9)).tolist() == [True] * 4 + [False] * 4
    assert done.has(rows, np.full(8, 5)).tolist() == [False] * 4 + [True] * 2 + [False] * 2


def test_nothing_is_done_at_first():
    assert len(Done()) == 0
    assert Done().has(np.arange(3), np.arange(3)).tolist() == [False] * 3


def test_rounds_are_apart_and_can_be_removed(tmp_path):
    place = Location(str(tmp_path))
    one, other = fresh(place, "captions.c", "aa"), fresh(place, "captions.c", "aa")
    written(one, batch(0, 3)).close()
    written(other, batch(3, 3)).close()
    assert one.token != other.token
    assert sorted(s.folder for s in rounds(place, "captions.c")) == sorted([one.folder, other.folder])
    one.remove()
    one.remove()
    assert [s.folder for s in rounds(place, "captions.c")] == [other.folder]
    assert list(rounds(place, "captions.d")) == []


@pytest.mark.parametrize("kind", ["empty_lake", "s3_lake"])
def test_other_places_keep_a_spool_too(kind, jobs, build, request):
    lake = request.getfixturevalue(kind)
    texts = [f"text {i}" for i in range(100)]
    jobs.captions(lake, build, texts)
    job = jobs.job(lake, "x_picky(text)")
    [task] = jobs.tasks(lake, job)
    first = Worker(job).run(task)
    assert next(first).rows == 64
    first.close()
    assert [e.rows for e in Worker(job).run(task)] == [36, 0]
    rows = jobs.spooled(lake, job)
    assert rows["row_id"].to_pylist() == list(range(100))
    assert rows["value"].to_pylist() == [None if t.endswith("3") else len(t) for t in texts]
    assert len(rows["message"].drop_null()) == 10
    assert [e.rows for e in Worker(job).run(task)] == [0]


def test_a_changed_row_is_computed_again_and_no_other(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, [f"text {i}" for i in range(100)])
    job = jobs.job(disk_lake, "x_vowels(text)")
    [task] = jobs.tasks(disk_lake, job)
    list(Worker(job).run(task))
    rows = build.captions(caption_id=[7], image_id=[1], text=["changed"])
    disk_lake.ingest({"captions": rows})
    newer = jobs.job(disk_lake, "x_vowels(text)", spool=job.spool)
    events = [e for task in jobs.tasks(disk_lake, newer) for e in Worker(newer).run(task)]
    assert sum(e.rows for e in events) == 1
    again = [e for task in jobs.tasks(disk_lake, newer) for e in Worker(newer).run(task)]
    assert sum(e.rows for e in again) == 0


@pytest.mark.parametrize(("attempts", "least"), [(3, 2), *again((6, 4))])
def test_kills_cost_one_batch_each(jobs, disk_lake, build, tmp_path, spawn, record_property, attempts, least):
    """A worker process is killed (-9) at random moments; another goes on. The function writes down what it is given."""
    texts = [f"text {i}" for i in range(2000)]
    jobs.captions(disk_lake, build, texts)
    job = jobs.job(disk_lake, f"x_counted(text, folder := '{tmp_path}')")
    [task] = jobs.tasks(disk_lake, job)
    calls, kills, chance = tmp_path / "calls", 0, random.Random(7)
    for _ in range(attempts):
        process = spawn("run_task", job.to_json(), task.number, task.fragment, task.low, task.high)
        before = calls.stat().st_size if calls.exists() else 0
        while process.poll() is None and (not calls.exists() or calls.stat().st_size == before):
            time.sleep(0.002)
        time.sleep(chance.random() * 0.08)
        process.kill()
        kills += process.wait() != 0
    list(Worker(job).run(task))
    rows = jobs.spooled(disk_lake, job)
    times = Counter(calls.read_text().split("\n")[:-1])
    extra = sum(times.values()) - 2000
    assert kills >= least
    record_property("kills", kills)
    assert set(times) == set(texts)
    assert extra <= 16 * kills
    assert rows["row_id"].to_pylist() == list(range(2000))
    assert rows["value"].to_pylist() == texts


def test_rows_that_are_there_twice_are_equal(jobs, disk_lake, build):
    """Two workers that took each other for dead have computed the same task."""
    jobs.captions(disk_lake, build, [f"text {i}" for i in range(200)])
    job, other = (jobs.job(disk_lake, "x_shape(text)") for _ in range(2))
    [task] = jobs.tasks(disk_lake, job)
    for one in (job, other):
        list(Worker(one).run(task))
    folder = Path(disk_lake.uri)
    for file in (folder / other.spool).iterdir():
        file.rename(folder / job.spool / file.name)
    rows = jobs.spooled(disk_lake, job).to_pylist()
    assert len(rows) == 400
    assert all(a == b for a, b in zip(rows[::2], rows[1::2], strict=True))
    assert [e.rows for e in Worker(job).run(task)] == [0]


def test_the_folder_of_a_spool_is_in_the_lake(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, ["a text"])
    job = jobs.job(disk_lake, "x_vowels(text)", spool="refresh/captions.c/f-1")
    list(Worker(job).run(jobs.tasks(disk_lake, job)[0]))
    assert len(list((Path(disk_lake.uri) / "refresh/captions.c/f-1").glob("f00000000-0-*.arrows"))) == 1

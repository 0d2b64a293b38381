"""A worker computes stale rows batch by batch; rows that fail are recorded one by one, and too little memory means smaller batches."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from counterbalance.engine.errors import FunctionError, StorageError
from counterbalance.engine.executors.protocol import Task
from counterbalance.engine.executors.worker import Worker

TEXTS = [None if i == 5 else f"text {i}" for i in range(300)]


@pytest.fixture
def made(jobs, disk_lake, build):
    """Run all tasks of an expression over TEXTS; returns events and rows of the spool."""
    jobs.captions(disk_lake, build, TEXTS)

    def run(sql, rows=1_000_000, **more):
        job = jobs.job(disk_lake, sql, **more)
        worker = Worker(job)
        events = [e for task in jobs.tasks(disk_lake, job, rows) for e in worker.run(task)]
        worker.close()
        return events, jobs.spooled(disk_lake, job)

    return run


def lengths(failed=()):
    return [None if i in failed else len(t or "") for i, t in enumerate(TEXTS)]


def test_values_are_those_of_the_function(made):
    events, rows = made("x_vowels(text)")
    assert rows["value"].to_pylist() == [
        None if t is None else sum(c in "aeiou" for c in t) / (len(t) + 0.1) for t in TEXTS
    ]
    assert rows["row_id"].to_pylist() == list(range(300))
    assert rows["code"].null_count == 300
    assert [e.rows for e in events] == [64, 64, 64, 64, 44, 0]
    assert [e.done for e in events] == [False] * 5 + [True]


def test_the_given_batch_size_counts(made):
    events, _ = made("x_vowels(text)", batch_size=200)
    assert [e.rows for e in events] == [200, 100, 0]


def test_rows_of_a_task_and_no_others(made):
    events, rows = made("x_vowels(text)", rows=100)
    assert [e.rows for e in events if e.task == 1] == [64, 36, 0]
    assert len(rows) == 300


def test_rows_that_a_function_refuses_are_recorded(made):
    events, rows = made("x_picky(text)")
    failed = [i for i, t in enumerate(TEXTS) if t and t.endswith("3")]
    assert rows["value"].to_pylist() == [None if i in failed or t is None else len(t) for i, t in enumerate(TEXTS)]
    assert [i for i, c in enumerate(rows["code"].to_pylist()) if c == "failed"] == failed
    assert [k for k in rows["key"].to_pylist() if k is not None] == [str(i) for i in failed]
    assert rows["message"][3].as_py() == "no text 3"
    assert sum(e.errors for e in events) == len(failed)
    assert events[0].message == "no text 3"


@pytest.mark.parametrize("name", ["x_picky_shape", "x_picky_vector"])
def test_refused_rows_are_null_in_any_type(made, name):
    _, rows = made(f"{name}(text)")
    values = rows["value"].to_pylist()
    assert values[3] is None
    assert values[13] is None
    assert values[4] in ({"letters": 6, "words": ["text 4"]}, [6.0, 1.0])


def test_a_batch_that_raises_is_halved_down_to_its_rows(made):
    events, rows = made("x_strict(text)")
    failed = [i for i, t in enumerate(TEXTS) if t and t.endswith("7")]
    assert rows["value"].to_pylist() == lengths(failed)
    assert [i for i, c in enumerate(rows["code"].to_pylist()) if c is not None] == failed
    assert set(rows["code"].drop_null().to_pylist()) == {"ValueError"}
    assert set(rows["message"].drop_null().to_pylist()) == {"ValueError: a seven"}
    assert sum(e.errors for e in events) == len(failed) == 30


def test_every_row_may_fail(made):
    events, rows = made("x_never(text)")
    assert rows["value"].null_count == 300
    assert rows["code"].to_pylist() == ["KeyError"] * 300
    assert sum(e.errors for e in events) == 300


def test_out_of_memory_goes_on_with_smaller_batches(made):
    events, rows = made("x_small(text)")
    assert rows["value"].to_pylist() == lengths()
    assert rows["code"].null_count == 300
    assert events[0].note == "out of memory at 150 rows; going on with 75"


def test_smaller_batches_last(made, tmp_path):
    events, _ = made("x_small(text)", batch_size=128)
    assert [e.note for e in events] == ["out of memory at 128 rows; going on with 64", None, None, None, None]


def test_a_row_that_is_too_large_does_not_make_batches_small(made, tmp_path):
    _, rows = made(f"x_huge(text, folder := '{tmp_path}')")
    assert [i for i, c in enumerate(rows["code"].to_pylist()) if c == "out_of_memory"] == [77]
    calls = [int(line) for line in (tmp_path / "calls").read_text().split()]
    assert calls == [64, 64, 32, 16, 8, 8, 4, 4, 2, 1, 1, 2, 16, 32, 64, 64, 44]


def test_a_function_that_must_not_fail_stops_everything(made):
    with pytest.raises(FunctionError, match=r"x_must\(text\) failed for captions 3: no text 3") as caught:
        made("x_must(text)")
    assert caught.value.code == "E8004"


def test_a_function_of_the_wrong_length_stops_everything(made):
    with pytest.raises(FunctionError, match=r"x_short\(\) returned 1 values for 300 rows"):
        made("x_short(text)")


def test_memory_that_a_failed_call_held_is_free_for_the_next_one(jobs, disk_lake, build, monkeypatch):
    """A model's tensors live in the frames of the exception; they must be gone when the halves are tried."""
    import weakref

    from counterbalance.engine import functions

    class Tensor:
        pass

    held, alive = [], []

    def greedy(text):
        alive.append(sum(ref() is not None for ref in held))
        tensor = Tensor()
        held.append(weakref.ref(tensor))
        if len(text) > 20:
            raise MemoryError
        return pa.array([1] * len(text), pa.int64())

    parameters = (functions.Parameter("text", pa.string()),)
    monkeypatch.setitem(
        functions._registry, "x_greedy", functions.Function("x_greedy", greedy, parameters, pa.int64(), "1")
    )
    jobs.captions(disk_lake, build, TEXTS[:64])
    job = jobs.job(disk_lake, "x_greedy(text)")
    list(Worker(job).run(jobs.tasks(disk_lake, job)[0]))
    assert alive == [0] * 6  # of 64, 32, and four times 16 rows


@pytest.mark.parametrize("column", ["image", "key"])
def test_a_model_is_told_what_comes_behind_the_next_batch(jobs, disk_lake, build, monkeypatch, column):
    """Pictures are read a batch at a time, other columns in large blocks."""
    from counterbalance.engine import functions

    expected, called = [], []

    class Told:
        def expect(self, value):
            expected.append((len(called), value.to_pylist()))

        def __call__(self, value):
            if len(value) > 15:
                raise MemoryError
            called.append(value.to_pylist())
            return pa.array([1] * len(value), pa.int64())

    kind = pa.binary() if column == "image" else pa.string()
    declared = functions.Function("x_told", Told, (functions.Parameter("value", kind),), pa.int64(), "1")
    monkeypatch.setitem(functions._registry, "x_told", declared)
    keys = [f"{i:02}" for i in range(64)]
    disk_lake.ingest({"images": build.images(image_id=list(range(64)), key=keys, image=[k.encode() for k in keys])})
    job = jobs.job(disk_lake, f"x_told({column})", table="images", key="image_id", batch_size=16)
    list(Worker(job).run(jobs.tasks(disk_lake, job)[0]))
    assert [len(values) for values in called] == [8] * 8  # 16 rows were too many
    assert jobs.spooled(disk_lake, job)["value"].to_pylist() == [1] * 64
    after = [(calls, called[calls + 1]) for calls in range(2, 7)]
    assert expected[-5:] == after
    again = jobs.job(
        disk_lake,
        f"x_told({column} || '')" if column == "key" else "x_told(from_hex(key))",
        table="images",
        key="image_id",
    )
    expected.clear()
    list(Worker(again).run(jobs.tasks(disk_lake, again)[0]))
    assert expected == []  # what is computed first is not known before


def test_bytes_of_pictures_go_in_and_out(jobs, disk_lake, build):
    pictures = [bytes([i]) * (i + 1) + b"end" if i % 3 else None for i in range(40)]
    disk_lake.ingest(
        {"images": build.images(image_id=list(range(40)), key=[str(i) for i in range(40)], image=pictures)}
    )
    job = jobs.job(disk_lake, "x_reversed(image)", table="images", key="image_id")
    list(Worker(job).run(jobs.tasks(disk_lake, job)[0]))
    assert jobs.spooled(disk_lake, job)["value"].to_pylist() == [p and p[::-1] for p in pictures]


def test_only_stale_rows_are_computed(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, TEXTS)
    job = jobs.job(disk_lake, "x_vowels(text)", stale="caption_id % 10 = 0")
    list(Worker(job).run(jobs.tasks(disk_lake, job)[0]))
    assert jobs.spooled(disk_lake, job)["row_id"].to_pylist() == list(range(0, 300, 10))


def test_a_spool_that_cannot_be_written_is_told(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, TEXTS)
    job = jobs.job(disk_lake, "x_vowels(text)")
    place = Path(disk_lake.uri) / job.spool
    place.parent.mkdir(parents=True)
    place.write_text("a file where a folder should be")
    with pytest.raises(StorageError) as caught:
        list(Worker(job).run(jobs.tasks(disk_lake, job)[0]))
    assert caught.value.code == "E6011"


def test_a_table_that_is_gone_is_told(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, TEXTS)
    with pytest.raises(StorageError, match="'nothing'"):
        Worker(replace(jobs.job(disk_lake, "x_vowels(text)"), table="nothing", version=1))


def test_a_fragment_that_is_gone_is_done(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, TEXTS)
    job = jobs.job(disk_lake, "x_vowels(text)")
    assert [e.done for e in Worker(job).run(Task(0, 99, 0, 10))] == [True]


def test_a_batch_is_appended_while_the_guard_is_held_and_at_no_other_time(jobs, disk_lake, build):
    """The guard is what keeps a worker from ending itself in the middle of an append."""
    jobs.captions(disk_lake, build, TEXTS)
    job = jobs.job(disk_lake, "x_vowels(text)")
    sizes = []

    def size():
        return sum(f.stat().st_size for f in (Path(disk_lake.uri) / job.spool).glob("*"))

    @contextmanager
    def guard():
        sizes.append(size())
        yield
        sizes.append(size())

    class Again:
        def __enter__(self):
            self.one = guard()
            return self.one.__enter__()

        def __exit__(self, *error):
            return self.one.__exit__(*error)

    list(Worker(job, Again()).run(jobs.tasks(disk_lake, job)[0]))
    assert len(sizes) == 2 * 5
    assert sizes[0] == 0
    assert sizes[1:-1:2] == sizes[2::2]
    assert sizes[-1] == size()
    assert sizes == sorted(sizes)

"""Every executor computes the same values, bit for bit, and records the same failures."""

from __future__ import annotations

import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.errors import FunctionError, SqlError
from counterbalance.engine.executors import registry
from counterbalance.engine.executors.inline import Inline
from counterbalance.engine.executors.local import SMALL, Local, rows
from counterbalance.engine.executors.protocol import Task

TEXTS = [None if i == 5 else f"a {'happy' if i % 2 else 'sad'} dog and {i}" for i in range(300)]
PICTURES = [bytes([i % 256]) * (i + 1) + b"end" if i % 3 else None for i in range(300)]
GOOD = """{
    'sentiment': vader(text), 'scores': vader_scores(text), 'lemmas': lemmas(text), 'terms': match_terms(text, ['dog', 'cat']),
    'float': x_vowels(text) * 2 + length(text), 'struct': x_shape(text), 'vector': x_vector(text), 'loud': upper(text) || '!',
    'small': x_small(text)
}"""
"""Every kind of value, and a function that has no memory for the batches that are asked for."""
BAD = "x_strict(text) + x_picky(text)"
"""Rows that are refused, and batches that raise."""
JOBS = [
    {"sql": GOOD, "batch_size": 256},
    {"sql": BAD},
    {"sql": "x_reversed(image)", "table": "images", "key": "image_id"},
]


def expected_tasks(jobs, lake, job):
    """Tasks that reach as far as row ids may, so that no executor takes the job for a small one."""
    found = jobs.tasks(lake, job, 60)
    return [*found[:-1], Task(found[-1].number, found[-1].fragment, found[-1].low, found[-1].low + SMALL)]


@pytest.fixture
def computed(jobs, tmp_path):
    def run(executor, lake, **more):
        job = jobs.job(lake, **more)
        tasks = expected_tasks(jobs, lake, job)
        events = list(executor.run(job, tasks))
        assert sorted(e.task for e in events if e.done) == [t.number for t in tasks]
        table = jobs.spooled(lake, job)
        assert sum(e.rows for e in events) == len(table)
        assert sum(e.errors for e in events) == len(table) - table["code"].null_count
        return table

    return run


@pytest.fixture
def filled(jobs, disk_lake, build):
    jobs.captions(disk_lake, build, TEXTS, parts=2)
    ids = list(range(300))
    disk_lake.ingest({"images": build.images(image_id=ids, key=[f"k{i}" for i in ids], image=PICTURES)})
    return disk_lake


def same(one: pa.Table, other: pa.Table):
    """Equal to the last bit, NULL and NaN too."""

    def stream(table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as out:
            out.write_table(
                pa.table([c.combine_chunks().take(pa.array(range(len(c)))) for c in table.columns], table.schema)
            )
        return sink.getvalue().to_pybytes()

    assert stream(one) == stream(other)


@pytest.mark.parametrize("workers", [2, *again(1, 3)])
def test_processes(workers, computed, filled):
    for one in JOBS if workers == 2 else JOBS[:1]:
        same(computed(Local(workers=workers), filled, **one), computed(Inline(), filled, **one))


def test_ray(computed, filled, ray_cluster):
    for one in JOBS:
        same(computed(registry.executor("ray", workers=2), filled, **one), computed(Inline(), filled, **one))


def test_all_of_it_is_there(computed, filled):
    """What the others are compared with is what it should be."""
    good, bad, pictures = (computed(Inline(), filled, **one) for one in JOBS)
    row = good["value"][1].as_py()
    assert (row["sentiment"], row["small"], row["loud"]) == (0.5719, 17, "A HAPPY DOG AND 1!")
    assert row["struct"] == {"letters": 17, "words": ["a", "happy", "dog", "and", "1"]}
    assert row["terms"] == ["dog"]
    assert good["code"].null_count == 300
    assert {i % 10 for i, c in enumerate(bad["code"].to_pylist()) if c == "ValueError"} == {7}
    assert {i % 10 for i, c in enumerate(bad["code"].to_pylist()) if c == "failed"} == {3}
    first = [PICTURES[1], PICTURES[0], *PICTURES[2:]]  # image 1 was there before the others
    assert pictures["value"].to_pylist() == [p and p[::-1] for p in first]


STOPPED = ["x_must(text)", "x_short(text)", "no_such_function(text)"]


def errors_of(executor, jobs, lake, expressions=STOPPED):
    for sql in expressions:
        job = jobs.job(lake, sql)
        with pytest.raises((FunctionError, SqlError)) as caught:
            list(executor.run(job, expected_tasks(jobs, lake, job)[:1]))
        yield type(caught.value), caught.value.to_dict()


@pytest.mark.parametrize("sent", [STOPPED[::2], *again((STOPPED,))])
def test_what_stops_them_is_the_same_error(jobs, filled, ray_cluster, sent):
    inline = list(errors_of(Inline(), jobs, filled))
    assert [told["code"] for _, told in inline] == ["E8004", "E8003", "E3144"]
    wanted = [inline[STOPPED.index(expression)] for expression in sent]
    assert list(errors_of(Local(workers=2), jobs, filled, sent)) == wanted
    assert list(errors_of(registry.executor("ray", workers=2), jobs, filled, STOPPED[:1])) == inline[:1]


def test_no_tasks_are_no_work(jobs, filled, ray_cluster):
    job = jobs.job(filled, "x_never(text)")
    for name in registry.names():
        assert list(registry.executor(name).run(job, [])) == []


def test_rows_of_tasks_are_counted_at_most():
    assert rows([Task(0, 0, 0, 9), Task(1, 0, 20, 20)]) == 11
    assert rows([Task(0, 0, 0, 9), Task(1, 0, 20, 1_000_000, 3)]) == 13

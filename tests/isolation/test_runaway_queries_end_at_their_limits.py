"""Queries that never end, listen to nobody or want all the memory end at the limits of ``timeout`` and ``memory``."""

from __future__ import annotations

from pathlib import Path

import pytest
from repeats import chosen
from runaway_queries import ENDLESS

from counterbalance.engine.errors import LimitError, RequestError
from counterbalance.engine.isolation import process

RUNAWAY = {
    **ENDLESS,
    "levenshtein": "SELECT max(levenshtein(repeat(a.text, 4000), repeat(b.text, 4000))) FROM captions a, captions b",
    "jaccard": "SELECT max(jaccard(repeat(a.text, 900000), repeat(b.text, 900000))) FROM captions a, captions b",
    "replace": "SELECT length(replace(repeat('ab', 200000000), 'a', 'bb'))",
    "repeat": "SELECT length(repeat('x', 3000000000))",
    "repeat in rows": "SELECT max(length(repeat(text, 20000000))) FROM captions",
    "list of a range": "SELECT len(range(400000000))",
    "sorted list": "SELECT len(list_sort(list_transform(range(60000000), lambda x: hash(x))))",
    "list of rows": "SELECT list(range) FROM range(2000000000)",
    "one text": "SELECT string_agg(repeat(a.text, 9000) || b.text) FROM captions a, captions b, captions c",
    "top k": "SELECT * FROM top_k((SELECT range AS id, 'x' AS text FROM range(20000000000) WHERE sin(range) > 2), captions)",
    "endless answer": "SELECT range, range::VARCHAR AS text FROM range(100000000000)",
    "wide answer": "SELECT repeat(text, 100000) AS t FROM captions, range(1000000)",
}
KEPT = set(RUNAWAY) - {
    "arithmetic", "regular expression", "distinct", "self join", "correlated", "window", "jaccard", "repeat", "sorted list",
}  # fmt: skip
"""By default one of each way to run away: the others are operators, text and list functions that end as these do."""
LIMIT = 0.5
MEMORY = "512MB"
ROOM = 700 << 20
"""What a process may have: the limit, what it is without a query, and what one look at it later may add."""


def peak(pid):
    """Most bytes of memory that a process ever had; 0 once it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM")), 0)


@pytest.fixture(scope="module")
def session(folder_lake):
    with folder_lake.session(memory=MEMORY, threads=2) as opened:
        opened.sql("SELECT 1").fetchall()  # the process starts, however long that takes
        opened.timeout = LIMIT
        yield opened


@pytest.mark.cases(6)
@pytest.mark.parametrize("name", chosen(RUNAWAY, *KEPT))
def test_it_ends(session, name, answer, record_property):
    record_property("queries", 1)
    with pytest.raises(LimitError) as caught:
        session.sql(RUNAWAY[name]).fetchall()
    assert caught.value.code in {"E5001", "E5002"}
    assert "raise" in caught.value.hint
    assert all(peak(worker._process.pid) < (512 << 20) + ROOM for worker in process._all)
    assert answer(session, "SELECT count(*) FROM images") == [(64,)]


@pytest.mark.parametrize("form", ["to_arrow", "fetchall", "df"])
def test_an_answer_that_is_kept_has_the_limit_too(folder_lake, form):
    result = folder_lake.sql("SELECT range FROM range(4000000)", memory="30MB")
    with pytest.raises(LimitError, match="rows of the result need more than 30 MB") as caught:
        getattr(result, form)()
    assert "to_batches()" in caught.value.hint
    assert sum(batch.num_rows for batch in result.to_batches()) == 4_000_000


def test_planning_is_timed(folder_lake):
    slow = "SELECT " + ", ".join(f"image_id + {n} AS c{n}" for n in range(10_000)) + " FROM images"
    with pytest.raises(LimitError) as caught:
        folder_lake.sql(slow, timeout=0.3)
    assert caught.value.code == "E5001"


@pytest.mark.cases(1)
@pytest.mark.parametrize(("name", "code"), [("t_hang", "E5001"), ("t_eat", "E5002"), ("t_eat_elsewhere", "E5002")])
def test_functions_are_held_too(folder_lake, misbehaving, name, code):
    seconds = {"E5001": 1, "E5002": 60}[code]
    with pytest.raises(LimitError) as caught:
        folder_lake.sql(f"SELECT {name}(image_id) FROM images", timeout=seconds, memory="200MB").fetchall()
    assert caught.value.code == code
    assert folder_lake.sql("SELECT sum(t_double(image_id)) FROM images", timeout=60).fetchall() == [(64 * 63,)]


def test_enough_is_enough(folder_lake):
    """Limits do not hinder what keeps to them, spilling included."""
    query = "SELECT max(h) FROM (SELECT hash(range) AS h, range FROM range(8000000) ORDER BY h LIMIT 7999999)"
    assert folder_lake.sql(query, timeout=300, memory="200MB", threads=2).fetchall()[0][0] > 0


@pytest.mark.parametrize("memory", ["much", "12 parsecs"])
def test_a_limit_that_is_none_is_refused(folder_lake, memory):
    with pytest.raises(RequestError, match="cannot open a session"):
        folder_lake.session(memory=memory)

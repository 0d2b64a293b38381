"""Limits of ``sql``: time is hard, memory ends in a clean error, rows are counted. What went on past its limit would never end."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.__main__ import main

ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) % 7 = 0"
DEAF = "SELECT max(levenshtein(repeat(a.text, 4000), repeat(b.text, 4000))) FROM captions a, captions b"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, build):
    path = tmp_path_factory.mktemp("limits") / "a.lake"
    texts = [f"a man on wave {i}" for i in range(64)]
    ids = list(range(64))
    cb.connect(path).ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
        }
    )
    return path


def run(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "counterbalance", "sql", str(folder), *words],
        capture_output=True,
        text=True,
        cwd=folder.parent,
        timeout=500,
        check=False,
    )


def test_a_query_is_stopped_at_the_time_limit(folder):
    """In a process of its own: on a busy machine the limit may end the process."""
    done = run(folder, ENDLESS, "--timeout", "0.3")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error[E5001]: the query was stopped after 0.3 s, its time limit\nhint: ")


def test_a_query_that_does_not_listen_ends_with_the_process(folder):
    done = run(folder, DEAF, "--timeout", "0.5", "--json")
    assert done.returncode == 1
    assert done.stdout == ""
    assert json.loads(done.stderr)["error"]["code"] == "E5001"


def test_no_limit_with_zero(lake, capsys):
    assert main(["sql", lake.uri, "SELECT 1 AS a", "--timeout", "0", "--csv"]) == 0
    assert capsys.readouterr().out == "a\n1\n"


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux")
@pytest.mark.parametrize(
    "query",
    [
        "SELECT length(repeat('x', 3000000000))",
        "SELECT string_agg(repeat(a.text, 9000) || b.text) FROM captions a, captions b, captions c",
        *again("SELECT len(range(400000000))"),
    ],
)
def test_memory_runs_out_cleanly(query, folder):
    done = run(folder, query, "--memory", "200MB")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error[E5002]: ")
    assert "--memory" in done.stderr


def test_memory_is_enough_for_what_is_usual(folder):
    done = run(
        folder,
        "SELECT text, count(*) AS n FROM captions GROUP BY text ORDER BY text LIMIT 1",
        "--memory",
        "200MB",
        "--csv",
    )
    assert (done.stdout, done.returncode) == ("text,n\na man on wave 0,1\n", 0), done.stderr


def test_rows(lake, capsys):
    assert main(["sql", lake.uri, "SELECT range AS i FROM range(10)", "--max-rows", "3", "--csv"]) == 0
    out, err = capsys.readouterr()
    assert out == "i\n0\n1\n2\n"
    assert err == "note: stopped after 3 rows\n"


def test_a_slow_reader_does_not_use_up_the_time(folder, tmp_path):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "counterbalance",
            "sql",
            str(folder),
            "SELECT repeat('x', 100) AS t FROM range(20000)",
            "--csv",
            "--timeout",
            "3",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    assert process.stdout.read(4) == b"t\nxx"
    time.sleep(3.2)  # longer than the limit
    out, err = process.stdout.read(), process.stderr.read()
    process.stdout.close()
    process.stderr.close()
    assert process.wait(500) == 0, err
    assert out.count(b"\n") == 20000

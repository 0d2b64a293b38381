"""``--help``, ``--version`` and completion import nothing heavy, and little at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from counterbalance.__main__ import COMMANDS

MUST_STAY_LAZY = (
    "duckdb",
    "lance",
    "lancedb",
    "pyarrow",
    "pandas",
    "polars",
    "numpy",
    "scipy",
    "sklearn",
    "rich",
    "prompt_toolkit",
    "pygments",
    "jinja2",
    "PIL",
    "sqlglot",
    "fsspec",
    "orjson",
    "torch",
    "ray",
)
PROGRAM = """
import contextlib, io, json, os, sys
sys.argv[0] = "counterbalance"
for words, environment in json.loads(sys.argv[1]):
    if hasattr(os, "fork") and (child := os.fork()):
        assert os.waitpid(child, 0)[1] == 0, words
        continue
    os.environ |= environment
    from counterbalance.__main__ import main
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
        code = main(words)
    out.flush()
    print(json.dumps([code, out.buffer.getvalue().decode(), sorted(sys.modules)]), flush=True)
    os._exit(0)
"""
MOST_MODULES = 300
HELPS = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
TYPED = [("", "ingest"), ("audit x retrieval", "retrieval_bias"), ("sql x --form", "--format")]
QUERY = ["sql", "memory://none", "SELECT 1"]


def completion(typed):
    words = ["counterbalance", *typed.split()]
    return {
        "_COUNTERBALANCE_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(max(1, len(words) - 1)),
    }


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Exit code, output and modules of every command here: each in a fork of one process that has imported nothing of ours.

    Where nothing forks, each in a process of its own.
    """
    asked = [(words, {}) for words in [*HELPS, QUERY]] + [([], completion(typed)) for typed, _ in TYPED]
    found = []
    for part in [asked] if hasattr(os, "fork") else [[one] for one in asked]:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(part)],
            cwd=tmp_path_factory.mktemp("here"),
            capture_output=True,
            text=True,
            check=True,
        )
        found += map(json.loads, done.stdout.splitlines())
    keys = [(*words, *environment.values()) for words, environment in asked]
    return dict(zip(keys, found, strict=True))


def loaded(told, words, environment):
    code, text, modules = told[*words, *environment.values()]
    assert len(modules) < MOST_MODULES or "sql" in words, sorted(modules)
    return code, text, {m for m in modules if m.partition(".")[0] in MUST_STAY_LAZY}


@pytest.mark.parametrize("words", HELPS, ids=" ".join)
def test_help_imports_nothing_heavy(words, told):
    code, text, heavy = loaded(told, words, {})
    assert code == 0
    assert text.strip()
    assert not heavy


@pytest.mark.cases(1)
@pytest.mark.parametrize(("typed", "offered"), TYPED)
def test_completion_imports_nothing_heavy(typed, offered, told):
    code, text, heavy = loaded(told, [], completion(typed))
    assert code == 0
    assert offered in text
    assert not heavy


def test_the_list_names_modules_that_exist(told):
    """A query does load the heavy ones, so the test above can fail."""
    _, text, heavy = loaded(told, QUERY, {})
    assert not text
    assert {"duckdb", "lance", "pyarrow", "sqlglot"} & heavy

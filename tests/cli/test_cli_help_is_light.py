"""``--help``, ``--version`` and completion import nothing heavy, and little at all."""

from __future__ import annotations

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
import contextlib, io, json, sys
sys.argv[0] = "counterbalance"
from counterbalance.__main__ import main
with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out:
    code = main(json.loads(sys.argv[1]))
out.flush()
print(json.dumps([code, out.buffer.getvalue().decode(), sorted(sys.modules)]))
"""
MOST_MODULES = 300


def loaded(words, tmp_path, **environment):
    import json

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(words)],
        cwd=tmp_path,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    code, text, modules = json.loads(done.stdout)
    assert len(modules) < MOST_MODULES or "sql" in words, sorted(modules)
    return code, text, {m for m in modules if m.partition(".")[0] in MUST_STAY_LAZY}


@pytest.mark.parametrize("words", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)], ids=" ".join)
def test_help_imports_nothing_heavy(words, tmp_path):
    code, text, heavy = loaded(words, tmp_path)
    assert code == 0
    assert text.strip()
    assert not heavy


@pytest.mark.parametrize(
    ("typed", "offered"), [("", "ingest"), ("audit x retrieval", "retrieval_bias"), ("sql x --form", "--format")]
)
def test_completion_imports_nothing_heavy(typed, offered, tmp_path):
    words = ["counterbalance", *typed.split()]
    code, text, heavy = loaded(
        [],
        tmp_path,
        _COUNTERBALANCE_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(words),
        COMP_CWORD=str(max(1, len(words) - 1)),
    )
    assert code == 0
    assert offered in text
    assert not heavy


def test_the_list_names_modules_that_exist(tmp_path):
    """A query does load the heavy ones, so the test above can fail."""
    _, text, heavy = loaded(["sql", "memory://none", "SELECT 1"], tmp_path)
    assert not text
    assert {"duckdb", "lance", "pyarrow", "sqlglot"} & heavy

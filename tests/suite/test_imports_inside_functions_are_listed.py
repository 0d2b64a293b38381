"""Modules of the engine import each other at their top, but for what is too heavy for those who do not need it."""

from __future__ import annotations

import ast
import sys

import pytest

LISTED = {
    "lake": "each of its methods is a journey of its own, and a query needs none of the others",
    "dispatch": "a query neither declares nor refreshes",
    "session": "only a session with limits has a worker process, and only one on Spark needs PySpark",
    "result": "Pillow, when a picture is shown",
    "executors.worker_main": "the process answers before it loads what its job needs",
    "backends.duckdb.register": "asks for devices, when a function is called",
    "backends.spark.backend": "PySpark may not be installed",
    "backends.spark.source": "Spark's workers read tables without DuckDB",
    "search": "numpy and scipy, when a table function is called",
    "search.ranking": "scikit-learn, when texts are ranked",
    "sql.bind_tables": "when a table function is called",
    "sql.binding": "when a stored table is searched",
    "sql.queries": "sqlglot, when a file of one's own is added",
    "sql.resolver": "when a function is called, or rows are handed in",
    "sql.rewrites.view_kernels": "when image_labels is computed by its kernel",
}


@pytest.fixture
def house(project_root, monkeypatch):
    monkeypatch.syspath_prepend(str(project_root / "tools"))
    yield __import__("house")
    sys.modules.pop("house", None)


def test_only_those(house, project_root):
    known = house.modules(project_root)
    found = {
        name.removeprefix("counterbalance.engine.")
        for name, path in known.items()
        if name.startswith("counterbalance.engine.")
        and house.imports(name, ast.parse(path.read_text()), known)["inside"]
    }
    assert found == LISTED.keys()


def test_there_is_no_circle(house, project_root):
    """As `make check` holds; here with the same imports told apart."""
    known = house.modules(project_root)
    kinds = {name: house.imports(name, ast.parse(path.read_text()), known) for name, path in known.items()}
    assert house.circles({name: set().union(*own.values()) for name, own in kinds.items()}) == []


def test_a_circle_would_be_seen(house):
    assert house.circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]

"""An address that nothing installed reads names its scheme and what to install; one that nothing is known to read, those that are."""

from __future__ import annotations

import sys

import pytest

import counterbalance as cb
from counterbalance.engine.errors import StorageError
from counterbalance.ingest.files import expand

MISSING = [
    ("gs://bucket/x", "gs://", "pip install 'counterbalance[gs]'"),
    ("az://box/x", "az://", "pip install 'counterbalance[az]'"),
    ("abfss://box@account.dfs.core.windows.net/x", "abfss://", "pip install 'counterbalance[az]'"),
]


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Nothing that reads those stores is installed."""
    for name in ("gcsfs", "adlfs", "ossfs"):
        monkeypatch.setitem(sys.modules, name, None)


def told(call):
    with pytest.raises(StorageError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize(("uri", "scheme", "install"), MISSING)
@pytest.mark.parametrize(
    "ask", [expand, lambda uri: cb.connect(uri).sql("SELECT 1").fetchall()], ids=["source", "lake"]
)
def test_what_is_not_installed(uri, scheme, install, ask):
    error = told(lambda: ask(uri))
    assert (error.code, error.message) == ("E6017", f"cannot reach {uri}: what reads {scheme} is not installed")
    assert error.hint == install


def test_what_has_no_extra_is_said_as_fsspec_says_it():
    assert "ossfs" in told(lambda: expand("oss://bucket/x.csv")).hint


def test_a_file_in_an_archive_elsewhere():
    assert "what reads gs:// is" in told(lambda: expand("zip://x.csv::gs://bucket/x.zip")).message


@pytest.mark.parametrize(
    "ask", [expand, lambda uri: cb.connect(uri).sql("SELECT 1").fetchall()], ids=["source", "lake"]
)
def test_schemes_that_nothing_knows_list_those_that_are(ask):
    error = told(lambda: ask("htps://example.org/x.csv"))
    assert error.code == "E6020"
    assert "nothing is known that reads htps://; did you mean 'https'?" in error.message
    assert {"s3://,", "gs://,", "az://,", "hf://,", "https://;"} <= set(error.hint.split())


@pytest.mark.parametrize("uri", ["https://example.org/x.lake", "hf://datasets/a/b"])
def test_a_lake_lies_where_tables_can_be_written(uri):
    error = told(lambda: cb.connect(uri).sql("SELECT 1").fetchall())
    assert error.code == "E6020"
    assert "s3://" in error.hint

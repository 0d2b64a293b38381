"""Credentials that changed while the process runs are those that ask, for a lake and for sources."""

from __future__ import annotations

import pytest

from counterbalance.engine.store.location import Location
from counterbalance.ingest.files import file_system

pytest.importorskip("s3fs")


@pytest.fixture
def somebody(monkeypatch):
    def become(name):
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", name)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", f"secret of {name}")

    monkeypatch.delenv("AWS_SKIP_SIGNATURE", raising=False)
    return become


@pytest.mark.parametrize(
    "system", [lambda: Location("s3://b/x.lake").filesystem()[0], lambda: file_system("s3://b/x.csv")[0]]
)
def test_of_now(system, somebody):
    somebody("one")
    first = system()
    assert (first.key, first.secret) == ("one", "secret of one")
    assert system() is first
    somebody("two")
    assert system().key == "two"


def test_those_that_are_given_win(somebody):
    somebody("one")
    assert file_system("s3://b/x.csv", {"key": "mine", "secret": "m"})[0].key == "mine"

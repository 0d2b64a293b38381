"""`-q` before or after a command: nothing on stderr but errors; rows and exit codes are the same."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.__main__ import main


@pytest.mark.parametrize("words", [("tables", "LAKE"), ("sql", "LAKE", "SHOW TABLES"), ("audit", "--new", "mine")])
@pytest.mark.parametrize("flag", ["-q", "--quiet"])
@pytest.mark.parametrize("before", [True, False])
def test_no_notes(lake: cb.Lake, capsys, monkeypatch, tmp_path, words, flag, before):
    words = tuple(lake.uri if word == "LAKE" else word for word in words)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main([flag, *words] if before else [*words, flag]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    assert main(list(words)) == 0  # and it is not kept for the next
    loud, err = capsys.readouterr()
    assert loud == out
    assert err != ""


def test_no_progress(lake: cb.Lake, capsys):
    words = ["refresh", lake.uri, "--progress", "always"]
    lake.add_column("captions", "long", "length(text)")
    assert main(["-q", *words]) == 0
    assert capsys.readouterr().err == ""


def test_errors_still(lake: cb.Lake, capsys):
    assert main(["sql", lake.uri, "SELECT nothing FROM images", "-q"]) == 1
    assert "error[E3103]" in capsys.readouterr().err

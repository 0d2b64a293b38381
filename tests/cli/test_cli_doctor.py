"""``doctor`` finds what is missing."""

from __future__ import annotations

import importlib.metadata
import json

from counterbalance.__main__ import main
from counterbalance.cli import doctor


def rows(capsys):
    return {r["name"]: r for r in json.loads(capsys.readouterr().out)}


def test_everything_needed_is_there(capsys):
    assert main(["doctor", "--json"]) == 0
    found = rows(capsys)
    assert found["duckdb"]["status"] == "ok"
    assert found["duckdb"]["version"] == importlib.metadata.version("duckdb")
    assert found["torch"]["part"] == "models"
    assert found["coco"]["part"] == "formats"
    assert "pytest" not in found


def test_missing_parts_fail(monkeypatch, capsys):
    def version(name):
        if name == "sqlglot":
            raise importlib.metadata.PackageNotFoundError(name)
        return "0.1" if name == "duckdb" else importlib.metadata.version(name)

    monkeypatch.setattr(doctor, "version", version)
    assert main(["doctor", "--json"]) == 1
    out, err = capsys.readouterr()
    found = {r["name"]: r for r in json.loads(out)}
    assert found["sqlglot"]["status"] == "missing"
    assert found["duckdb"]["status"] == "wrong version"
    assert err == "not in order: duckdb, sqlglot\n"


def test_a_plug_in_that_does_not_load_is_named(monkeypatch, capsys):
    bad = importlib.metadata.EntryPoint("odd", "counterbalance.no_such_module:read", "counterbalance.formats")
    monkeypatch.setattr(doctor, "entry_points", lambda group: [bad] if group == "counterbalance.formats" else [])
    assert main(["doctor", "--json"]) == 1
    assert rows(capsys)["odd"]["status"].startswith("ModuleNotFoundError: ")


def test_what_a_lake_keeps(lake, monkeypatch, capsys):
    """Few captions need nothing; of many it is told what would be kept, and whether it is fresh."""
    main(["doctor", lake.uri, "--json"])
    assert {r["status"] for r in rows(capsys).values() if r["part"] == "kept"} == {"ok"}
    monkeypatch.setattr(doctor, "_MANY", 1)
    assert main(["doctor", lake.uri, "--json"]) == 0
    out, err = capsys.readouterr()
    found = {r["name"]: r["status"] for r in json.loads(out) if r["part"] == "kept"}
    assert found["prepared_gender"] == found["captions.vader"] == "not kept"
    assert f"audits of captions would be faster after: counterbalance recipe {lake.uri} prepare\n" in err
    lake.recipe("prepare")
    main(["doctor", lake.uri, "--json"])
    assert {r["status"] for r in rows(capsys).values() if r["part"] == "kept"} == {"ok"}

"""``sample``, ``demo`` and ``report`` hand what was typed to the functions behind them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

import counterbalance
from counterbalance.__main__ import main


@pytest.fixture
def calls(monkeypatch):
    found = []

    def stub(name, function):
        module = ModuleType(name)
        setattr(module, function, lambda *args, **options: found.append((function, args, options)))
        monkeypatch.setitem(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        monkeypatch.setattr(importlib.import_module(parent), child, module, raising=False)

    stub("counterbalance.sample", "generate")
    stub("counterbalance.demo", "run")
    stub("counterbalance.report.build", "write")
    return found


def test_sample(calls, capsys):
    assert main(["sample", "drawn", "--images", "7", "--seed", "3", "--progress", "never"]) == 0
    ((_, args, options),) = calls
    options.pop("progress")(7, 7)
    assert (args, options) == ((Path("drawn"),), {"images": 7, "seed": 3})
    assert capsys.readouterr().out == "7 images in drawn\n"


@pytest.mark.parametrize(("words", "folder"), [([], "counterbalance-demo"), (["here"], "here")])
def test_demo(words, folder, calls):
    assert main(["demo", *words]) == 0
    (_, args, options) = calls[0]
    assert args == (Path(folder),)
    assert options["out"].writable()


@pytest.mark.parametrize("blur", [False, True])
def test_report(blur, calls, capsys):
    words = ["--blur", "--model-bias", "clip_bias"] if blur else []
    assert main(["report", "x.lake", "-o", "page.html", *words]) == 0
    ((_, (lake, path), options),) = calls
    assert isinstance(lake, counterbalance.Lake)
    options.pop("progress")(1)
    wanted = {"blur": blur, "dataset_bias": "dataset_bias", "model_bias": "clip_bias" if blur else "model_bias"}
    wanted |= {"examples": 0, "pinned": (), "engine": "duckdb"}
    assert (lake.uri, path, options) == ("x.lake", Path("page.html"), wanted)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "report written to page.html\n")


@pytest.mark.parametrize("name", ["page.pdf", "page"])
def test_report_is_a_page(name, capsys, tmp_path):
    assert main(["report", "x.lake", "-o", str(tmp_path / name)]) == 2
    assert "-o page.html" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

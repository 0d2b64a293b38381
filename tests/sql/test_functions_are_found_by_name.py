"""A function's module is imported when the function is called, not to learn that it is there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.errors import RequestError

ENTRIES = sorted(entry_points(group=functions.GROUP), key=lambda e: e.name)
PROGRAM = """
import sys
import counterbalance
print(counterbalance.connect(sys.argv[1]).sql(sys.argv[2]).fetchall())
print(*sorted(sys.modules))
"""


def modules_of(lake, query):
    done = subprocess.run([sys.executable, "-c", PROGRAM, lake.uri, query], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[1].split())


@pytest.fixture
def lake(disk_lake, build):
    disk_lake.ingest(
        {
            "images": build.images(image_id=[1], key=["a"]),
            "captions": build.captions(caption_id=[1], image_id=[1], text=["a dog"]),
        }
    )
    return disk_lake


@pytest.mark.parametrize("module", sorted({e.value for e in ENTRIES}))
def test_every_function_of_a_module_is_an_entry_point(module):
    importlib.import_module(module)
    declared = {f.name for f in functions.imported() if f.call.__module__ == module}
    assert declared == {e.name for e in ENTRIES if e.value == module}


def test_a_plain_query_imports_none(lake):
    modules = modules_of(lake, "SELECT count(*) FROM captions")
    assert not {m for m in modules if m.startswith("counterbalance.udfs.")}
    assert not modules & {"sklearn", "scipy", "pygments", "torch", "rich", "prompt_toolkit"}


def test_a_query_imports_what_it_calls(lake):
    modules = modules_of(lake, "SELECT vader(text) FROM captions")
    assert "counterbalance.udfs.vader" in modules
    assert not modules & {"counterbalance.udfs.words", "counterbalance.udfs.models.clip"}


def test_a_function_of_ones_own_cannot_take_the_name_of_one_that_was_not_imported():
    with pytest.raises(RequestError, match=r"already declared by counterbalance\.udfs\.vader") as caught:
        cb.udf(returns=pa.float64(), parameters={"text": pa.string()}, version="1", name="vader")(lambda: None)
    assert caught.value.code == "E3004"


def test_the_list_says_what_the_modules_say(project_root, monkeypatch):
    monkeypatch.syspath_prepend(str(project_root / "tools"))
    list_functions = importlib.import_module("list_functions")
    said = list_functions.PATH.read_text(encoding="utf-8")
    assert said == list_functions.text(), "write it anew: python tools/list_functions.py"


def test_a_list_of_functions_imports_none(lake):
    modules = modules_of(lake, "SELECT name, signature, returns, version FROM meta.functions")
    assert not {m for m in modules if m.startswith("counterbalance.udfs.")}


def test_a_mistake_imports_no_function(lake):
    program = PROGRAM.replace("print(counterbalance", "try: counterbalance").replace(
        ".fetchall())", ".fetchall()\nexcept Exception as e: print(e.code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, lake.uri, "SELECT txt FROM captions"],
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules = done.stdout.splitlines()
    assert code == "E3103"
    imported = {m for m in modules.split() if m.startswith("counterbalance.udfs.")}
    assert imported <= {"counterbalance.udfs.wordlists"}, "it knows the names of word lists"


def test_a_function_of_another_package_is_imported_to_be_listed(monkeypatch, tmp_path):
    (tmp_path / "t_listed.py").write_text(
        "import counterbalance as cb, pyarrow as pa\n"
        "@cb.udf(returns=pa.int64(), parameters={}, version='7')\n"
        "def t_listed():\n    return 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    entry = EntryPoint("t_listed", "t_listed", functions.GROUP)
    monkeypatch.setattr(functions, "_installed", lambda: {"t_listed": entry})
    monkeypatch.setattr(functions, "_registry", {})
    assert [(f.name, f.version) for f in functions.function_list()] == [("t_listed", "7")]

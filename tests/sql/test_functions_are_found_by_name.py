"""A function's module is imported when the function is called, not to learn that it is there."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.metadata import entry_points

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
        cb.udf(returns=None, parameters={}, version="1", name="vader")(lambda: None)
    assert caught.value.code == "E3004"

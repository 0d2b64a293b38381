"""Models whose weights are not here are errors, and nothing is asked of the network; with ``--allow-download`` it is."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys

import pyarrow as pa
import pytest

import counterbalance as cb

pytest.importorskip("torch")
pytest.importorskip("huggingface_hub")

GIVEN = {
    "images": "[1, 2, 3, 4, 5, 6, 7, 8]",
    "texts": "['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']",
    "attack_texts.labels": "['x', 'x', 'x', 'x', 'y', 'y', 'y', 'y']",
    "attributes": "'words.csv'",
    "attacker": "'bert'",
    "text": "'a <mask> man'",
    pa.binary(): "image",
    pa.string(): "'a man'",
    pa.float64(): "1.0",
    pa.int32(): "1",
    pa.int64(): "1",
    pa.list_(pa.string()): "['a', 'b']",
}
PROGRAM = """
import json, sys
import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError
lake, told = cb.connect(sys.argv[1]), {}
for name, text in json.load(sys.stdin).items():
    try:
        told[name] = repr(lake.sql(text).fetchall())
    except CounterbalanceError as error:
        told[name] = error.code
print(json.dumps(told))
"""


def call(function):
    """A call of a function that wants a model: its own default, or one that is nowhere; of the other arguments those that must be."""
    given = []
    for parameter in function.parameters:
        must = type(parameter.default) is object
        if parameter.name == "model" and must:
            given.append("model := 'nobody/nothing'")
        elif must or parameter.name == "attacker":
            named = GIVEN.get(f"{function.name}.{parameter.name}") or GIVEN.get(parameter.name)
            given.append(f"{parameter.name} := {named or GIVEN[parameter.type]}")
    return f"SELECT {function.name}({', '.join(given)}) FROM images"


@pytest.fixture
def run(without_network, disk_lake, build, tmp_path):
    """Run statements over one picture, by name, where the network is death and no weights are cached; what they told, or how they ended."""
    if not without_network:
        pytest.skip("the kernel does not stop calls here")
    disk_lake.ingest({"images": build.images(image_id=[1], key=["one"], image=[b"no picture"])})
    (tmp_path / "words.csv").write_text("term,class,level\nindoor,scene,image\nred,car,object\n")

    def told(statements, **environment):
        done = subprocess.run(
            [*without_network, sys.executable, "-c", PROGRAM, disk_lake.uri],
            input=json.dumps(statements),
            cwd=tmp_path,
            env={**os.environ, "COUNTERBALANCE_ALLOW_DOWNLOAD": "", "HF_HOME": str(tmp_path / "cache"), **environment},
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        return json.loads(done.stdout) if done.returncode == 0 else done.returncode

    return told


def test_no_function_fetches_weights(run, record_property):
    named = {n: f for n, f in cb.functions().items() if f.call.__module__.startswith("counterbalance.udfs.")}
    asked = {n: call(f) for n, f in named.items() if any(p.name == "model" for p in f.parameters)}
    assert len(asked) > 20
    told = run(asked)
    assert isinstance(told, dict), told
    assert {n: t for n, t in told.items() if t not in {"E1102", "E1111"}} == {}
    record_property("models", len(told))


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["embed_sentence", "embed_image"])
def test_they_do_where_it_is_allowed(run, name):
    asked = {name: call(cb.functions()[name])}
    assert run(asked, COUNTERBALANCE_ALLOW_DOWNLOAD="1") == -signal.SIGSYS


@pytest.mark.thorough
def test_models_that_are_here_need_no_network(run, tiny_clip, tiny_detector):
    if importlib.util.find_spec("ultralytics") is None:  # importing it changes the process, unless our module does it
        pytest.skip("needs ultralytics")
    clip = tiny_clip()
    asked = {
        "embed_text": f"SELECT len(embed_text('a man', model := '{clip}')) FROM images",
        "detect": f"SELECT len(detect(NULL::BLOB, model := '{tiny_detector}')) FROM images",
    }
    assert run(asked) == {"embed_text": "[(16,)]", "detect": "[(None,)]"}

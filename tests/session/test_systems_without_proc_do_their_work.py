"""What macOS has not (``/proc``, processors of a process, a limit of address space) is not needed: a lake is made, asked and kept.

Limits of memory are the system's, and hold where there is one; limits of time hold everywhere.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

OTHER = """
import builtins, io, os, pathlib, resource

del os.sched_getaffinity

def guarded(call):
    def run(path, *given, **more):
        if isinstance(path, (str, bytes, os.PathLike)) and os.fsdecode(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", os.fsdecode(path))
        return call(path, *given, **more)
    return run

for module, names in ((os, ("open", "scandir", "listdir", "readlink", "stat")), (io, ("open",)), (builtins, ("open",))):
    for name in names:
        setattr(module, name, guarded(getattr(module, name)))

set_limit = resource.setrlimit
def setrlimit(which, limits):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    set_limit(which, limits)
resource.setrlimit = setrlimit
"""
"""Takes away what is Linux's; Python runs it first in this process and in those that it starts."""
WORK = """
import os, pathlib, sys
import pyarrow as pa
import counterbalance as cb
from counterbalance.engine.errors import LimitError

assert not pathlib.Path("/proc/self").exists() and not hasattr(os, "sched_getaffinity")
lake = cb.connect(sys.argv[1])
ids = list(range(200))
texts = [("a man", "a woman", "a dog")[i % 3] for i in ids]
lake.ingest({
    "images": pa.table({"image_id": ids, "key": [str(i) for i in ids]}),
    "captions": pa.table({"caption_id": ids, "image_id": ids, "text": texts}),
})
lake.sql("ALTER TABLE captions ADD COLUMN tone AS (vader_scores(text))")
stages = lake.refresh(executor="local", workers=2).stages
assert [(s.updated, s.errors) for s in stages] == [(200, 0)], stages
assert lake.sql("SELECT count(tone) FROM captions", memory="1GB", timeout=60).fetchall() == [(200,)]
assert {row["label"] for row in lake.audit("demographics").to_arrow().to_pylist()} >= {"female", "male"}
try:
    lake.sql("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", timeout=1).fetchall()
except LimitError as error:
    assert error.code == "E5001", error
else:
    raise AssertionError("it went on")
lake.tag("v1")
assert lake.verify().sound
print("done")
"""


@pytest.mark.slow
def test_a_lake_is_made_asked_and_kept(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(OTHER)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ended = subprocess.run(
        [sys.executable, "-c", WORK, str(tmp_path / "a.lake")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr[-2000:]

"""What tests of sessions share: a lake in a folder, and files of functions that misbehave."""

from __future__ import annotations

import contextlib

import pytest

import counterbalance as cb
from counterbalance.engine.errors import LimitError

FUNCTIONS = '''
import ctypes, time
import pyarrow as pa
import counterbalance as cb


@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1", name="t_crash")
def t_crash(x):
    """Read what nobody may read."""
    return pa.array([ctypes.string_at(0)] * len(x))


@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1", name="t_hang")
def t_hang(x):
    """Never come back."""
    while True:
        time.sleep(1)


@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1", name="t_eat")
def t_eat(x):
    """Want all the memory, a little at a time."""
    held = []
    while True:
        held.append(b"x" * 10_000_000)


@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1", name="t_eat_elsewhere")
def t_eat_elsewhere(x):
    """Want all the memory in a process of its own."""
    import subprocess, sys

    subprocess.run([sys.executable, "-c", "held = []\\nwhile True: held.append(b'x' * 10_000_000)"])


@cb.udf(returns=pa.int64(), parameters={"x": pa.int64()}, version="1", name="t_double")
def t_double(x):
    """Do what it should."""
    import pyarrow.compute as pc

    return pc.multiply(x, 2)
'''


@pytest.fixture(scope="session")
def folder_lake(tmp_path_factory, build):
    """A lake in a folder: 64 images with a caption each, and labels of a closed attribute."""
    lake = cb.connect(tmp_path_factory.mktemp("limits") / "a.lake")
    ids = list(range(64))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"a thief on wave {i}" for i in ids]),
            "labels": build.labels(
                label_id=ids,
                image_id=ids,
                attribute=["perceived_gender"] * 64,
                value=[("female", "male")[i % 2] for i in ids],
                annotator=["people"] * 64,
            ),
        }
    )
    return lake


@pytest.fixture(scope="session")
def answer():
    """Ask a quick query until it is answered: where the machine is busy, it meets a short limit as well now and then."""

    def ask(session, query):
        for _ in range(50):
            with contextlib.suppress(LimitError):
                return session.sql(query).fetchall()
        return None

    return ask


@pytest.fixture(scope="session")
def misbehaving(tmp_path_factory):
    """The path of a file of functions: ``t_crash``, ``t_hang``, ``t_eat`` and ``t_double``, which is well."""
    from counterbalance.engine.functions import load_file

    path = tmp_path_factory.mktemp("functions") / "misbehaving.py"
    path.write_text(FUNCTIONS)
    load_file(str(path))
    return path

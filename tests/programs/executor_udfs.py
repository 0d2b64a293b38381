"""Functions that executors are tried with: of every kind of value, failing in every way."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from counterbalance.engine.functions import Parameter, Partial, udf

TEXT = Parameter("text", pa.string())
FOLDER = Parameter("folder", pa.string(), constant=True)
SHAPE = pa.struct([("letters", pa.int32()), ("words", pa.list_(pa.string()))])


@udf(returns=pa.float64(), parameters=[TEXT], version="1", batch_size=64)
def x_vowels(text):
    """Share of vowels, NULL for no text."""
    return pa.array([None if t is None else sum(c in "aeiou" for c in t) / (len(t) + 0.1) for t in text.to_pylist()])


@udf(returns=pa.string(), parameters=[TEXT], version="1", batch_size=10)
def x_node(text):
    """The node of a Ray cluster that it runs on; it takes its time."""
    import ray

    time.sleep(0.3)
    return pa.array([ray.get_runtime_context().get_node_id()] * len(text))


@udf(returns=SHAPE, parameters=[TEXT], version="1", batch_size=64)
def x_shape(text):
    """Letters and words."""
    return pa.array([None if t is None else {"letters": len(t), "words": t.split()} for t in text.to_pylist()], SHAPE)


@udf(returns=pa.list_(pa.float32(), 4), parameters=[TEXT], version="1", batch_size=64)
def x_vector(text):
    """Four numbers."""
    made = [None if t is None else np.sin(np.arange(4, dtype=np.float32) * len(t)).tolist() for t in text.to_pylist()]
    return pa.array(made, pa.list_(pa.float32(), 4))


@udf(returns=pa.binary(), parameters=[Parameter("image", pa.binary())], version="1", batch_size=64)
def x_reversed(image):
    """Bytes in the other order."""
    return pa.array([None if b is None else b[::-1] for b in image.to_pylist()], pa.binary())


@udf(returns=pa.int64(), parameters=[TEXT], version="1", batch_size=64)
def x_picky(text):
    """Fails by itself for some rows."""
    texts = text.to_pylist()
    failed = {i: f"no {t}" for i, t in enumerate(texts) if t is not None and t.endswith("3")}
    return Partial(pa.array([None if t is None else len(t) for t in texts], pa.int64()), failed)


@udf(returns=SHAPE, parameters=[TEXT], version="1", batch_size=64)
def x_picky_shape(text):
    """As x_picky, with structs."""
    texts = text.to_pylist()
    made = pa.array([{"letters": len(t or ""), "words": [t or ""]} for t in texts], SHAPE)
    return Partial(made, {i: "three" for i, t in enumerate(texts) if t is not None and t.endswith("3")})


@udf(returns=pa.list_(pa.float32(), 2), parameters=[TEXT], version="1", batch_size=64)
def x_picky_vector(text):
    """As x_picky, with vectors."""
    texts = text.to_pylist()
    made = pa.array([[len(t or ""), 1.0] for t in texts], pa.list_(pa.float32(), 2))
    return Partial(made, {i: "three" for i, t in enumerate(texts) if t is not None and t.endswith("3")})


@udf(returns=pa.int64(), parameters=[TEXT], version="1", batch_size=64)
def x_strict(text):
    """Raises for a batch that holds a bad row."""
    if any(t is not None and t.endswith("7") for t in text.to_pylist()):
        raise ValueError("a seven\nand more")
    return pa.array([len(t or "") for t in text.to_pylist()], pa.int64())


@udf(returns=pa.int64(), parameters=[TEXT], version="1", batch_size=64)
def x_never(text):
    """Raises always."""
    raise KeyError("never")


@udf(returns=pa.int64(), parameters=[TEXT], version="1", batch_size=64, on_error="raise")
def x_must(text):
    """Must not fail, and does."""
    return x_picky(text)


@udf(returns=pa.int64(), parameters=[TEXT], version="1")
def x_short(text):
    """Returns too little."""
    return pa.array([1], pa.int64())


@udf(returns=pa.int64(), parameters=[TEXT], version="1", batch_size=1024)
def x_small(text):
    """Has no memory for more than 100 rows."""
    if len(text) > 100:
        raise MemoryError(f"{len(text)} rows")
    return pa.array([len(t or "") for t in text.to_pylist()], pa.int64())


@udf(returns=pa.int64(), parameters=[TEXT, FOLDER], version="1", batch_size=64)
def x_huge(text, folder):
    """Has no memory for one of the rows; says how many rows it was given."""
    write(folder, "calls", f"{len(text)}\n")
    if any(t is not None and t.endswith(" 77") for t in text.to_pylist()):
        raise MemoryError
    return pa.array([len(t or "") for t in text.to_pylist()], pa.int64())


@udf(returns=pa.string(), parameters=[TEXT, FOLDER], version="1", batch_size=16)
def x_counted(text, folder):
    """Its text, written down first."""
    write(folder, "calls", "".join(f"{t}\n" for t in text.to_pylist()))
    time.sleep(0.002)
    return text


@udf(
    returns=pa.string(),
    parameters=[
        TEXT,
        FOLDER,
        Parameter("how", pa.string(), constant=True),
        Parameter("times", pa.int64(), default=1, constant=True),
    ],
    version="1",
    batch_size=16,
)
def x_dies(text, folder, how, times):
    """Ends its process at the first texts that end with 50, so many times."""
    if any(t.endswith(" 50") for t in text.to_pylist()):
        before = len(list(Path(folder).glob("died-*")))
        if before < times:
            write(folder, f"died-{before}", "")
            os._exit(7) if how == "exit" else os.kill(os.getpid(), signal.Signals[how])
            time.sleep(60)
    write(folder, "calls", "".join(f"{t}\n" for t in text.to_pylist()))
    return text


@udf(returns=pa.int64(), parameters=[TEXT, FOLDER], version="1", batch_size=16)
def x_hangs(text, folder):
    """Says who it is, starts another process, and takes a minute."""
    import subprocess

    other = subprocess.Popen(["sleep", "600"])
    write(folder, f"started-{os.getpid()}", f"{other.pid}")
    time.sleep(600)
    return pa.array([0] * len(text), pa.int64())


@udf(returns=pa.string(), parameters=[TEXT], version="1")
def x_environment(text):
    """What its process is like."""
    print("printed by a function")  # noqa: T201
    os.write(1, b"written by a function\n")
    told = f"{os.getpid()} {os.environ.get('OMP_NUM_THREADS')} {os.read(0, 10)!r}"
    return pa.array([told] * len(text))


@udf(
    returns=pa.string(),
    parameters=[TEXT, FOLDER, Parameter("devices", pa.int64(), constant=True)],
    version="1",
    device="auto",
)
class x_device:  # noqa: N801
    """Where it was loaded; waits until it was loaded on so many devices."""

    def __init__(self, folder, devices):
        self.folder, self.devices = Path(folder), devices

    def open(self, device):
        self.device = device
        write(self.folder, f"open-{device}", f"{os.getpid()}\n")

    def __call__(self, text):
        end = time.monotonic() + 30
        while len(list(self.folder.glob("open-*"))) < self.devices and time.monotonic() < end:
            time.sleep(0.01)
        return pa.array([self.device] * len(text))

    def close(self):
        write(self.folder, f"close-{self.device}", f"{os.getpid()}\n")


def write(folder, name, text):
    with (Path(folder) / name).open("a", encoding="utf-8") as file:
        file.write(text)


@udf(returns=pa.string(), parameters=[TEXT, FOLDER], version="1", batch_size=16)
def x_forks(text, folder):
    """Dies once, and leaves a process behind that holds all that was open."""
    if not Path(folder, "forked").exists():
        write(folder, "forked", "")
        if os.fork() == 0:
            time.sleep(600)
        os._exit(9)
    return text


@udf(returns=pa.int64(), parameters=[TEXT], version="1")
class x_stays:  # noqa: N801
    """Does its work and cannot be closed."""

    def __call__(self, text):
        return pa.array([1] * len(text))

    def close(self):
        time.sleep(600)

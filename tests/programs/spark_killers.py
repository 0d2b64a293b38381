"""A function that kills the Spark worker it runs on, once: whoever makes the file named by its constant."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from counterbalance.engine.functions import Parameter, udf


@udf(
    returns=pa.int64(),
    parameters=[Parameter("number", pa.int64()), Parameter("mark", pa.string(), constant=True)],
    version="1",
)
def doubled_or_dead(number: pa.Array, mark: str) -> pa.Array:
    """Twice a number; the first worker that is asked for it dies."""
    daemon = os.getppid()  # which Spark forks its Python workers from
    if b"pyspark" in Path(f"/proc/{daemon}/cmdline").read_bytes():
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            return pc.multiply(number, 2)
        worker = int(Path(f"/proc/{daemon}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        os.kill(worker, signal.SIGKILL)
    return pc.multiply(number, 2)

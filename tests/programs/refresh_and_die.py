"""Refresh a lake and end by SIGKILL right after one commit. Arguments: lake; ``fill``, ``declare`` or ``view``."""

from __future__ import annotations

import os
import signal
import sys

import pyarrow as pa
import pyarrow.compute as pc

import counterbalance as cb
from counterbalance.engine.store import columns, tables

URI, MOMENT = sys.argv[1:]


@cb.udf(returns=pa.int64(), parameters={"text": pa.string()}, version="2")
def r_killed(text: pa.Array) -> pa.Array:
    """Length and a thousand."""
    return pc.add(pc.utf8_length(text), 1000)


def dying(call, table):
    def run(location, name, *rest, **named):
        result = call(location, name, *rest, **named)
        if name == table:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return run


if MOMENT == "view":
    tables.delete = dying(tables.delete, "v")
else:
    setattr(columns, MOMENT, dying(getattr(columns, MOMENT), "captions"))
cb.connect(URI).refresh(executor="inline")

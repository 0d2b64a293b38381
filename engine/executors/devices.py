"""Which devices a column's workers get. Whether there are GPUs is asked where the model will run, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterbalance.engine.errors import RequestError
from counterbalance.engine.functions import load_file
from counterbalance.engine.sql.expression import analyse
from counterbalance.engine.store import pictures, tables
from counterbalance.engine.store.location import Location

if TYPE_CHECKING:
    from counterbalance.engine.executors.protocol import Job
    from counterbalance.engine.sql.expression import Expression


def expression(job: Job) -> Expression:
    """Return what a job computes.

    Raises:
        StorageError: Its table is gone.
    """
    for file in job.udfs:
        load_file(file)
    dataset = tables.existing(Location(job.uri, dict(job.storage_options)), job.table, job.version)
    return analyse(job.sql, job.table, pictures.readable(dataset.schema.names), job.type)


def wanted(job: Job) -> bool:
    """Tell whether a function of the job can use an accelerator."""
    return expression(job).device == "auto"


def available(wish: str, *, wants: bool) -> list[str]:
    """Return the devices of this machine that a wish names, at least one.

    Args:
        wish: ``"auto"``, ``"cpu"``, ``"cuda"`` (every GPU), or some, such as ``"cuda:1"`` or ``"cuda:0,2"``.
        wants: Whether a function can use an accelerator; without, it is the CPU whatever the wish.

    Raises:
        RequestError: GPUs are asked for, and torch sees none.

    Example:
        >>> available("cpu", wants=True), available("cuda", wants=False)
        (['cpu'], ['cpu'])
    """
    if not wants or wish == "cpu":
        return ["cpu"]
    count = gpus()
    every = [f"cuda:{i}" for i in range(count)]
    if wish == "auto":
        return every or ["cpu"]
    named = [f"cuda:{n}" for n in wish.removeprefix("cuda:").split(",")] if wish.startswith("cuda:") else every
    if not every or not set(named) <= set(every) or wish.partition(":")[0] != "cuda":
        seen = f"torch sees {count} here" if count else "torch is not installed here, or sees no GPU"
        raise RequestError(f"no device {wish!r}: {seen}", code="E3462", hint="say --device auto or cpu")
    return named


def gpus() -> int:
    """Return how many GPUs torch sees in this process; none without torch."""
    try:
        import torch
    except ImportError:
        return 0
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0

"""Executors by name: adding one is a class and a line in the entry point group ``counterbalance.executors``.

The class is called with ``workers`` (a number, or ``None`` for what suits it) and ``device`` (``"auto"``, ``"cpu"``,
``"cuda"`` or ``"cuda:0"`` …), and has the one method of ``protocol.Executor``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.plugins import by_name

if TYPE_CHECKING:
    from counterbalance.engine.executors.protocol import Executor

GROUP: Final = "counterbalance.executors"
_DEVICE: Final = re.compile(r"auto|cpu|cuda(:\d+)?")


def names() -> list[str]:
    """Return names of the executors that are installed, in order.

    Example:
        >>> names()
        ['inline', 'local', 'ray']
    """
    return sorted(by_name(GROUP))


def executor(name: str, *, workers: int | None = None, device: str = "auto") -> Executor:
    """Return an executor, ready to run jobs.

    Args:
        name: One of ``names()``.
        workers: How many at once; ``None`` for one a device.
        device: ``"auto"`` (GPUs for functions that use them, when there are any), ``"cpu"``, ``"cuda"``, ``"cuda:1"``.

    Raises:
        NotFoundError: There is no such executor.
        RequestError: No such device, no worker at all, or what the executor needs is not installed.
    """
    if workers is not None and workers < 1:
        raise RequestError(
            f"workers must be at least 1, not {workers}", code="E3460", hint="1 or more; leave it out for one a device"
        )
    if not _DEVICE.fullmatch(device):
        raise RequestError(f"no device {device!r}", code="E3461", hint="devices: auto, cpu, cuda, cuda:0 …")
    found = by_name(GROUP)
    if name not in found:
        raise NotFoundError(
            f"no executor {name!r}{did_you_mean(name, found)}",
            code="E1013",
            hint="executors: " + ", ".join(sorted(found)),
        )
    made: Executor = found[name].load()(workers=workers, device=device)
    return made

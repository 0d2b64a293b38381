"""Calls of functions without SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from counterbalance.engine.functions import function

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def called(name: str, constants: Mapping[str, Any], *columns: Iterable[Any], device: str = "cpu") -> Any:
    """Open a function, call it once, and close it.

    Args:
        name: The function.
        constants: Values of its constant parameters.
        columns: Of the other parameters, in their order: values that become arrays of the declared types, or arrays.
        device: Where it runs.
    """
    declared = function(name)
    types = [p.type for p in declared.parameters if not p.constant]
    opened = declared.open(constants, device)
    try:
        return opened([c if isinstance(c, pa.Array) else pa.array(c, t) for c, t in zip(columns, types, strict=True)])
    finally:
        opened.close()

"""A lake that is made once and copied for every test that changes it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake


def filled(kept: Path, lake: Lake, fill: Callable[[Lake], object]) -> Lake:
    """Return a lake on the disk that nothing was written to with what ``fill`` writes.

    The first that asks fills its own and keeps a copy at ``kept``, of a folder of its module; the others get that copied.
    """
    if kept.exists():
        shutil.copytree(kept, lake.location.path)
    else:
        fill(lake)
        shutil.copytree(lake.location.path, kept.with_suffix(".part"))
        kept.with_suffix(".part").rename(kept)
    return lake

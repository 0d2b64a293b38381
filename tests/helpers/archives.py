"""Tar files in memory."""

from __future__ import annotations

import io
import tarfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def tar_bytes(members: Iterable[tuple[Any, ...]], kind: int = tarfile.PAX_FORMAT, mode: str = "w") -> bytes:
    """Pack members, each a name, its bytes and, if wanted, attributes of its ``TarInfo``."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=kind) as tar:
        for name, data, *more in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in (more[0] if more else {}).items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()

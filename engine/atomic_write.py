"""Files that appear in one step."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write(target: Path, content: str | bytes, *, durable: bool = False) -> Path:
    """Write a file, in the place of one that is there; readers see the old one or the new one, whole.

    Args:
        target: The file; its folder is made where it is not there.
        content: What it will hold; a text as UTF-8.
        durable: Have it on the disk before it takes its name.

    Returns:
        The file.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)
        if durable:
            sync(draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target


def sync(path: Path) -> None:
    """Have a file's content, or the names in a folder, on the disk (``fsync``)."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

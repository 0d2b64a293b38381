"""Say which options a format ignores, so that nobody waits for what they ask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from counterbalance.engine.ingest_types import ReadOptions

OF_TABLES: Final = frozenset({"captions", "labels", "detections"})
"""Formats of tables that name pictures which lie elsewhere, and read none."""


def describe(format_: str, options: ReadOptions, *names: str) -> list[str]:
    """Return a note that names the options which were given for nothing, if any was.

    Args:
        format_: Name of the format.
        options: What the caller asked for.
        names: Fields of it that the format does not read.

    Example:
        >>> from counterbalance.engine.ingest_types import ReadOptions
        >>> describe("laion", ReadOptions(store_images=True), "images", "store_images")
        ['the format laion ignores store_images']
        >>> describe("laion", ReadOptions(store_images=False), "images", "store_images")
        []
    """
    given = [name for name in names if getattr(options, name)]
    more = "; without a format, the pictures of that folder are read, too" * (
        "images" in given and format_ in OF_TABLES
    )
    return [f"the format {format_} ignores {', '.join(given)}{more}"] if given else []

"""Options that a format has no use for: the reader says so, for nobody else can."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterbalance.engine.ingest_types import ReadOptions


def describe(format_: str, options: ReadOptions, *names: str) -> list[str]:
    """One note that names the options which were given for nothing, if any was.

    Args:
        format_: Name of the format.
        options: What the caller asked for.
        names: Fields of it that the format does not read.

    Example:
        >>> from counterbalance.engine.ingest_types import ReadOptions
        >>> describe("laion", ReadOptions(store_images=True), "images", "store_images")
        ['the format laion has no use for store_images: it changes nothing']
        >>> describe("laion", ReadOptions(store_images=False), "images", "store_images")
        []
    """
    given = [name for name in names if getattr(options, name)]
    change = "it changes" if len(given) == 1 else "they change"
    return [f"the format {format_} has no use for {', '.join(given)}: {change} nothing"] if given else []

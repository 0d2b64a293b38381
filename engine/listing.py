"""Things by name that show themselves with their line of help, in a shell and in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

Thing = TypeVar("Thing")


class Listing(dict[str, Thing]):
    """A dictionary of what has a line of help, ``doc``.

    Example:
        >>> from types import SimpleNamespace as Thing
        >>> Listing(short=Thing(doc="What it does."), longer=Thing(doc="More."))
        short   What it does.
        longer  More.
    """

    def __repr__(self) -> str:
        return as_text((name, getattr(thing, "doc", "")) for name, thing in self.items())

    def _repr_html_(self) -> str:
        return as_html((name, getattr(thing, "doc", "")) for name, thing in self.items())


def as_text(rows: Iterable[tuple[str, str]]) -> str:
    """Return names and lines of help in two columns."""
    rows = list(rows)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(f"{name.ljust(width)}  {doc}".rstrip() for name, doc in rows) or "nothing"


def as_html(rows: Iterable[tuple[str, str]]) -> str:
    """Return the same as a table for a page."""
    left = '<td style="text-align: left">'
    cells = (f"{left}<code>{html.escape(name)}</code></td>{left}{html.escape(doc)}</td>" for name, doc in rows)
    return f"<table>{''.join(f'<tr>{own}</tr>' for own in cells)}</table>"

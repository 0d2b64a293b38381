"""Name what a report leaves out, by what is missing for it, and the command that would add it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from counterbalance.engine.sql.diagnostics.nothing_to_count import command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from counterbalance.report.figures import Section

_RECIPES: Final = {
    "scenes": ("Kinds of scenes", "caption_clusters"),
    "topics": ("Topics", "sae_topics --param checkpoint=FOLDER"),
}
"""Chapters that a recipe makes of captions: title, and what is typed after the lake."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Things that are left out for one reason.

    Args:
        why: What is missing, or why there is nothing to show.
        titles: Of what is left out.
        commands: What adds it.
    """

    why: str
    titles: list[str] = field(default_factory=list)
    commands: Sequence[str] = ()


def shown(sections: Sequence[Section]) -> list[Section]:
    """Return the chapters with what they have to show; those with nothing are left out."""
    kept = (replace(s, figures=[f for f in s.figures if not f.gap]) for s in sections)
    return [section for section in kept if section.figures]


def found(sections: Sequence[Section], uri: str, *, has_captions: bool) -> list[Absent]:
    """Return what is left out, one entry for each reason.

    Args:
        sections: All chapters.
        uri: The lake, for commands.
        has_captions: A recipe over captions would find some.
    """
    by_reason: dict[str, Absent] = {}
    for figure in (f for s in sections for f in s.figures if f.gap):
        why = f"With {' and '.join(figure.lacks)}" if figure.lacks else figure.gap.rstrip(".")
        commands = [command(uri, table) for table in figure.lacks]
        by_reason.setdefault(why, Absent(why, commands=commands)).titles.append(figure.title)
    recipes = _chapters({s.name for s in sections}, uri) if has_captions else ()
    return [*by_reason.values(), *recipes]


def _chapters(there: set[str], uri: str) -> Iterator[Absent]:
    for name, (title, recipe) in _RECIPES.items():
        if name not in there:
            how = f"counterbalance recipe {shlex.quote(uri)} {recipe}"
            yield Absent(f"With the recipe {recipe.partition(' ')[0]}", [title], [how])

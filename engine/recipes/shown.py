"""A recipe as text with its parameters filled in: to read, or to keep as a file and change."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from counterbalance.engine.recipes import values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterbalance.engine.recipes.files import Recipe


def filled(recipe: Recipe, literals: Mapping[str, str | None]) -> str:
    r"""The recipe as a file that does what the recipe does with these parameters.

    Args:
        recipe: The recipe.
        literals: SQL text of every parameter, as ``values.literals`` gives it; one that is ``None`` stays a parameter.

    Example:
        >>> from counterbalance.engine.recipes.files import parse
        >>> text = "-- one: Counts.\n-- param n integer = 1 : least\n\n-- step a: how many\nSELECT $n;"
        >>> print(filled(parse(text, "one.sql"), {"n": "7"}))
        -- one: Counts.
        --
        -- With n = 7.
        <BLANKLINE>
        -- step a: how many
        SELECT 7;
        <BLANKLINE>
    """
    return "\n".join(_lines(recipe, literals)) + "\n"


def _lines(recipe: Recipe, literals: Mapping[str, str | None]) -> Iterator[str]:
    given = ", ".join(f"{name} = {text}" for name, text in literals.items() if text is not None)
    told = [*recipe.text.splitlines(), ""] if recipe.text else []
    if given:
        told += [*textwrap.wrap(f"With {given}.", 120, break_long_words=False, break_on_hyphens=False), ""]
    yield f"-- {recipe.name}: {recipe.doc}"
    yield from (f"-- {line}".rstrip() for line in ["", *told][: -1 if not recipe.source else None])
    if recipe.source:
        yield f"-- source: {recipe.source}"
    for parameter in recipe.parameters:
        if literals[parameter.name] is None:
            yield f"-- param {parameter.name} {parameter.type} : {parameter.doc}"
    for step in recipe.steps:
        yield f"\n-- step {step.name}: {step.doc}"
        yield from (values.fill(text, literals) + ";" for text in step.statements)

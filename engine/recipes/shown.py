"""A recipe as text with its parameters filled in: to read, or to keep as a file and change."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from counterbalance.engine.recipes import values
from counterbalance.engine.sql import frontmatter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from counterbalance.engine.recipes.model import Recipe
    from counterbalance.engine.sql.query_model import QueryParameter


def filled(recipe: Recipe, literals: Mapping[str, str | None]) -> str:
    r"""Return the recipe as a file that does what the recipe does with these parameters.

    Args:
        recipe: The recipe.
        literals: SQL text of every parameter, as ``values.literals`` gives it; one that is ``None`` stays a parameter.

    Example:
        >>> from counterbalance.engine.recipes.files import parse
        >>> front = '/*--- toml\nanswers = "Counts."\n[params.n]\ntype = "integer"\n---*/\n'
        >>> print(filled(parse(front + "-- step a: how many\nSELECT $n;", "one.sql"), {"n": "7"}))
        /*--- toml
        answers = "Counts."
        details = "With n = 7."
        ---*/
        <BLANKLINE>
        -- step a: how many
        SELECT 7;
        <BLANKLINE>
    """
    return "\n".join(_lines(recipe, literals)) + "\n"


def _lines(recipe: Recipe, literals: Mapping[str, str | None]) -> Iterator[str]:
    given = ", ".join(f"{name} = {text}" for name, text in literals.items() if text is not None)
    told = [recipe.text] if recipe.text else []
    if given:
        told.append(textwrap.fill(f"With {given}.", 120, break_long_words=False, break_on_hyphens=False))
    front = {"answers": recipe.doc, "details": "\n\n".join(told), "source": recipe.source}
    yield frontmatter.OPEN
    yield from (f"{key} = {frontmatter.written(value)}" for key, value in front.items() if value)
    for parameter in recipe.parameters:
        if literals[parameter.name] is None:
            yield f"\n[params.{parameter.name}]"
            yield from (f"{key} = {frontmatter.written(value)}" for key, value in _keys(parameter))
    yield frontmatter.CLOSE
    for step in recipe.steps:
        yield f"\n-- step {step.name}: {step.doc}"
        yield from (values.fill(text, literals) + ";" for text in step.statements)


def _keys(parameter: QueryParameter) -> Iterator[tuple[str, Any]]:
    """Yield what the front matter says of a parameter without a default."""
    yield ("relation", parameter.columns) if parameter.is_relation else ("type", parameter.type)
    for key in ("choices", "min", "max", "above", "below", "values", "grid", "free", "about"):
        value = getattr(parameter, key)
        if value not in (None, (), "") and value is not False:
            yield key, value

"""Models that later steps of a recipe need and that are not there: told before hours are spent on what comes first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sqlglot

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.recipes import actions, values
from counterbalance.engine.refresh.fingerprint import called
from counterbalance.engine.sql import statements
from counterbalance.engine.sql.parse import DIALECT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterbalance.engine.recipes.model import Recipe, Step


def missing(recipe: Recipe, literals: Mapping[str, str | None], steps: Sequence[Step]) -> Iterator[str]:
    """Yield why columns of steps behind the first cannot be computed, each reason once, as far as parameters are given.

    Weights are looked for as a refresh does it: where that is allowed, they are fetched. What an action of the recipe is
    told to write may not be there yet.
    """
    written: set[str] = set()
    told: set[str] = set()
    for number, step in enumerate(steps):
        for text in step.statements:
            try:
                filled = values.put(text, recipe, literals)
            except values.MissingError:
                return
            if (call := actions.read(filled)) is not None:
                written |= {v for v in call.arguments.values() if isinstance(v, str) and v} - call.relations
                continue
            statement = statements.read(filled)
            why = _lacks(statement, written) if number and isinstance(statement, statements.AddColumn) else ""
            if why and why not in told:
                told.add(why)
                yield f"step {step.name} will fail: {why}"


def _lacks(column: statements.AddColumn, written: set[str]) -> str:
    try:
        calls = called(sqlglot.parse_one(column.expression, dialect=DIALECT))
    except CounterbalanceError as error:
        return _said(error)
    for function, constants in calls:
        try:
            function.type(constants)
            function.digest(constants)
        except CounterbalanceError as error:
            if not any(v in error.message for v in constants.values() if isinstance(v, str) and v in written):
                return _said(error)
    return ""


def _said(error: CounterbalanceError) -> str:
    return "; ".join(part for part in (error.message, error.hint) if part)

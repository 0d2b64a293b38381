"""Running a recipe: step after step, each safe to run again, so that one that was killed goes on where it was."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from counterbalance.engine import dispatch
from counterbalance.engine.catalog.ddl.create_view import UNCHECKED
from counterbalance.engine.catalog.ddl.declaration import ANOTHER
from counterbalance.engine.errors import CounterbalanceError, RefusedError, SqlError
from counterbalance.engine.functions import load_file
from counterbalance.engine.query_engine import reading
from counterbalance.engine.recipes import actions, needs, values
from counterbalance.engine.recipes.estimate import Estimate
from counterbalance.engine.recipes.files import recipe as find
from counterbalance.engine.recipes.model import AnyLake, RecipeReport, Running, StepError, StepReport
from counterbalance.engine.sql import parse, statements
from counterbalance.engine.write.journal import require_lake

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from counterbalance.engine.recipes.model import Recipe, Step
    from counterbalance.engine.refresh.model import Stage

_NOTHING = {"no_op", "skipped"}


def run(lake: AnyLake, name: str, given: Mapping[str, Any], how: Running, *, dry_run: bool = False) -> RecipeReport:
    """Run a recipe, or tell what running it would do.

    Args:
        lake: The lake.
        name: A recipe, or the path of a file with one.
        given: Values of its parameters.
        how: Options.
        dry_run: Tell what would be done and how long it would take; change nothing.

    Returns:
        What every step did. Where a parameter must be given first, the last step is ``stopped`` and the hint says which.

    Raises:
        NotFoundError: No such recipe, step or lake.
        RequestError: The recipe, or a parameter, is not right; nothing was done.
        StepError: A step failed; the steps before it stay done.
    """
    made = find(name)
    steps = made.until(how.until)
    literals = values.literals(made, given)
    dispatch.options(how.refresh, how.udfs)
    require_lake(lake.location)
    for file in how.udfs:
        load_file(file)
    _check(made, literals)
    if dry_run:
        found = Estimate(lake, made, literals, how).steps(steps)
    else:
        found = _Run(lake, made, literals, how).steps(steps)
    return RecipeReport(made.name, literals, tuple(found), dry_run)


def _check(recipe: Recipe, literals: Mapping[str, str | None]) -> None:
    """Refuse a recipe with a statement that is not right, or that could not be run again, before anything is done."""
    for step in recipe.steps:
        for text in step.statements:
            with contextlib.suppress(values.MissingError):
                _check_statement(recipe, step, values.put(text, recipe, literals))


def _check_statement(recipe: Recipe, step: Step, text: str) -> None:
    def check(statement: statements.Declaration) -> None:
        if not any(getattr(statement, flag, False) for flag in ("if_not_exists", "if_exists", "replace")):
            declares = isinstance(statement, statements.AddColumn | statements.CreateView | statements.CreateIndex)
            wanted = "IF NOT EXISTS" if declares else "IF EXISTS"
            raise RefusedError(f"step {step.name} of {recipe.name} could not be run twice: add {wanted}", code="E3228")

    def parsed(text: str) -> None:
        parse.parse(text)

    dispatch.dispatch(text, query=parsed, declare=check, refresh=lambda _: None, call=lambda _: None)


class _Run:
    """A run of a recipe on a lake."""

    def __init__(self, lake: AnyLake, recipe: Recipe, literals: Mapping[str, str | None], how: Running) -> None:
        self._lake, self._recipe, self._literals, self._how = lake, recipe, literals, how
        self._noted: set[str] = set()

    def steps(self, steps: tuple[Step, ...]) -> list[StepReport]:
        """Run steps until one stops; where that will be is told at once, for what comes before may take hours."""
        done: list[StepReport] = []
        notes = [note] if (note := self._stop(steps)) else []
        notes += needs.missing(self._recipe, self._literals, steps)
        for step in steps:
            done.append(self._step(step, notes))
            notes = []
            if done[-1].state == "stopped":
                break
        return done

    def _stop(self, steps: tuple[Step, ...]) -> str:
        """Return which step lacks a parameter, unless it is the first, if one does."""
        for step in steps[1:]:
            try:
                for text in step.statements:
                    values.put(text, self._recipe, self._literals)
            except values.MissingError as missing:
                needs = missing.parameter
                return f"this will stop at step {step.name}, which needs --param {needs.name}=… ({needs.doc})"
        return ""

    def _step(self, step: Step, notes: Sequence[str] = ()) -> StepReport:
        report = StepReport(step.name, step.doc, notes=[*notes])
        if self._how.tell is not None:
            self._how.tell(StepReport(step.name, step.doc, "planned", notes=[*notes]))
        started = time.monotonic()
        try:
            texts = [values.put(text, self._recipe, self._literals) for text in step.statements]
            for text in texts:
                self._statement(text, report)
        except values.MissingError as missing:
            report.state, report.message, report.hint = "stopped", missing.message, missing.hint
        except CounterbalanceError as error:
            raise StepError(self._recipe.name, step.name, error) from error
        report.seconds = time.monotonic() - started
        if self._how.tell is not None:
            self._how.tell(report)
        return report

    def _statement(self, text: str, report: StepReport) -> None:
        dispatch.dispatch(
            text,
            query=partial(self._query, report),
            declare=partial(self._declare, report),
            refresh=partial(self._refresh, report),
            call=partial(self._call, report),
        )

    def _declare(self, report: StepReport, statement: statements.Declaration) -> None:
        notes: list[str] = []
        if isinstance(statement, statements.AddColumn | statements.CreateView | statements.CreateIndex):
            statement = replace(statement, recipe=self._recipe.name)
        execute = partial(dispatch.execute, self._lake.location, purpose=self._how.sensitive, notes=notes)
        try:
            told = execute(statement)
        except SqlError as error:
            if not (self._how.replace and error.code == ANOTHER and isinstance(statement, statements.CreateView)):
                raise
            told = execute(replace(statement, if_not_exists=False, replace=True))
        self._note([n for n in notes if not n.startswith(UNCHECKED)], report)  # a refresh is what comes next
        for row in told.to_pylist():
            verb = "declared" if row["statement"].startswith(("ADD", "CREATE")) else "dropped"
            report.add(f"{row['target']} {verb if row['changed'] else 'is there'}", changed=row["changed"])

    def _refresh(self, report: StepReport, statement: statements.Refresh) -> None:
        how = self._how
        merged = statements.Refresh(statement.targets, statement.all, {**how.refresh, **statement.options})
        done = dispatch.refresh(
            self._lake.location, merged, purpose=how.sensitive, udfs=how.udfs, progress=how.progress
        )
        dispatch.raise_failures(done)
        changed = [s for s in done.stages if s.mode not in _NOTHING]
        for stage in changed:
            report.add(_told(stage), changed=True, rows=(stage.rows or 0) if stage.kind == "column" else 0)
        if not changed:
            report.add(f"{', '.join(statement.targets) or 'everything'} fresh", changed=False)

    def _call(self, report: StepReport, call: actions.Call) -> None:
        how = self._how
        offered = {"sensitive": how.sensitive, "device": how.refresh.get("device"), "progress": how.progress}
        told = actions.run(self._lake, call, **offered)
        if isinstance(told, str):
            report.add(told or f"{call.name} done", changed=True)
        else:
            report.results.append(told)
            report.add(f"{call.name} done", changed=True)

    def _query(self, report: StepReport, text: str) -> None:
        with reading(self._lake.location, purpose=self._how.sensitive) as engine:
            result = engine.sql(text)
            rows = result.to_arrow()
        self._note(result.notes, report)
        report.results.append(rows)
        report.add(f"{rows.num_rows:,} rows", changed=True)

    def _note(self, notes: list[str], report: StepReport) -> None:
        """Keep remarks, each once however many steps give rise to it."""
        for text in notes:
            if text not in self._noted:
                self._noted.add(text)
                report.notes.append(text)


def _told(stage: Stage) -> str:
    if not stage.is_told:
        return f"{stage.target} computed"
    if stage.kind == "view":
        return f"{stage.target}: {stage.written:,} added, {stage.updated:,} changed, {stage.deleted:,} removed"
    failed = f", {stage.errors:,} failed" if stage.errors else ""
    what = "indexed" if stage.kind == "index" else "computed"
    return f"{stage.target}: {stage.rows:,} rows {what}{failed}"

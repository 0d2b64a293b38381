"""What running a recipe would do, and how long it would take: rows to compute, times a rate that was measured."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from counterbalance.engine import dispatch
from counterbalance.engine.catalog import access, ddl
from counterbalance.engine.catalog.ddl.declaration import ANOTHER
from counterbalance.engine.catalog.planning import Catalog
from counterbalance.engine.errors import CounterbalanceError, SqlError
from counterbalance.engine.recipes import actions, rates, values
from counterbalance.engine.recipes.model import StepError, StepReport
from counterbalance.engine.refresh import runner as refreshing
from counterbalance.engine.sql import statements
from counterbalance.engine.store import tables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from counterbalance.engine.recipes.model import AnyLake, Recipe, Running, Step
    from counterbalance.engine.recipes.rates import Rate

Declaring = statements.AddColumn | statements.CreateView | statements.CreateIndex


class Estimate:
    """Plans steps without changing anything.

    Args:
        lake: The lake.
        recipe: What is planned.
        literals: Its parameters.
        how: Options; ``measure`` runs functions on a few rows.
    """

    def __init__(self, lake: AnyLake, recipe: Recipe, literals: Mapping[str, str | None], how: Running) -> None:
        self._lake, self._recipe, self._literals, self._how = lake, recipe, literals, how
        self._catalog = Catalog(lake.location)
        self._has_purpose = access.stated(lake.location, how.sensitive, f"dry run of recipe {recipe.name}")
        device = str(how.refresh.get("device", "cpu"))
        self._rates = rates.Rates(self._catalog, measure=how.measure, device=device, purpose=how.sensitive)
        self._planned: dict[str, Declaring] = {}
        self._told: set[str] = set()

    def steps(self, steps: Sequence[Step]) -> list[StepReport]:
        """Return a report for every step, whose ``seconds`` are the estimate, ``None`` where it is not known."""
        return [self._step(step) for step in steps]

    def _step(self, step: Step) -> StepReport:
        report = StepReport(step.name, step.doc, "planned")
        try:
            for text in step.statements:
                self._statement(values.put(text, self._recipe, self._literals), report)
        except values.MissingError as missing:
            report.state, report.message, report.hint = "stopped", missing.message, missing.hint
            report.rows = report.rows_per_second = report.seconds = None
        except CounterbalanceError as error:
            raise StepError(self._recipe.name, step.name, error) from error
        return report

    def _statement(self, text: str, report: StepReport) -> None:
        dispatch.dispatch(
            text,
            query=lambda _: report.does("ask", ""),
            declare=partial(self._declare, report),
            refresh=partial(self._refresh, report),
            call=partial(self._call, report),
        )

    def _call(self, report: StepReport, call: actions.Call) -> None:
        actions.find(call.name)
        report.does("call", call.name)

    def _declare(self, report: StepReport, statement: statements.Declaration) -> None:
        if not isinstance(statement, statements.AddColumn | statements.CreateView | statements.CreateIndex):
            report.does("drop", statement.name)
            return
        target = _target(statement)
        if target in self._catalog.definitions.by_target:
            if isinstance(statement, statements.AddColumn):  # what is there already is compared, and no more is done
                ddl.add_column(self._lake.location, statement)
                return
            if not isinstance(statement, statements.CreateView) or not self._differs(statement):
                return
        self._planned[target] = statement
        report.does("replace" if target in self._catalog.definitions.by_target else "make", target)

    def _differs(self, statement: statements.CreateView) -> bool:
        """Tell whether a view would take the place of one that has another query.

        Raises:
            SqlError: It would, and may not.
        """
        try:
            if statement.if_not_exists:
                ddl.create_view(self._lake.location, statement)
        except SqlError as error:
            if not (self._how.replace and error.code == ANOTHER):
                raise
            return True
        return False

    def _refresh(self, report: StepReport, statement: statements.Refresh) -> None:
        stages = [s for s in self._stages(statement) if s[0] not in self._told]  # what several read is computed once
        self._told |= {target for target, _, _ in stages}
        for target, rows, rate in stages:
            if target not in self._planned:
                report.does("refresh", target)
            if rate is not None:
                report.rows_per_second, report.basis = rate.rows_per_second, rate.basis
            if rows is not None:
                report.rows = (report.rows or 0) + rows
        seconds = [
            rows / rate.rows_per_second if rows else 0.0 for _, rows, rate in stages if rate and rows is not None
        ]
        columns = [target for target, _, _ in stages if "." in target]
        if columns and len(seconds) == len(columns):
            report.seconds = sum(seconds)

    def _stages(self, statement: statements.Refresh) -> Iterator[tuple[str, int | None, Rate | None]]:
        """Yield what a refresh would do: target, rows where they are known, rate of a column where it is."""
        known = self._catalog.definitions.by_target
        tables_ = {d.table for d in known.values()}
        there = [t for t in statement.targets if t in known or t in tables_]
        if there or statement.all:
            done = refreshing.refresh(
                self._lake.location,
                there,
                dispatch.options(self._how.refresh, self._how.udfs),
                dry_run=True,
                purpose=self._how.sensitive,
            )
            for stage in done.stages:
                if stage.reason:
                    rows = stage.rows if stage.kind == "column" else None
                    rate = self._rates.of(known[stage.target].table, known[stage.target].sql, stage.target)
                    yield stage.target, rows, rate if stage.kind == "column" else None
        for target, planned in self._planned.items():
            if statement.all or target in statement.targets:
                yield self._new(target, planned)

    def _new(self, target: str, planned: Declaring) -> tuple[str, int | None, Rate | None]:
        if not isinstance(planned, statements.AddColumn):
            return target, None, None
        dataset = tables.open_table(self._lake.location, planned.table)
        is_told = self._has_purpose or planned.table not in self._catalog.closed.views
        rows = int(dataset.count_rows()) if dataset is not None and is_told else None
        return target, rows, self._rates.of(planned.table, planned.expression, target)


def _target(statement: Declaring) -> str:
    if isinstance(statement, statements.AddColumn):
        return f"{statement.table}.{statement.name}"
    if isinstance(statement, statements.CreateView):
        return statement.name
    return statement.name or f"{statement.table}_{statement.columns[0]}_{statement.kind}"

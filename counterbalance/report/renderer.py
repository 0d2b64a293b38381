"""Run a query or an audit and make a figure of its rows."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.sql import requirements
from counterbalance.engine.sql.parse import as_text, parse
from counterbalance.engine.sql.queries import audits
from counterbalance.report import svg
from counterbalance.report.figures import Figure, Strip, cut_off, decimals, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from counterbalance.engine.session import Session
    from counterbalance.report.examples import Examples
    from counterbalance.report.svg import Axis, Mark

Row = dict[str, Any]
_Z: Final = 1.959963984540054
_DRAW: Final = {"dots": svg.dots, "bars": svg.bars}


@dataclass(frozen=True, slots=True)
class Chart:
    """Describe how rows become a chart.

    Args:
        kind: Dots with intervals, or bars.
        axis: The scale.
        mark: One row's mark, or ``None`` to leave it out of the chart (it stays in the table).
        choose: Which rows are drawn and in which order; all as they come when left out.
        most: Rows drawn at most.
        reference: The axis' reference, from the first row.
    """

    kind: Literal["dots", "bars"]
    axis: Axis
    mark: Callable[[Row], Mark | None]
    choose: Callable[[Sequence[Row]], Sequence[Row]] | None = None
    most: int = 24
    reference: Callable[[Row], float] | None = None


@dataclass(frozen=True, slots=True)
class FigureSpec:
    """A figure that is to be made.

    Args:
        name: Unique in the page.
        title: Headline.
        says: What it means and how to read it.
        chart: How it is drawn.
        audit: Name of an audit, or empty for ``sql``.
        parameters: Of the audit.
        sql: A query, for what is not an audit.
        empty: What to say when no row comes back.
        headline: Whether its clearest difference may stand at the top of the report.
    """

    name: str
    title: str
    says: str
    chart: Chart
    audit: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sql: str = ""
    empty: str = "Nothing in this lake to count here."
    headline: bool = True


def said(notes: Sequence[str]) -> list[str]:
    """Return notes without the hint to state a purpose, which a report has not."""
    return [note.partition("; state a purpose")[0] for note in notes]


def untold(made: int) -> None:
    """Ignore how many figures there are yet."""
    del made


class FigureRenderer:
    """Make figures in one session; what two of them ask is asked once.

    Args:
        session: The session.
        progress: Called with the number of figures so far.
        examples: Of the images behind rows; there are none without it.
    """

    def __init__(
        self, session: Session, progress: Callable[[int], None] = untold, examples: Examples | None = None
    ) -> None:
        self.session, self.examples = session, examples
        self._progress, self._made = progress, 0
        self._answers: dict[str, tuple[pa.Table, Sequence[str], str]] = {}

    def figure(self, spec: FigureSpec) -> Figure:
        """Return the figure, or its reason for being empty: a report never fails for one of its parts."""
        self._made += 1
        self._progress(self._made)
        call = _call(spec)
        if lacks := self._lacks(call):
            return Figure(spec.name, spec.title, spec.says, gap=spec.empty, call=call, lacks=lacks)
        try:
            rows, notes, sql = self._answer(spec, call)
        except CounterbalanceError as error:
            return Figure(spec.name, spec.title, spec.says, gap=f"{error.message} ({error.code})")
        return _figure(spec, call, rows, notes, sql, self.examples)

    def _lacks(self, call: str) -> list[str]:
        """Return what the lake lacks, and leaves a query without rows."""
        needs = requirements.of_query(parse(call).tree)
        return [*filter(requirements.is_stored, requirements.missing(needs, self.there))]

    @cached_property
    def there(self) -> set[str]:
        """Names of what audits may need and the lake holds."""
        return self.session.filled()

    def _answer(self, spec: FigureSpec, call: str) -> tuple[pa.Table, Sequence[str], str]:
        """Return rows, notes and plain SQL."""
        if call not in self._answers:
            run = self.session.audit
            result = run(spec.audit, **spec.parameters) if spec.audit else self.session.sql(spec.sql)
            rows = result.to_arrow()
            notes = said(result.notes)
            self._answers[call] = (rows, notes, expanded(self.session, call) if rows.num_rows else "")
        return self._answers[call]


def _figure(
    spec: FigureSpec, call: str, rows: pa.Table, told: Sequence[str], sql: str, examples: Examples | None
) -> Figure:
    if not rows.num_rows:
        return Figure(spec.name, spec.title, spec.says, gap=spec.empty, call=call)
    drawing = _drawn(spec, rows.to_pylist())
    strips, rule = _examples(spec, rows, drawing, examples)
    columns, cells = table_of(rows)
    return Figure(
        spec.name,
        spec.title,
        spec.says,
        drawing.wide,
        drawing.narrow,
        columns,
        cells,
        call,
        sql,
        _parameters(rows, spec),
        _source(spec),
        [*drawing.notes, *cut_off(rows, cells), *told],
        "" if drawing.wide else "Every value is suppressed or missing: too few images.",
        drawing.finding,
        drawing.tests,
        examples=strips,
        rule=rule,
        audit=spec.audit,
        given=spec.parameters,
    )


def _examples(
    spec: FigureSpec, rows: pa.Table, drawing: _Drawing, examples: Examples | None
) -> tuple[Sequence[Strip], Sequence[str]]:
    """Return pictures behind the rows of an audit in the order in which they are drawn, and how they were chosen."""
    if examples is None or not spec.audit or not drawing.rows:
        return (), ()
    drawn = pa.Table.from_pylist(drawing.rows, schema=rows.schema)
    return examples.of(audits()[spec.audit], drawn, drawing.titles)


def _call(spec: FigureSpec) -> str:
    """Return the query as a user would type it."""
    if not spec.audit:
        return spec.sql
    query = audits().get(spec.audit)
    relations = {p.name for p in query.parameters if p.is_relation} if query else set()
    given = [f"{k} := {v if k in relations else _literal(v)}" for k, v in spec.parameters.items()]
    return f"SELECT * FROM {spec.audit}({', '.join(given)})"


def _literal(value: Any) -> str:
    return as_text(value) if isinstance(value, str) else json.dumps(value)


def expanded(session: Session, call: str) -> str:
    """Return the plain SQL of a query, or why there is none."""
    try:
        return session.expand(call)
    except CounterbalanceError as error:
        return f"-- cannot be shown as plain SQL: {error.message}"


def _parameters(rows: pa.Table, spec: FigureSpec) -> dict[str, Any]:
    """Return what the engine says it ran with, in every row the same."""
    if "params" not in rows.column_names:
        return dict(spec.parameters)
    found = json.loads(rows["params"][0].as_py() or "{}")
    return found if isinstance(found, dict) else {}


def _source(spec: FigureSpec) -> str:
    return audits()[spec.audit].source if spec.audit else ""


@dataclass(frozen=True, slots=True)
class _Drawing:
    wide: str
    narrow: str
    notes: Sequence[str]
    finding: str = ""
    tests: Sequence[float] = ()
    rows: Sequence[Row] = ()
    titles: Sequence[str] = ()


def _drawn(spec: FigureSpec, rows: Sequence[Row]) -> _Drawing:
    chart = spec.chart
    every = [r for r in rows if chart.mark(r) is not None]
    chosen = every if chart.choose is None else chart.choose(every)
    pairs = [(m, r) for r in chosen if (m := chart.mark(r)) is not None][: chart.most]
    shown, drawn = [m for m, _ in pairs], [r for _, r in pairs]
    titles = [m.label for m in shown]
    notes = [f"The chart shows {len(shown)} of {len(every):,} rows."] if len(every) > len(shown) else []
    notes += hidden(rows)
    if not shown:
        return _Drawing("", "", notes)
    axis = chart.axis if chart.reference is None else replace(chart.axis, reference=chart.reference(rows[0]))
    desc = "; ".join(f"{m.label}: {axis.show(m.value or 0)}" for m in shown[:12])
    draw = _DRAW[chart.kind]
    wide = draw(shown, axis, title=spec.title, desc=desc, name=f"{spec.name}-w")
    narrow = draw(shown, axis, title=spec.title, desc=desc, name=f"{spec.name}-n", width=svg.NARROW)
    if not spec.headline or chart.kind != "dots" or axis.reference is None:
        return _Drawing(wide, narrow, notes, rows=drawn, titles=titles)
    ranked = sorted(
        ((z, m) for m in map(chart.mark, every) if m and (z := _z(m, axis.reference)) is not None), key=_by_z
    )
    finding = _finding(ranked[0][1], axis) if ranked else ""
    tests = [math.erfc(abs(z) / math.sqrt(2)) for z, _ in ranked]
    return _Drawing(wide, narrow, notes, finding, tests, drawn, titles)


def _by_z(found: tuple[float, Mark]) -> float:
    return -abs(found[0])


def _z(mark: Mark, reference: float) -> float | None:
    """Return how many standard errors a value is off the line of no difference, by the end of its interval that faces it.

    Example:
        >>> round(_z(svg.Mark("a", 0.5, 0.3, 0.8), 0.0), 2)
        4.9
    """
    if mark.value is None or mark.low is None or mark.high is None:
        return None
    off = mark.value - reference
    half = mark.value - mark.low if off > 0 else mark.high - mark.value
    return off / half * _Z if half > 0 else math.copysign(math.inf, off) if off else 0.0


def _finding(best: Mark, axis: Axis) -> str:
    """Return a mark with its interval in words."""
    ends = f"{axis.show(best.low or 0)} to {axis.show(best.high or 0)}"
    measure = re.split(r" \(|;", axis.label)[0] + " " if axis.show is decimals else ""
    return f"{best.label}: {measure}{axis.show(best.value or 0)} ({ends})"


def hidden(rows: Sequence[Row]) -> list[str]:
    """Return how many cells the audit kept back."""
    hidden = sum(bool(r.get("suppressed")) for r in rows) or max((r.get("n_suppressed") or 0 for r in rows), default=0)
    if not hidden:
        return []
    what = "cells of this audit are" if hidden > 1 else "cell of this audit is"
    return [f"{hidden:,} {what} suppressed: too few images to show, or what would tell these by subtraction."]

"""Show audits that a user chose at the top of a report: each with its chart and rows, as the pages of ``cbal ui`` do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.sql import arguments, queries
from counterbalance.engine.sql.call_syntax import call_name
from counterbalance.report import behind, charts
from counterbalance.report.figures import Figure, Section, Strip, cut_off, table_of
from counterbalance.report.renderer import expanded, hidden, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.engine.sql.query_model import Query
    from counterbalance.report.renderer import FigureRenderer


def audits(calls: Sequence[str]) -> list[tuple[str, Query]]:
    """Return calls as they were typed, each with its audit.

    Args:
        calls: Such as ``cooccurrence(caption_gender, word_concepts, min_count := 20)``.

    Raises:
        NotFoundError: What is called is no audit.
        SqlError: That is no call.
    """
    return [(call.strip(), queries.audit(_name(call.strip()))) for call in calls]


def _name(call: str) -> str:
    source = arguments.relation(call, "--pin").this
    return call_name(source) if isinstance(source, exp.Func) else call


def sections(renderer: FigureRenderer, chosen: Sequence[tuple[str, Query]]) -> list[Section]:
    """Return the chapter; nothing where nothing is pinned.

    Raises:
        CounterbalanceError: An audit cannot be run as it was pinned: who pinned it is there to read why.
    """
    figures = [_figure(renderer, f"pin-{place}", *pinned) for place, pinned in enumerate(chosen, 1)]
    return [Section("pinned", "Pinned", "Audits that were chosen for this report.", figures)] if figures else []


def _figure(renderer: FigureRenderer, name: str, call: str, audit: Query) -> Figure:
    session, text = renderer.session, f"SELECT * FROM {call}"
    result = session.sql(text)
    rows, notes = result.to_arrow(), said(result.notes)
    if not rows.num_rows:
        why = "; ".join(notes) or "Nothing in this lake to count here."
        return Figure(name, call, audit.doc, gap=why, call=text)
    drawn = charts.draw(rows, behind.keys(audit, rows), audit.doc, name)
    strips: list[Strip] = []
    rule: list[str] = []
    if renderer.examples is not None and drawn is not None:
        strips, rule = renderer.examples.of(audit, pa.Table.from_pylist(drawn.rows, schema=rows.schema), drawn.labels)
    columns, cells = table_of(rows)
    told = [*hidden(rows.to_pylist()), *cut_off(rows, cells), *dict.fromkeys(notes)]
    parameters: dict[str, Any] = json.loads(rows["params"][0].as_py() or "{}") if "params" in rows.column_names else {}
    return Figure(
        name,
        call,
        audit.doc,
        drawn.wide if drawn else "",
        drawn.narrow if drawn else "",
        columns,
        cells,
        text,
        expanded(session, text),
        parameters,
        audit.source,
        [drawn.note, *told] if drawn and drawn.note else told,
        examples=strips,
        rule=rule,
    )

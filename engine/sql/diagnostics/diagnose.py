"""Diagnose a query: what a reader of its rows should know, before they are read and after."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from sqlglot import exp

from counterbalance.engine.catalog import snapshot
from counterbalance.engine.sql.diagnostics import join_overlap, nothing_to_count, unknown_values
from counterbalance.engine.sql.rewrites.blobs import left_out
from counterbalance.engine.store import pictures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from counterbalance.engine.sql.plan import Facts, Plan
    from counterbalance.engine.sql.resolver import Resolver
    from counterbalance.engine.store.pictures import Unread


def notes_before(resolver: Resolver, facts: Facts, plans: Iterable[Plan], at: str | None) -> list[str]:
    """Return notes on a bound query: lakes that meet, a moment ahead, hidden labels, labels that nothing has, stale columns.

    Args:
        resolver: What its names mean.
        facts: What was found while it was bound.
        plans: Its plan, and those of the audits that it reads.
        at: The tag or moment that is read.
    """
    notes = list(dict.fromkeys(facts.mixed))
    if at is not None and snapshot.is_ahead(at):
        notes.append(f"{at} has not come yet: this is the newest state, and can change")
    if facts.hides_labels and not resolver.sensitive and (hidden := resolver.sensitive_attributes()):
        notes.append(
            f'labels of {", ".join(sorted(hidden))} are not shown; to read them, state a purpose: --sensitive "why"'
        )
    for column, value in dict.fromkeys(facts.named):
        known = _known(resolver, column)
        if known is not None and value not in known:
            notes.append(unknown_values.note(column, value, known))
    used = sorted(facts.used.values(), key=lambda relation: relation.shown)
    empty = [f"{r.shown}.{c}" for r in used for c in resolver.uncomputed(r)]
    named = {c.name for plan in plans for c in plan.tree.find_all(exp.Column)} if empty else set()
    return notes + [f"{c} is NULL until it is computed: REFRESH {c}" for c in empty if c.partition(".")[2] in named]


def unshown_pictures(plan: Plan) -> list[str]:
    """Return notes on pictures that a star leaves out, where there are any; of a large table its first file is looked at."""
    notes = []
    for relation, columns in left_out(plan) if plan.tree.is_star else ():
        (table,) = relation.tables
        if pictures.are_there(table.dataset, columns, table.dataset.get_fragments()[:1]):
            named = ", ".join(columns)
            notes.append(f"* leaves out the pictures of {relation.shown}: SELECT {named}, * has them")
    return notes


_FEW: Final = "of perceived labels there are no rows where fewer than 10 images have any"


def diagnosed(
    batches: Iterable[pa.RecordBatch],
    resolver: Resolver,
    facts: Facts,
    evaluate: Callable[[Plan], pa.Table],
    notes: list[str],
    unread: Unread | None = None,
) -> Iterator[pa.RecordBatch]:
    """Pass the batches of a result on, and add what explains them to its notes: pictures with each, the rest after the last one.

    Args:
        batches: The rows.
        resolver: What names of the query mean.
        facts: What was found while it was bound.
        evaluate: Runs the plans that tell which names there are.
        notes: Of the result.
        unread: Pictures that could not be read.
    """
    rows, measured, watch = 0, False, join_overlap.Watch(facts.held) if facts.held else None
    for batch in batches:
        rows += batch.num_rows
        measured = measured or _measures(batch)
        if watch is not None:
            watch.see(batch)
        if unread is not None:
            unread.tell(notes)
        yield batch
    empty = resolver.without_rows(facts.used.values()) if rows == 0 or facts.audits else []
    told = nothing_to_count.notes(resolver, facts) if empty or (facts.audits and not measured) else []
    if rows == 0 and not told:
        told = [
            f"{table} has no rows" for table in empty if re.search(rf"(?<![\w$]){re.escape(table)}(?!\w)", facts.text)
        ]
    told += [text for one in facts.asked for text in join_overlap.missing(one, evaluate)]
    if facts.pooled and len(_known(resolver, "annotator") or ()) > 1:
        told += [text for one in facts.pooled for text in join_overlap.together(one, evaluate)]
    apart = list(watch.notes(rows, evaluate)) if watch is not None else []
    told += facts.hidden
    told += apart or ([_FEW] if rows == 0 and facts.counts_closed and not facts.hidden else [])
    told += [] if told else facts.all_hidden
    told += nothing_to_count.unfound(resolver, facts, rows) if facts.audits and not (measured or told) else []
    notes += [text for text in dict.fromkeys(told) if text not in notes]


def _measures(batch: pa.RecordBatch) -> bool:
    """Tell whether rows say a number with a fraction, as measures are, or have no column for one."""
    floats = [column for column in batch.columns if pa.types.is_floating(column.type)]
    return batch.num_rows > 0 and (not floats or any(c.null_count < len(c) for c in floats))


def _known(resolver: Resolver, column: str) -> set[str] | None:
    """Return every value of a column of labels, or ``None`` where nobody can tell without reading them."""
    lakes = (resolver.main, *resolver.attached.values())
    return unknown_values.known([(lake.snapshot, lake.codes) for lake in lakes], column, closed=not resolver.sensitive)

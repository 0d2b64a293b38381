"""An index: built when it is missing or was made otherwise, extended by rows that are new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from counterbalance.engine.catalog import runs
from counterbalance.engine.refresh import staleness
from counterbalance.engine.search import indexes
from counterbalance.engine.search.indexes import IndexSpec
from counterbalance.engine.store import tables
from counterbalance.engine.write.journal import writing

if TYPE_CHECKING:
    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.context import Context
    from counterbalance.engine.refresh.model import Stage


def spec_of(definition: Definition) -> IndexSpec:
    """Return what Lance is to build."""
    options = dict(definition.options)
    kind = str(options.pop("kind"))
    return IndexSpec(name=definition.name, kind=kind, column=definition.sql, options=options)


def look(context: Context, stage: Stage, definition: Definition) -> None:
    """Find out whether the index is missing, made otherwise, or does not cover all rows."""
    dataset = tables.open_table(context.location, definition.table)
    if dataset is None or definition.sql not in dataset.schema.names or not dataset.count_rows():
        return
    spec = spec_of(definition)
    last = runs.computed(context.location).get(definition.target)
    if context.options.full:
        stage.reason, stage.mode = "asked for", "rebuild"
    elif not indexes.exists(dataset, spec):
        stage.reason, stage.mode = "not built", "rebuild"
    elif last is not None and last["fingerprint"] != stage.fingerprint:
        told = staleness.since(context.location, str(last["fingerprint"]), context.fingerprints, definition)
        stage.reason, stage.mode = told or "its definition changed", "rebuild"
    else:
        stage.rows = indexes.coverage(dataset, definition.name).unindexed
        stage.reason = f"{stage.rows:,} rows are not indexed" if stage.rows else ""


def refresh(context: Context, stage: Stage, definition: Definition) -> None:
    """Build or extend an index; fills in the stage."""
    look(context, stage, definition)
    if not stage.reason:
        stage.mode = "no_op"
        return
    wait = context.options.wait
    with writing(context.location, "refresh", definition.target, wait=wait, run=context.run) as work:
        dataset: Any = tables.open_table(context.location, definition.table)
        before = int(dataset.version)
        spec = spec_of(definition)
        if stage.mode == "rebuild":
            stage.rows = indexes.build(dataset, spec, device=context.options.device).indexed
        else:
            done = indexes.extend(dataset, spec, device=context.options.device)
            stage.mode, stage.rows = done.mode, done.rows
        after = tables.latest_version(context.location, definition.table) or before
        work.committed(definition.table, after - before)
        stage.versions_out = {definition.table: after}
        stage.versions_in = {definition.table: before}
        work.finish(**stage.outcome())

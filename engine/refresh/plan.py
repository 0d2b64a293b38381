"""Which stages a refresh has, in which order, and why each of them is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from counterbalance.engine.errors import CounterbalanceError, NotFoundError, did_you_mean
from counterbalance.engine.executors import spool as spools
from counterbalance.engine.refresh import columns, failures, indexes, views
from counterbalance.engine.refresh.model import Stage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.engine.catalog.definitions import Definition, Definitions
    from counterbalance.engine.refresh.column_state import Column
    from counterbalance.engine.refresh.context import Context


def chosen(definitions: Definitions, targets: Sequence[str]) -> list[Definition]:
    """Return the definitions that these names mean, each after what it reads; all of them without names.

    A name is a column (``table.column``), a view, an index, or a table for all its columns and indexes. What a target
    reads is brought up to date before it.

    Raises:
        NotFoundError: Nothing of that name is declared.
    """
    order = definitions.order()
    if not targets:
        return order
    wanted: set[str] = set()
    for name in targets:
        found = [d for d in order if name.lower() in {d.target.lower(), *_tables(d)}]
        if not found:
            known = [d.target for d in order]
            raise NotFoundError(
                f"nothing declared is named {name!r}{did_you_mean(name, known)}",
                code="E1034",
                hint="declared: " + (", ".join(known) or "nothing yet"),
            )
        wanted |= definitions.with_upstream(found)
    return [d for d in order if d.target in wanted]


def _tables(definition: Definition) -> set[str]:
    return set() if definition.kind == "view" else {definition.table.lower()}


def stages(context: Context, definitions: Sequence[Definition]) -> list[Stage]:
    """Return what would be done now, with the reasons; rows are those to be computed, where that is known."""
    found: list[Stage] = []
    stale: set[str] = set()
    for definition in definitions:
        stage = context.told(look(context, definition), is_due=context.is_due(definition))
        if not stage.reason:
            waits = sorted(d.target for d in context.definitions.upstream(definition) if d.target in stale)
            stage.reason = f"reads {', '.join(waits)}" if waits else ""
        if stage.reason:
            stale.add(definition.target)
            stage.mode = "incremental" if stage.mode == "no_op" else stage.mode
        found.append(stage)
    return found


def look(context: Context, definition: Definition) -> Stage:
    """Tell whether something is stale, and why; a definition that cannot be computed is told as failed."""
    stage = Stage(definition.target, definition.kind)
    check = {"column": _column, "view": views.look, "index": indexes.look}[definition.kind]
    try:
        stage.fingerprint = context.fingerprints.of(definition)
        check(context, stage, definition)
    except CounterbalanceError as error:
        stage.mode, stage.message, stage.code, stage.hint = "failed", error.message, error.code, error.hint
        stage.reason = error.message
    return stage


def _column(context: Context, stage: Stage, definition: Definition) -> None:
    column = columns.look(context, definition)
    if column is None:
        return
    stage.rows = column.dataset.count_rows() if context.options.full else column.stale_rows()
    stage.reason = columns.why(context, column, stage.rows)
    if context.options.full or not column.is_current:
        stage.mode = "rebuild"
    elif not stage.rows and context.options.retry_errors:
        stage.rows = len(failures.of_column(context.location, definition.table, definition.name))
        stage.reason = f"{stage.rows:,} rows failed" if stage.rows else ""
    kept = 0 if context.options.full or not stage.reason else _kept(context, column)
    if kept:
        stage.reason += f"; {kept:,} of them are computed already"


def _kept(context: Context, column: Column) -> int:
    """Return the rows that a refresh that was stopped has computed."""
    return sum(
        batch.num_rows
        for spool in spools.rounds(context.location, column.definition.target)
        if spool.is_of(column.fingerprint)
        for file in spool.files()
        for batch in spool.read(file)
    )

"""Running a refresh: one at a time a lake, stage after stage, each with a row in the journal."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from counterbalance.engine.catalog import access, closed, runs, snapshot
from counterbalance.engine.catalog import definitions as catalog
from counterbalance.engine.catalog.planning import Catalog, queries_over
from counterbalance.engine.errors import (
    UNFORESEEN,
    BusyError,
    CounterbalanceError,
    LimitError,
    StorageError,
    is_ctrl_c,
    kind_of,
)
from counterbalance.engine.executors.worker import said
from counterbalance.engine.functions import load_file
from counterbalance.engine.refresh import columns, due, indexes, plan, staleness, views
from counterbalance.engine.refresh.context import Context
from counterbalance.engine.refresh.fingerprint import Fingerprints
from counterbalance.engine.refresh.model import Options, RefreshReport, Stage
from counterbalance.engine.refresh.openlineage import Events
from counterbalance.engine.store import lock
from counterbalance.engine.write.journal import require_lake, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.progress import Progress
    from counterbalance.engine.query_engine import QueryEngine
    from counterbalance.engine.store.location import Location

_SAFE: Final = frozenset({"E1001", "E1003", "E1035", "E1042", "E1046", "E3308", "E3421", "E3422", "E3424", "E3425"})
"""Codes of errors that name relations, functions and keys, and no values."""
_RUN: Final = {"column": columns.refresh, "view": views.refresh, "index": indexes.refresh}


def refresh(
    location: Location,
    targets: Sequence[str] = (),
    options: Options | None = None,
    *,
    dry_run: bool = False,
    purpose: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    done: Callable[[Stage], None] | None = None,
    openlineage: str | None = None,
) -> RefreshReport:
    """Bring targets, and what they read, up to date; everything that is declared without targets.

    A stage that fails does not stop the others; what reads it is skipped.

    Args:
        location: The lake.
        targets: Columns (``table.column``), views, indexes, tables.
        options: How.
        dry_run: Tell what would be done; do nothing.
        purpose: For which numbers of closed rows are told; without one they are ``None``.
        progress: Called as rows are done.
        done: Called when a stage ended.
        openlineage: File or address that events of OpenLineage go to.

    Raises:
        BusyError: Another refresh is running.
        NotFoundError: No lake is there, or nothing of that name is declared.
    """
    options = options or Options()
    require_lake(location)
    for file in options.files:
        load_file(file)
    sensitive = access.stated(location, purpose, " ".join(("REFRESH", *targets)))
    if dry_run:
        return _dry(location, targets, options, sensitive=sensitive)
    events = None if openlineage is None else Events(openlineage)
    with lock.writer_lock(location, "refresh", wait=0.0, name=lock.REFRESH):
        settle(location, wait=options.wait)
        if closed.lying_open(location):
            with lock.writer_lock(location, "refresh", wait=options.wait):
                closed.enclose(location)
        with queries_over(Catalog(location), knows_all=True) as engine:
            context, chosen = _context(location, engine, targets, options, progress, sensitive=sensitive)
            wanted = _wanted(context, chosen)
            staleness.remember(location, context.fingerprints, wanted)
            stages = _run(context, wanted, done, events)
            runs.record_digests(location)
    return RefreshReport(tuple(stages), notes=() if events is None else tuple(events.notes))


def _dry(location: Location, targets: Sequence[str], options: Options, *, sensitive: bool) -> RefreshReport:
    with queries_over(Catalog(location), knows_all=True) as engine:
        context, chosen = _context(location, engine, targets, options, None, sensitive=sensitive)
        wanted = _wanted(context, chosen)
        return RefreshReport(tuple(plan.stages(context, wanted)), dry_run=True)


def _wanted(context: Context, chosen: list[Definition]) -> list[Definition]:
    return due.only_due(context.location, context.definitions, chosen, due=context.options.due)


def _context(
    location: Location,
    engine: QueryEngine,
    targets: Sequence[str],
    options: Options,
    progress: Callable[[Progress], None] | None,
    *,
    sensitive: bool,
) -> tuple[Context, list[Definition]]:
    """Return what the stages share, and what the targets mean."""
    declared = catalog.load(location)
    chosen = plan.chosen(declared, targets)
    fingerprints = Fingerprints(location, declared, engine.expand)
    for definition in chosen:  # now, on what is pinned here; what cannot be made is told by its stage
        with contextlib.suppress(CounterbalanceError):
            fingerprints.of(definition)
    hidden = closed.load(location, snapshot.newest(location))
    return Context(location, declared, fingerprints, options, progress, closed=hidden, sensitive=sensitive), chosen


def _run(
    context: Context, wanted: Sequence[Definition], done: Callable[[Stage], None] | None, events: Events | None
) -> list[Stage]:
    stages: list[Stage] = []
    broken: set[str] = set()
    for definition in wanted:
        needs = sorted(d.target for d in context.definitions.upstream(definition) if d.target in broken)
        is_due = context.is_due(definition)
        work = functools.partial(_stage, context, definition, is_due=is_due)
        if needs:
            stage = _skipped(definition, needs)
        else:
            stage = work() if events is None else events.around(context, definition, work)
        if stage.mode in {"failed", "skipped"}:
            broken.add(definition.target)
        stages.append(context.told(stage, is_due=is_due))
        if done is not None:
            done(stages[-1])
    return stages


def _skipped(definition: Definition, needs: Sequence[str]) -> Stage:
    return Stage(
        definition.target, definition.kind, mode="skipped", message=f"it reads {', '.join(needs)}, which failed"
    )


def _interrupted(run: runs.Run, stage: Stage) -> None:
    run.note("interrupted", counts={**stage.counts(), "written": 0, "updated": 0}, state="interrupted")


def _told(context: Context, definition: Definition, error: CounterbalanceError) -> tuple[str, str | None]:
    """Return the message and hint; of something closed only where they can hold no values. They are kept in the journal.

    What is said of a closed column is made without values where it is computed (``executors/worker.py``).
    """
    of_itself = definition.kind != "view" or isinstance(error, StorageError | LimitError) or error.code in _SAFE
    if of_itself or not context.closed.holds(definition):
        return error.message, error.hint
    hint = 'a session with a purpose shows it: run the SELECT of the view with --sensitive "why"'
    return f"{definition.target} cannot be computed: {kind_of(error)}", hint


def _stage(context: Context, definition: Definition, *, is_due: bool) -> Stage:
    stage = Stage(definition.target, definition.kind)
    run = context.run = runs.Run(context.location, "refresh", definition.target)
    started = time.monotonic()
    if definition.table in context.closed.views:
        context.tell(definition.target, 0, None)  # of no rows, too
    try:
        stage.fingerprint = context.fingerprints.of(definition)
        _RUN[definition.kind](context, stage, definition)
    except BusyError:
        raise
    except CounterbalanceError as error:
        stage.mode, stage.code = "failed", error.code
        stage.message, stage.hint = _told(context, definition, error)
    except KeyboardInterrupt:
        _interrupted(run, stage)
        raise
    except (OSError, pa.ArrowException) as error:
        stage.mode, stage.code = "failed", "E6011"
        told = kind_of(error) if context.closed.holds(definition) else str(error).splitlines()[0][:300]
        stage.message = f"{definition.target} cannot be read or written: {told}"
        stage.hint = "somebody may be writing to its table with another tool; refresh again"
    except Exception as error:
        if is_ctrl_c(error):
            _interrupted(run, stage)
            raise KeyboardInterrupt from error
        stage.mode, stage.code = "failed", UNFORESEEN
        told = kind_of(error) if context.closed.holds(definition) else said(error)
        stage.message = f"{definition.target} failed unexpectedly: {told}"
        stage.hint = "this is a bug of counterbalance or of a function; COUNTERBALANCE_DEBUG=1 shows where"
        if os.environ.get("COUNTERBALANCE_DEBUG"):
            raise
    stage.seconds = time.monotonic() - started
    if context.notes:
        stage.message = "; ".join([*([stage.message] if stage.message else []), *context.notes])
        context.notes.clear()
    if stage.mode == "failed" or not run.opened:
        known = stage.fingerprint if stage.mode == "no_op" else None
        if stage.mode == "no_op" and is_due:  # the journal says the same of all closed rows
            stage.mode = "incremental"
        counts = {**stage.counts(), "written": 0, "updated": 0}
        inputs, outputs = stage.versions_in or None, stage.versions_out or None
        run.note(
            stage.mode,
            counts=counts,
            details=stage.message,
            fingerprint=known,
            versions_in=inputs,
            versions_out=outputs,
        )
    return stage

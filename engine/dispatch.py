"""Hand each statement to what runs it: queries, declarations, refreshes and calls of actions.

A session, a recipe and the estimate of a recipe differ in what they do with a statement, never in what kind it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from counterbalance.engine.errors import FunctionError, SqlError, did_you_mean
from counterbalance.engine.sql import statements

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.progress import Progress
    from counterbalance.engine.recipes.actions import Call
    from counterbalance.engine.refresh.model import Options, RefreshReport
    from counterbalance.engine.sql.statements import Declaration, Refresh, Statement
    from counterbalance.engine.store.location import Location

_DONE = pa.schema([("statement", pa.string()), ("target", pa.string()), ("changed", pa.bool_())])
_OPTIONS = ("full", "retry_errors", "due", "executor", "workers", "device", "batch_size", "udfs", "wait")


T = TypeVar("T")


def dispatch(
    text: str,
    *,
    query: Callable[[str], T],
    declare: Callable[[Declaration], T],
    refresh: Callable[[Refresh], T],
    call: Callable[[Call], T] | None = None,
) -> T:
    """Hand a statement to the one of four functions that is for its kind, and return what that returns.

    Args:
        text: The statement.
        query: For one that only reads, and for what is not a statement at all.
        declare: For one that declares or drops columns, views and indexes.
        refresh: For ``REFRESH``.
        call: For ``CALL action(…)``; without it that goes to ``query``, which refuses it.

    Raises:
        SqlError: It begins like one of the engine's own, and goes on wrongly.

    Example:
        >>> kinds = {"query": lambda _: "reads", "declare": lambda s: s.name, "refresh": lambda s: s.targets}
        >>> dispatch("REFRESH captions.mood", **kinds), dispatch("DROP INDEX i", **kinds), dispatch("SELECT 1", **kinds)
        (('captions.mood',), 'i', 'reads')
    """
    if call is not None:
        from counterbalance.engine.recipes import actions

        called = actions.read(text)
        if called is not None:
            return call(called)
    statement = statements.read(text)
    if statement is None:
        return query(text)
    return refresh(statement) if isinstance(statement, statements.Refresh) else declare(statement)


def execute(
    location: Location,
    statement: Statement,
    *,
    purpose: str | None = None,
    notes: list[str] | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> pa.Table:
    """Run a statement; returns what it did.

    Args:
        location: The lake.
        statement: What ``statements.read`` found.
        purpose: For which sensitive labels are read by a view that is declared, or a name that was closed is opened, or how
            many closed rows a refresh made is told.
        notes: Gets what a person should know.
        progress: Called as a refresh goes on.

    Raises:
        RequestError: It is refused; nothing was changed.
        BusyError: Somebody else is writing or refreshing.
    """
    if isinstance(statement, statements.Refresh):
        report = refresh(location, statement, purpose=purpose, progress=progress)
        raise_failures(report)
        return stages(report)
    from counterbalance.engine.catalog import ddl, definitions

    before = definitions.load(location).by_target

    run: Any = {
        statements.AddColumn: ddl.add_column,
        statements.DropColumn: ddl.drop_column,
        statements.CreateView: ddl.create_view,
        statements.DropView: ddl.drop_view,
        statements.CreateIndex: ddl.create_index,
        statements.DropIndex: ddl.drop_index,
    }[type(statement)]
    reads = isinstance(statement, statements.AddColumn | statements.CreateView)
    more: dict[str, Any] = {"notes": notes, "purpose": purpose} if reads else {}
    outcome = run(location, statement, **more)
    targets = outcome if isinstance(outcome, list) else [outcome] if outcome is not None else []
    verb = type(statement).__name__.removesuffix("Column").removesuffix("View").removesuffix("Index").upper()
    rows = [
        {"statement": f"{verb} {_NOUNS[t.kind]}", "target": t.target, "changed": _changed(verb, t, before)}
        for t in targets
    ]
    return pa.Table.from_pylist(rows, schema=_DONE)


def _changed(verb: str, definition: Definition, before: Mapping[str, Definition]) -> bool:
    return verb == "DROP" or before.get(definition.target) != definition


def raise_failures(report: RefreshReport) -> None:
    """Raise when a stage failed, with all of their reasons; what other stages did stays done.

    Raises:
        FunctionError: Some stage failed.
    """
    failed = [s for s in report.stages if s.mode == "failed"]
    if failed:
        told = "; ".join(s.message if s.target in s.message else f"{s.target}: {s.message}" for s in failed)
        count = len(report.stages)
        raise FunctionError(
            f"{len(failed)} of {count} stages of the refresh failed: {told}", code=failed[0].code, hint=failed[0].hint
        )


_NOUNS = {"column": "COLUMN", "view": "MATERIALIZED VIEW", "index": "INDEX"}


def refresh(
    location: Location,
    statement: Refresh,
    *,
    purpose: str | None = None,
    udfs: tuple[str, ...] = (),
    progress: Callable[[Progress], None] | None = None,
) -> RefreshReport:
    """Run a ``REFRESH`` statement."""
    from counterbalance.engine.refresh import runner

    how = options(statement.options, udfs)
    return runner.refresh(location, statement.targets, how, purpose=purpose, progress=progress)


def options(given: Mapping[str, Any], udfs: tuple[str, ...] = ()) -> Options:
    """Return options of a refresh by name.

    Raises:
        SqlError: There is none of a name.

    Example:
        >>> options({"full": True, "workers": 2}).workers
        2
    """
    from counterbalance.engine.refresh.model import Options

    for name in given:
        if name not in _OPTIONS:
            raise SqlError(
                f"REFRESH has no option {name!r}{did_you_mean(name, _OPTIONS)}",
                code="E3158",
                hint="options: " + ", ".join(_OPTIONS),
            )
    return Options(**{**given, **({"udfs": udfs} if udfs else {})})


def stages(report: RefreshReport) -> pa.Table:
    """Return a report as a table, one row a stage."""
    fields = [
        ("target", pa.string()),
        ("kind", pa.string()),
        ("mode", pa.string()),
        ("rows", pa.int64()),
        ("written", pa.int64()),
        ("updated", pa.int64()),
        ("deleted", pa.int64()),
        ("errors", pa.int64()),
        ("seconds", pa.float64()),
        ("reason", pa.string()),
        ("message", pa.string()),
    ]
    rows = [{name: getattr(stage, name) for name, _ in fields} for stage in report.stages]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))

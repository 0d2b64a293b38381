"""What is declared in a lake, whether it is fresh, why not, and when it is due next. Nothing is computed or written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from counterbalance.engine.catalog import access, meta, runs, snapshot
from counterbalance.engine.catalog import closed as closing
from counterbalance.engine.catalog import definitions as catalog
from counterbalance.engine.catalog.planning import Catalog, queries_over
from counterbalance.engine.errors import CounterbalanceError
from counterbalance.engine.refresh import due, failures, plan
from counterbalance.engine.refresh.context import Context
from counterbalance.engine.refresh.fingerprint import Fingerprints
from counterbalance.engine.refresh.model import Options
from counterbalance.engine.schedule import last_due, next_time
from counterbalance.engine.schema import STAMP_SUFFIX
from counterbalance.engine.search import indexes
from counterbalance.engine.store import cleaning, tables
from counterbalance.engine.store.columns import field_ids
from counterbalance.engine.write.journal import require_lake

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping

    from counterbalance.engine.catalog.definitions import Definition
    from counterbalance.engine.refresh.model import Stage
    from counterbalance.engine.store.location import Location

_TIME: Final = pa.timestamp("us", tz="UTC")
STATUS: Final = pa.schema(
    [
        ("target", pa.string()),
        ("kind", pa.string()),
        ("state", pa.string()),
        ("reason", pa.string()),
        ("stale_rows", pa.int64()),
        ("errors", pa.int64()),
        ("coverage", pa.float64()),
        ("bytes", pa.int64()),
        ("refreshed", _TIME),
        ("seconds", pa.float64()),
        ("due_since", _TIME),
        ("next_due", _TIME),
    ]
)
SCHEDULE: Final = pa.schema(
    [
        ("target", pa.string()),
        ("schedule", pa.string()),
        ("tried", _TIME),
        ("due", pa.bool_()),
        ("due_since", _TIME),
        ("next_due", _TIME),
    ]
)
FRESH: Final = "fresh"


def status(location: Location, *, purpose: str | None = None) -> pa.Table:
    """Return one row for everything that is declared, each after what it reads; schema ``STATUS``.

    ``state`` is ``fresh``, ``stale``, ``failed`` (its last refresh failed, and it is still stale) or ``unknown`` (it
    cannot be looked at, such as for want of a function). ``stale_rows`` are rows to be computed or indexed, where that
    is known; ``coverage`` is the share of rows in an index; ``bytes`` what its newest version takes on disk.
    ``due_since`` and ``next_due`` are as of ``schedule``. ``refreshed`` and ``seconds`` are of the last refresh that wrote.

    Args:
        location: The lake.
        purpose: For which sizes of closed things are told; without one they are NULL.

    Raises:
        NotFoundError: No lake is there.
    """
    require_lake(location)
    sensitive = access.stated(location, purpose, "status")
    with queries_over(Catalog(location), knows_all=True) as engine:
        declared = catalog.load(location)
        closed = closing.load(location, snapshot.newest(location))
        fingerprints = Fingerprints(location, declared, engine.expand)
        context = Context(location, declared, fingerprints, Options(), closed=closed, sensitive=sensitive)
        looked = plan.stages(context, declared.order())
    told = ("at", "seconds", "mode", "details")
    done, tried = (runs.refreshes(location, told, modes=m) for m in (runs.WROTE, (*runs.WROTE, "no_op", "failed")))
    errors = _errors(location)
    rows = [
        _row(context, declared.by_target[t], stage, done.get(t), tried.get(t), errors)
        for t, stage in ((stage.target, stage) for stage in looked)
    ]
    return pa.Table.from_pylist(rows, schema=STATUS)


def schedule(location: Location, now: dt.datetime | None = None) -> pa.Table:
    """Return everything that has a schedule, what is due first, then soonest first; schema ``SCHEDULE``.

    ``due`` tells whether ``refresh --due`` would do it now; then ``due_since`` is the time of its schedule that was missed
    first after it was last refreshed (of what never was, the latest one); what failed stays due. ``next_due`` is the next time to come.

    Raises:
        NotFoundError: No lake is there.
    """
    require_lake(location)
    moment = now or meta.now()
    tried, done = due.last_tried(location), due.last_done(location)
    rows = [
        {
            "target": d.target,
            "schedule": d.schedule,
            "tried": tried.get(d.target),
            "due": due.is_due(d, done, moment),
            **_times(d, done, moment),
        }
        for d in catalog.load(location).order()
        if d.schedule is not None
    ]
    rows.sort(key=lambda r: (r["due_since"] or r["next_due"], r["target"]))
    return pa.Table.from_pylist(rows, schema=SCHEDULE)


def _times(definition: Definition, done: Mapping[str, dt.datetime], now: dt.datetime) -> dict[str, dt.datetime | None]:
    """Tell since when it is due, if it is, and when it is next."""
    if definition.schedule is None:
        return {"due_since": None, "next_due": None}
    since = None
    if due.is_due(definition, done, now):
        last = done.get(definition.target)
        since = last_due(definition.schedule, now) if last is None else next_time(definition.schedule, last)
    return {"due_since": since, "next_due": next_time(definition.schedule, now)}


def _errors(location: Location) -> Counter[tuple[str, str]]:
    rows = failures.read(location, columns=("table_name", "column_name")).to_pylist()
    return Counter((r["table_name"], r["column_name"]) for r in rows if r["column_name"] is not None)


def _row(
    context: Context,
    definition: Definition,
    stage: Stage,
    done: Mapping[str, Any] | None,
    tried: Mapping[str, Any] | None,
    errors: Mapping[tuple[str, str], int],
) -> dict[str, Any]:
    state, reason = _state(stage, tried)
    told = context.tells(definition)
    size, coverage = _disk(context.location, definition) if told else (None, None)
    when = {definition.target: tried["at"]} if tried is not None else {}
    done = done if told or done is None or tried is None or tried["mode"] == "failed" else tried
    return {
        "target": definition.target,
        "kind": definition.kind,
        "state": state,
        "reason": reason if told else closing.without_counts(reason),
        "stale_rows": (stage.rows or None)
        if stage.reason and definition.kind != "view" and stage.code is None
        else None,
        "errors": errors.get((definition.table, definition.name), 0) if told and definition.kind == "column" else None,
        "coverage": coverage,
        "bytes": size,
        "refreshed": done["at"] if done is not None else None,
        "seconds": done["seconds"] if done is not None else None,
        **_times(definition, when, meta.now()),
    }


def _state(stage: Stage, last: Mapping[str, Any] | None) -> tuple[str, str]:
    if stage.code is not None:
        return "unknown", f"{stage.reason} ({stage.hint})" if stage.hint else stage.reason
    if not stage.reason:
        return FRESH, ""
    if last is not None and last["mode"] == "failed":
        return "failed", f"last refresh failed: {last['details']}"
    return "stale", stage.reason


def _disk(location: Location, definition: Definition) -> tuple[int | None, float | None]:
    """Return bytes on disk, and the share of rows that an index covers."""
    dataset = tables.open_table(location, definition.table)
    if dataset is None:
        return None, None
    if definition.kind == "view":
        return sum(cleaning.sizes(location, definition.table, dataset).values()), None
    if definition.kind == "column":
        return _column_bytes(dataset, {definition.name, definition.name + STAMP_SUFFIX}), None
    try:
        found = indexes.coverage(dataset, definition.name)
    except CounterbalanceError:
        return None, 0.0
    rows = found.indexed + found.unindexed
    return found.bytes, found.indexed / rows if rows else 1.0


def _column_bytes(dataset: Any, names: set[str]) -> int | None:
    ids = {i for field in dataset.lance_schema.fields() if field.name() in names for i in field_ids(field)}
    if not ids:
        return None
    told = sum(int(f.bytes_on_disk) for f in dataset.stats.data_stats().fields if f.id in ids)
    own = (  # Lance tells nothing of files that hold these columns alone, as a refresh writes them
        f.file_size_bytes or 0
        for fragment in dataset.get_fragments()
        for f in fragment.data_files()
        if {*f.fields} - {-2} <= ids
    )
    return told or sum(own)

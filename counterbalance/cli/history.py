"""``counterbalance history``: what was done to a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import SessionOptions, location_of, output_options

if TYPE_CHECKING:
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance history coco.lake",
    "counterbalance history coco.lake --target captions.sentiment",
    "counterbalance history coco.lake --format jsonl",
    'counterbalance history coco.lake --access --sensitive "yearly review"',
)
_QUERY = """
SELECT started, kind, target, mode, written, updated, rejected, round(seconds, 3) AS seconds,
       nullif(details, '') AS details, rows_read, unchanged,
       CASE WHEN state = 'running' AND kind = 'ingest' AND started < $since THEN 'interrupted' ELSE state END AS state, fingerprint, "user", run_id, versions_in, versions
FROM meta.runs
WHERE $target IS NULL OR lower(target) = lower($target)
ORDER BY started, run_id
"""


@declare("history", examples=EXAMPLES, short_help="List what was done to a lake.")
@click.argument("lake", type=click.Path())
@click.option("--target", metavar="NAME", help="Only what was done to this column, view, index or source.")
@click.option(
    "--access", is_flag=True, help="List who read sensitive labels, and why; exit with 1 if the log was changed."
)
@click.option(
    "--sensitive",
    metavar="PURPOSE",
    help="Why the access log, or sizes of what is closed, are read; it goes into the log.",
)
@click.option("--max-rows", type=click.IntRange(min=1), metavar="N", help="Write at most N rows.")
@output_options
def command(
    lake: str, *, target: str | None, access: bool, sensitive: str | None, max_rows: int | None, output: OutputOptions
) -> int:
    """List the runs that changed LAKE, oldest first: ingests, declarations, and every stage of every refresh.

    With counts (rejected: rows that failed), the fingerprint of what was computed, and versions of tables before and
    after. A load of state interrupted was killed: its command, typed again, goes on. With --access instead: the log of reads that had sensitive labels, each line bound to the one before it; it is read
    with a purpose, too.
    """
    if access:
        return _accesses(lake, sensitive, output)
    from counterbalance.cli.asking import ask
    from counterbalance.engine.store.lock import writing_since
    from counterbalance.shell import errors

    since = writing_since(location_of(lake))
    note, limits = None if target is None else _explain_no_runs(lake, target), SessionOptions(sensitive=sensitive)
    ask(lake, lambda session: session.sql(_QUERY, max_rows=max_rows, target=target, since=since), limits, output)
    if note is not None:
        errors.note(note)
    return 0


def _accesses(lake: str, purpose: str | None, output: OutputOptions) -> int:
    """List the access log.

    Raises:
        SensitiveError: There is no purpose; or a line was changed or is gone, and what is there was listed.
    """
    from counterbalance.engine.catalog import access
    from counterbalance.engine.errors import SensitiveError
    from counterbalance.shell import present

    location = location_of(lake)
    if purpose is None:
        raise SensitiveError("the access log is read with a purpose", code="E3305", hint='--sensitive "why"')
    broken = access.verify(location)
    log = access.listed(location, purpose)
    if output.for_eyes:
        log = log.select(["line", "at", "user", "purpose", "columns", "rows", "sql", "whole"])
    present.table(log, output)
    if broken:
        lines = ", ".join(map(str, broken[:10])) + (" …" if len(broken) > 10 else "")
        raise SensitiveError(
            f"the access log of {lake} is not whole: line {lines} was changed, does not follow the one before, or is gone",
            code="E3312",
            hint="compare it with a copy that was kept elsewhere",
        )
    return 0


def _explain_no_runs(lake: str, target: str) -> str | None:
    """Return why a name that the lake knows has no runs, if it has none.

    Raises:
        NotFoundError: The lake does not know the name.
    """
    from counterbalance.engine.catalog import definitions, meta, snapshot
    from counterbalance.engine.errors import NotFoundError, did_you_mean
    from counterbalance.engine.schema import BASE_TABLES

    location = location_of(lake)
    ran = {t for t in meta.read(location, "runs")["target"].to_pylist() if t}
    if target.lower() in {t.lower() for t in ran}:
        return None
    relations = {*BASE_TABLES, *(t for t in snapshot.known_tables(location) if "/" not in t)}
    known = {*ran, *relations, *definitions.load(location).by_target}
    if target.lower() not in {t.lower() for t in known}:
        hint = "names with a history: " + (", ".join(sorted(ran)) or "none yet")
        raise NotFoundError(f"nothing is named {target!r}{did_you_mean(target, known)}", code="E1052", hint=hint)
    return f"no run is about {target} alone; ingests are listed by their source"

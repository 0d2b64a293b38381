"""``counterbalance refresh``: compute what is missing or stale."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import (
    computing_options,
    connect,
    durable_option,
    json_option,
    print_json,
    progress_option,
    purpose_option,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.engine.refresh.model import RefreshReport, Stage

EXAMPLES = (
    "counterbalance refresh coco.lake",
    "counterbalance refresh coco.lake captions.sentiment --dry-run",
    "counterbalance refresh coco.lake images.embedding --device cuda --batch-size 256",
    "counterbalance refresh coco.lake captions.mood --udfs my_udfs.py --retry-errors",
    "counterbalance refresh coco.lake --due --json",
    "counterbalance refresh coco.lake --openlineage http://localhost:5000/api/v1/lineage",
)

KEPT = "batches that were done are kept; the same command goes on with them"


@declare("refresh", examples=EXAMPLES, short_help="Compute what is missing or stale in a lake.")
@click.argument("lake", type=click.Path())
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--dry-run", is_flag=True, help="Show what would be done and why; do nothing.")
@click.option("--full", is_flag=True, help="Compute everything again.")
@click.option("--due", is_flag=True, help="Only what its schedule says; safe to call at any rate.")
@click.option(
    "--openlineage", metavar="FILE|URL", help="Tell OpenLineage of every stage: lines of FILE, or posts to URL."
)
@computing_options
@durable_option
@purpose_option
@json_option("the report")
@progress_option
def command(
    lake: str,
    targets: tuple[str, ...],
    *,
    dry_run: bool,
    as_json: bool,
    progress: str,
    due: bool,
    durable: bool,
    **options: Any,
) -> int:
    """Bring TARGETs, and what they read, up to date; everything without any.

    A TARGET is a generated column (captions.sentiment), a materialized view, an index, or a table for all its columns
    and indexes. Only what is missing or stale is computed. Exit codes: 0 done, or nothing to do; 1 a stage failed; 75
    another refresh is running; 130 interrupted. What was computed before an interruption is kept.
    How many rows of closed views and columns were made is told with --sensitive.
    """
    from counterbalance.shell import errors
    from counterbalance.shell.supervise import ends_in_time

    with ends_in_time(KEPT), shown(progress, KEPT) as report:
        asked = connect(lake, durable=durable)
        done = asked.refresh(*targets, dry_run=dry_run, progress=report, due=due, **options)
    for note in done.notes:
        errors.note(note)
    if as_json:
        print_json(done.to_dict())
    else:
        _print_table(done, due=due)
    for stage in done.stages:
        if stage.errors:
            errors.note(
                f"{stage.errors:,} rows of {stage.target} failed and are NULL: counterbalance errors {shlex.quote(lake)} {stage.target}"
            )
    failed = [s for s in done.stages if s.mode == "failed"]
    if failed and not as_json:
        _show(failed)
    return 1 if failed else 0


def _print_table(done: RefreshReport, *, due: bool) -> None:
    """Print the stages; nothing where there is none, for cron wants silence."""
    from counterbalance.shell import present

    if not done.stages:
        if not due or sys.stdout.isatty():
            click.echo("nothing is due" if due else "nothing is declared")
        return
    present.facts([_planned(s) if done.dry_run else _row(s) for s in done.stages])


def _planned(stage: Stage) -> dict[str, Any]:
    known = stage.kind == "column" or stage.rows  # how many rows a view has is seen when it is computed
    rows = stage.rows if known and stage.mode != "failed" else None
    return {"target": stage.target, "mode": stage.mode, "rows": rows, "reason": stage.reason or "fresh"}


def _row(stage: Stage) -> dict[str, Any]:
    message = f"error {stage.code}" if stage.mode == "failed" else stage.message
    if stage.kind == "view" and stage.mode in {"rebuild", "incremental"} and stage.is_told:
        change = f"{stage.written:,} added, {stage.updated:,} changed, {stage.deleted:,} removed"
        message = f"{change}; {message}" if message else change
    return {
        "target": stage.target,
        "mode": stage.mode,
        "rows": stage.rows,
        "errors": stage.errors,
        "took": f"{stage.seconds:.1f} s",
        "message": message,
    }


def _show(failed: Sequence[Stage]) -> None:
    """Show every error once, with the stages that it ended."""
    from counterbalance.engine.errors import CounterbalanceError
    from counterbalance.shell import errors

    targets: dict[tuple[str | None, str, str | None], list[str]] = {}
    for stage in failed:
        targets.setdefault((stage.code, stage.message, stage.hint), []).append(stage.target)
    for (code, message, hint), names in targets.items():
        where = "" if len(names) == 1 and message.startswith(names[0]) else f"{', '.join(names)}: "
        errors.show(CounterbalanceError(where + message, code=code, hint=hint))

"""``counterbalance history``: what was done to a lake."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import SessionOptions, output_options

if TYPE_CHECKING:
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance history coco.lake",
    "counterbalance history coco.lake --target captions.sentiment",
    "counterbalance history coco.lake --format jsonl",
)
_QUERY = """
SELECT started, kind, target, state, mode, rows_read, written, updated, unchanged, rejected,
       round(seconds, 3) AS seconds, fingerprint, "user", run_id, details, versions_in, versions
FROM meta.runs
WHERE $target IS NULL OR lower(target) = lower($target)
ORDER BY started, run_id
"""


@declare("history", examples=EXAMPLES, short_help="List what was done to a lake.")
@click.argument("lake", type=click.Path())
@click.option("--target", metavar="NAME", help="Only what was done to this column, view or index.")
@click.option("--max-rows", type=click.IntRange(min=1), metavar="N", help="Write at most N rows.")
@output_options
def command(lake: str, target: str | None, max_rows: int | None, output: OutputOptions) -> int:
    """List the runs that changed LAKE, oldest first: ingests, declarations, and every stage of every refresh.

    With counts (rejected: rows that failed), the fingerprint of what was computed, and versions of tables before and
    after.
    """
    from counterbalance.cli.asking import ask

    ask(lake, lambda session: session.sql(_QUERY, max_rows=max_rows, target=target), SessionOptions(), output)
    return 0

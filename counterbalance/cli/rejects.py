"""``counterbalance errors``: what was refused or failed, and why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import SessionOptions, location_of, output_options

if TYPE_CHECKING:
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance errors coco.lake",
    "counterbalance errors coco.lake --summary",
    "counterbalance errors coco.lake captions.sentiment",
    "counterbalance errors coco.lake --code bad_box -o refused.csv",
)
_ALL = """
SELECT code, position, message, source, table_name, column_name, key, attempts, at, run_id
FROM meta.errors
WHERE $code IS NULL OR code = $code
ORDER BY at, source, position, error_id
"""
_OF_COLUMN = """
SELECT key, code, message, attempts, at
FROM meta.errors
WHERE table_name = $table AND column_name IS NOT DISTINCT FROM $column AND ($code IS NULL OR code = $code)
ORDER BY try_cast(key AS BIGINT), key, error_id
"""

_SUMMARY = """
SELECT code, table_name, column_name, count(*) AS n, min_by(message, error_id) AS example, max(at) AS newest
FROM meta.errors
WHERE ($code IS NULL OR code = $code) AND ($table IS NULL OR (table_name = $table AND column_name IS NOT DISTINCT FROM $column))
GROUP BY code, table_name, column_name
ORDER BY n DESC, code, table_name, column_name
"""


@declare("errors", examples=EXAMPLES, short_help="List what was refused or failed, and why.")
@click.argument("lake", type=click.Path())
@click.argument("target", required=False)
@click.option("--code", metavar="CODE", help="Only those with this code.")
@click.option("--summary", is_flag=True, help="Count them by code and column, with an example of each.")
@click.option("--max-rows", type=click.IntRange(min=1), metavar="N", help="Write at most N rows.")
@output_options
def command(
    lake: str, target: str | None, code: str | None, *, summary: bool, max_rows: int | None, output: OutputOptions
) -> int:
    """List the items that were refused while LAKE was filled, and the rows whose function failed.

    With the TARGET table.column: the rows of that generated column that failed, with key, code, message and attempts.
    They are tried again by counterbalance refresh LAKE TARGET --retry-errors. With the name of a view that tells what a
    recipe skipped, such as gensynth_skipped: its rows.
    """
    from counterbalance.cli.asking import ask

    output = replace(output, folded=("source", "attempts", "at", "run_id"))
    table, column = (None, None) if target is None else _find_target(lake, target)
    values = {"code": code} if target is None and not summary else {"table": table, "column": column, "code": code}
    text = _SUMMARY if summary else _ALL if target is None else _OF_COLUMN
    ask(lake, lambda session: session.sql(text, values, max_rows=max_rows), SessionOptions(), output)
    return 0


def _find_target(lake: str, target: str) -> tuple[str, str | None]:
    """Return the table and column of errors; no column for a view that tells what was skipped."""
    from counterbalance.engine.catalog import definitions, error_views
    from counterbalance.engine.errors import NotFoundError, did_you_mean

    location = location_of(lake)
    declared = definitions.load(location)
    known = {d.target.lower(): d for d in declared.by_target.values() if d.kind == "column"}
    known |= {v.name.lower(): v for v in error_views.views(declared.views())}
    found = known.get(target.lower())
    if found is None:
        hint = "generated columns, and views of what was skipped: " + (", ".join(sorted(known)) or "none is declared")
        raise NotFoundError(f"no generated column {target!r}{did_you_mean(target, known)}", code="E1034", hint=hint)
    return found.table, found.name if found.kind == "column" else None

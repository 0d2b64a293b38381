"""``counterbalance status``: what is declared, and whether it is fresh."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, output_options, purpose_option, udfs_option

if TYPE_CHECKING:
    import datetime as dt

    import pyarrow as pa

    from counterbalance.engine.store.location import Location
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance status coco.lake",
    "counterbalance status coco.lake --check --json",
    "counterbalance status coco.lake --udfs my_udfs.py",
)
STALE = 3
"""Exit code of ``--check`` when something is not fresh."""


@declare("status", examples=EXAMPLES, short_help="Show what is declared in a lake, and what is stale.")
@click.argument("lake", type=click.Path())
@click.option("--check", is_flag=True, help="Exit with 3 when something is not fresh.")
@udfs_option
@purpose_option
@output_options
def command(lake: str, *, check: bool, udfs: tuple[str, ...], sensitive: str | None, output: OutputOptions) -> int:
    """List every generated column, materialized view and index of LAKE: fresh or stale, why, and what it holds.

    Shown are the rows to be computed, rows whose function failed, the share of rows that an index covers, the size on
    disk, the last refresh, since when one is due and when the next one is. Nothing is computed. Sizes of what is closed are
    told with --sensitive.
    """
    from counterbalance.cli.options import load
    from counterbalance.engine.refresh.status import FRESH, status
    from counterbalance.shell import present

    load(udfs)
    location = connect(lake).location
    found = status(location, purpose=sensitive)
    if output.for_eyes:
        _print(found)
    else:
        present.table(found, output)
    _tell_open(location)
    return STALE if check and any(s != FRESH for s in found["state"].to_pylist()) else 0


def _tell_open(location: Location) -> None:
    """Say on stderr which closed tables other users can read, of a lake that an earlier release has made."""
    from counterbalance.engine.catalog import closed
    from counterbalance.shell import errors

    names = ", ".join(closed.lying_open(location))
    if names and location.is_local:
        errors.note(
            f"other users of the machine can read {names}, which hold perceived labels; the next ingest, refresh or gc moves them"
        )
    elif names:
        errors.note(
            f"{names} hold perceived labels, and lie outside of sensitive/; nothing is moved on an object store"
        )


def _print(found: pa.Table) -> None:
    """Print sizes and times in few characters, and only columns that hold something."""
    from counterbalance.shell import present

    if not len(found):
        click.echo("nothing is declared")
        return
    rows = [_format_row(row) for row in found.to_pylist()]
    said = [n for n in rows[0] if any(r[n] is not None for r in rows)]
    present.facts([{n: r[n] for n in said} for r in rows])


def _format_row(row: dict[str, Any]) -> dict[str, Any]:
    from counterbalance.shell.progress import amount

    return {
        "target": row["target"],
        "kind": row["kind"],
        "state": row["state"],
        "stale": row["stale_rows"],
        "errors": row["errors"],
        "covered": None if row["coverage"] is None else f"{row['coverage']:.0%}",
        "size": None if row["bytes"] is None else amount(row["bytes"], "bytes"),
        "refreshed": moment(row["refreshed"]),
        "took": None if row["seconds"] is None else f"{row['seconds']:.1f} s",
        "due since": moment(row["due_since"]),
        "next": moment(row["next_due"]),
        "why": row["reason"] or None,
    }


def moment(at: dt.datetime | None) -> str | None:
    """Return a moment to the minute, UTC."""
    return None if at is None else f"{at:%Y-%m-%d %H:%M}"

"""``counterbalance gc``: give back what nobody needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli import values
from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, durable_option, json_option, print_json

if TYPE_CHECKING:
    import datetime as dt

    from counterbalance.engine.refresh.gc import GcReport

EXAMPLES = (
    "counterbalance gc coco.lake",
    "counterbalance gc coco.lake --older-than 30d --apply",
    "counterbalance gc coco.lake --older-than 0 --apply --json",
)


def _age(_context: click.Context, _option: click.Parameter, value: str) -> dt.timedelta:
    try:
        return values.age(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not an age; write 7d, 12h, 2w, 0 …") from None


@declare("gc", examples=EXAMPLES, short_help="Remove old versions, leftovers and deleted rows.")
@click.argument("lake", type=click.Path())
@click.option(
    "--older-than", default="7d", show_default=True, callback=_age, metavar="AGE", help="Keep what is younger."
)
@click.option("--apply", is_flag=True, help="Remove it; without this, only show what would be removed.")
@durable_option
@json_option("the findings")
def command(lake: str, *, older_than: dt.timedelta, apply: bool, durable: bool, as_json: bool) -> int:
    """Find what can go from LAKE, and with --apply remove it.

    That is: old versions of tables, rows that were deleted, files of writes that failed, tables of dropped views, and
    results of refreshes that nothing goes on with. Versions that have a tag, that an open session reads, or that an
    unfinished ingest started from stay. To have deleted rows gone from every byte: --older-than 0 --apply.
    """
    from counterbalance.engine.refresh.gc import gc

    done = gc(connect(lake, durable=durable).location, older_than=older_than, apply=apply)
    if as_json:
        print_json(done.to_dict())
    else:
        _print(done)
    return 0


def _print(done: GcReport) -> None:
    from counterbalance.shell import errors, present
    from counterbalance.shell.progress import amount

    if done.findings:
        present.facts([{"kind": f.kind, "name": f.name, "size": _size(f.bytes), "what": f.what} for f in done.findings])
    size = amount(done.bytes, "bytes")
    if not done.findings:
        click.echo("nothing can go")
    elif done.applied:
        click.echo(f"freed {size}")
    else:
        click.echo(f"{size} can be freed; nothing was removed: add --apply")
    for text in done.notes:
        errors.note(text)
    if any(f.bytes is None for f in done.findings):
        errors.note("sizes of closed tables are not told; they are no part of the sum")


def _size(size: int | None) -> str:
    from counterbalance.shell.progress import amount

    return "" if size is None else amount(size, "bytes")

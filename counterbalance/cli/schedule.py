"""``counterbalance schedule``: when things are due."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, output_options

if TYPE_CHECKING:
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance schedule coco.lake",
    "counterbalance schedule coco.lake --json",
)


@declare("schedule", examples=EXAMPLES, short_help="List when what a lake holds is due to be refreshed.")
@click.argument("lake", type=click.Path())
@output_options
def command(lake: str, output: OutputOptions) -> int:
    """List everything in LAKE that has a schedule, what is due first, with its next time to come (UTC).

    What is due now also shows since when: the first time that was missed. Nothing runs by itself: call counterbalance refresh LAKE --due from cron,
    systemd or a workflow engine (examples/schedule).
    """
    from counterbalance.engine.refresh.status import schedule
    from counterbalance.shell import present

    found = schedule(connect(lake).location)
    if not len(found) and output.for_eyes:
        click.echo("nothing has a schedule")
        return 0
    present.table(found, output)
    return 0

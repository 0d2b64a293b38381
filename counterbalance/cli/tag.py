"""``counterbalance tag``: name the present."""

from __future__ import annotations

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, durable_option, json_option, print_json

EXAMPLES = (
    "counterbalance tag coco.lake paper-v1",
    "counterbalance tag laion.lake before-cleaning --json",
)


@declare("tag", examples=EXAMPLES, short_help="Name the present state of a lake, for --at.")
@click.argument("lake", type=click.Path())
@click.argument("name")
@durable_option
@json_option("the versions")
def command(lake: str, name: str, *, durable: bool, as_json: bool) -> int:
    """Name the present versions of all tables of LAKE, so that --at NAME reads them for ever."""
    versions = connect(lake, durable=durable).tag(name).versions
    if as_json:
        print_json({"name": name, "versions": versions})
    else:
        click.echo(f"{name}: " + ", ".join(f"{table} {version}" for table, version in sorted(versions.items())))
    return 0

"""``counterbalance functions``: what queries may call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import load, output_options, udfs_option

if TYPE_CHECKING:
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance functions",
    "counterbalance functions vader",
    "counterbalance functions --udfs my_udfs.py --json",
)


@declare("functions", examples=EXAMPLES, short_help="List the functions that queries may call.")
@click.argument("name", required=False)
@udfs_option
@output_options
def command(name: str | None, udfs: tuple[str, ...], output: OutputOptions) -> int:
    """List the functions that queries may call beside DuckDB's own, with signature and meaning; with NAME, that one.

    Table functions stand in FROM and return rows, such as top_k().
    """
    from counterbalance.engine.catalog import system
    from counterbalance.shell import describe, present

    load(udfs)
    shown = describe.functions(name or "")
    if output.for_eyes:
        click.echo(shown)
        return 0
    known = system.callables()
    present.rows([row for row in known if name is None or row["name"] == name.lower()], system.CALLABLE, output)
    return 0

"""``counterbalance verify``: is every file what was written?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect, output_options, progress_option

if TYPE_CHECKING:
    from counterbalance.engine.catalog.verify import Verified
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance verify coco.lake",
    "counterbalance verify coco.lake --format json",
    "counterbalance verify coco.lake --accept",
)
FOUND: Final = 4
"""Exit code when something is damaged or lost."""
_COLUMNS: Final = ("kind", "table", "version", "file", "problem")


@declare("verify", examples=EXAMPLES, short_help="Find files of a lake that are damaged or lost.")
@click.argument("lake", type=click.Path())
@click.option("--accept", is_flag=True, help="Go on with what is there; brings nothing back.")
@output_options
@progress_option
def command(lake: str, *, accept: bool, output: OutputOptions, progress: str) -> int:
    """Compare every file of every version of LAKE's tables with the digest that was recorded when it was written.

    Tells which file is damaged or lost, of which table, and which versions need it; what another tool wrote has no digest,
    and is told as unrecorded, which is not damage. Nothing is written, and no right to write is needed, without --accept: it
    takes versions away that nobody completed when power was lost, and damaged tables as they are from then on. Exit codes:
    0 all is what was written; 4 something is damaged or lost.
    """
    from counterbalance.engine.catalog import verify
    from counterbalance.shell.progress import reporter

    location = connect(lake).location
    with reporter(progress) as report:
        found = verify.verify(location, progress=report)
    if accept and not found.sound:
        verify.accept(location, found)
    _print(found, output)
    if not found.sound:
        _hint(lake, accepted=accept)
    return 0 if found.sound else FOUND


def _print(found: Verified, output: OutputOptions) -> None:
    import pyarrow as pa

    from counterbalance.shell import errors, present
    from counterbalance.shell.progress import amount

    rows = [{c: getattr(finding, c) or None for c in _COLUMNS} for finding in found.findings]
    if not output.for_eyes:
        present.rows(rows, pa.schema([(c, pa.string()) for c in _COLUMNS]), output)
    elif rows:
        present.facts(rows)
    read = f"{found.files:,} files of {found.tables:,} tables, {amount(found.bytes, 'bytes')}"
    read += ", and those of closed tables and meta, which are not counted" * found.has_closed
    bad = sum(f.kind != "unrecorded" for f in found.findings)
    told = f"{read}: {'all are what was written' if found.sound else f'{bad:,} damaged or lost'}"
    if output.for_eyes:
        click.echo(told)  # the answer to the question
    else:
        errors.note(told)


def _hint(lake: str, *, accepted: bool) -> None:
    from counterbalance.shell import errors

    if accepted:
        errors.hint("these tables are taken as they are from now on; rows of damaged files may be wrong")
    else:
        errors.hint(
            f"put a copy of these files in their place; without one, counterbalance verify {lake} --accept goes on"
        )

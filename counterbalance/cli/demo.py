"""``counterbalance demo``: the whole way in one go."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from counterbalance.cli.base import OutputPath, declare

EXAMPLES = (
    "counterbalance demo",
    "counterbalance demo /tmp/counterbalance-demo",
)


@declare("demo", examples=EXAMPLES, short_help="Sample, ingest, audit and report, in one go.")
@click.argument("directory", type=OutputPath(file_okay=False, path_type=Path), default=Path("counterbalance-demo"))
def command(directory: Path) -> int:
    """Draw a sample, ingest it, run every audit and write a report, in DIRECTORY.

    Shows the biases that were planted beside those that the audits find. Takes less than a minute.
    """
    from counterbalance import demo

    demo.run(directory, out=sys.stdout)
    return 0

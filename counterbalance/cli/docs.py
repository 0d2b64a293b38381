"""``counterbalance docs``: the documentation in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from counterbalance.cli.base import declare
from counterbalance.engine.errors import NotFoundError

EXAMPLES = ("counterbalance docs", "counterbalance docs --no-browser")


@declare("docs", examples=EXAMPLES, short_help="Open the documentation that `make docs` built.")
@click.option("--no-browser", is_flag=True, help="Print where it is, and open no browser.")
def command(*, no_browser: bool) -> int:
    """Open the documentation in a browser, and print where it lies.

    It is built in a checkout by `make docs`, and takes no network to build or to read. A wheel that is built then has the
    manual page, for `man cbal`; the pages are too large for it.
    """
    page = Path(__file__).resolve().parents[2] / "build" / "docs" / "index.html"
    if not page.is_file():
        raise NotFoundError(
            f"the documentation is not built: there is no {page}",
            code="E1064",
            hint="make docs, in a checkout, builds it; counterbalance COMMAND --help tells of a command, counterbalance audit --list of audits",
        )
    click.echo(page)
    if not no_browser:
        import webbrowser

        webbrowser.open(page.as_uri())
    return 0

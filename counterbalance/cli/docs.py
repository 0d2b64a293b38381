"""``counterbalance docs``: the documentation in a browser."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import click

from counterbalance.cli.base import declare
from counterbalance.engine.errors import NotFoundError

EXAMPLES = ("counterbalance docs", "counterbalance docs --no-browser")


@declare("docs", examples=EXAMPLES, short_help="Open the documentation of what is installed.")
@click.option("--no-browser", is_flag=True, help="Print where it is, and open no browser.")
def command(*, no_browser: bool) -> int:
    """Open the documentation in a browser, and print where it lies.

    A wheel brings it, as it brings the manual page for `man cbal`; in a checkout `make docs` builds it. It takes no network.
    """
    built = Path(__file__).resolve().parents[2] / "build" / "docs" / "index.html"
    page = built if built.is_file() else _installed()
    if page is None:
        raise NotFoundError(
            f"the documentation is not here: neither was it installed, nor is there {built}",
            code="E1064",
            hint="a wheel brings it where it was built before the wheel; in a checkout `make docs` builds it; counterbalance COMMAND --help tells of a command, counterbalance audit --list of audits",
        )
    click.echo(page)
    if not no_browser:
        import webbrowser

        webbrowser.open(page.as_uri())
    return 0


def _installed() -> Path | None:
    """Return the first page as the wheel brought it, ``None`` where it brought none."""
    for file in metadata.files("counterbalance") or ():
        if file.match("share/doc/counterbalance/index.html"):
            return Path(str(file.locate())).resolve()
    return None

"""``counterbalance ui``: pages to look at lakes, served on this machine."""

from __future__ import annotations

from typing import Final

import click

from counterbalance.cli.base import declare
from counterbalance.cli.options import connect
from counterbalance.engine.errors import RequestError
from counterbalance.shell import errors

_LONGEST: Final = 80
EXAMPLES = (
    "counterbalance ui coco.lake",
    "counterbalance ui coco.lake cc.lake --port 8010 --no-browser",
    "counterbalance ui coco.lake --annotator maria",
)


@declare("ui", examples=EXAMPLES, short_help="Open pages to look at lakes, served on this machine.")
@click.argument("lakes", type=click.Path(), nargs=-1, required=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 for one that is free.  [default: 0]"
)
@click.option("--no-browser", is_flag=True, help="Print the address, and open no browser.")
@click.option("--allow-refresh", is_flag=True, help="Pages may start a refresh; else they only read.")
@click.option(
    "--annotator",
    metavar="NAME",
    help="Pages keep answers about edits and tags of images, as labels of NAME; else they only read.",
)
def command(lakes: tuple[str, ...], port: int, no_browser: bool, allow_refresh: bool, annotator: str | None) -> int:
    """Serve pages about LAKES to this machine: tables, audits with the pictures behind them, a grid to browse, SQL.

    The address that is printed holds a token: whoever has it may read what you may read.
    """
    if annotator is not None and not (annotator.strip() and annotator.isprintable() and len(annotator) <= _LONGEST):
        raise click.UsageError(f"--annotator needs a name: one line of at most {_LONGEST} characters")
    try:
        import uvicorn  # noqa: F401 - it is told before anything listens

        from counterbalance.ui import app, server  # noqa: F401
    except ImportError as error:
        raise RequestError(
            f"{error.name} is not installed", code="E3742", hint="pip install counterbalance[ui]"
        ) from error
    opened = {}
    for uri in lakes:
        lake = connect(uri)
        lake.status()  # that it is there
        name = uri.rstrip("/").rpartition("/")[2] or uri
        number = 2
        while name in opened:
            name, number = f"{name.rpartition('~')[0] or name}~{number}", number + 1
        opened[name] = lake
    listening = server.listen("127.0.0.1", port)
    token = server.new_token()
    click.echo(server.address(listening, token))
    errors.remark("Ctrl-C ends it")
    server.serve(
        opened,
        listening,
        token=token,
        allow_refresh=allow_refresh,
        annotator=annotator.strip() if annotator else None,
        open_browser=not no_browser,
    )
    return 0

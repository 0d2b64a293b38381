"""The commands that there are, and their options."""

from __future__ import annotations

import click

from counterbalance.__main__ import COMMANDS, cli


def commands():
    """Commands by name, those within others as ``train classifier``."""
    found = {}
    context = click.Context(cli)
    for name in COMMANDS:
        command = cli.get_command(context, name)
        found[name] = command
        if isinstance(command, click.Group):
            found |= {
                f"{name} {inner}": command.get_command(context, inner) for inner in command.list_commands(context)
            }
    return found


def options(command):
    return {opt for p in command.params for opt in (*p.opts, *p.secondary_opts)} | {"--help"}

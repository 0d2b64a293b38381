"""``counterbalance completion``: tab completion for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from counterbalance.cli.base import declare

EXAMPLES = (
    "counterbalance completion bash >> ~/.bashrc",
    "counterbalance completion zsh >> ~/.zshrc",
    "counterbalance completion fish >> ~/.config/fish/config.fish",
)
_PROGRAMS = ("counterbalance", "cbal")
_FIRST = {"zsh": "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }\n"}
"""Set-up that a shell needs before: zsh completes nothing until its own set-up ran, which a new user's ``.zshrc`` has not."""

_DESCRIBED = "_describe -V unsorted completions_with_descriptions -U"
_CHANGES = {
    "bash": ("    return 0\n", "    [[ ${COMPREPLY[*]} == *= ]] && compopt -o nospace\n    return 0\n"),
    "zsh": (
        _DESCRIBED,
        f"""local bare=(); [[ $completions_with_descriptions[1] == *=:* ]] && bare=(-S ''); {_DESCRIBED} "${{bare[@]}}\"""",
    ),
    "fish": ('(string split "," $completion)', '(string split -m 1 "," $completion)'),
}
"""Changes to click's set-up: no blank follows ``name=``, and descriptions may have commas."""


@declare("completion", examples=EXAMPLES, short_help="Print the set-up of tab completion for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print what SHELL needs to complete commands, options and names of audits; add it to the shell's start-up file."""
    click.echo(_FIRST.get(shell, ""), nl=False)
    kind = get_completion_class(shell)
    if kind is not None:
        for name in _PROGRAMS:
            variable = f"_{name.upper()}_COMPLETE"
            source = kind(context.find_root().command, {}, name, variable)
            click.echo((source.source_template % source.source_vars()).replace(*_CHANGES[shell]))
    return 0

"""Share what all commands have: examples in the help, and ``--debug`` and ``--quiet`` after the command too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from counterbalance.shell import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class OutputPath(click.Path):
    """A path of this machine that is written to; ``file://`` is taken off, and other protocols are refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path as ``click.Path`` does."""
        from counterbalance.engine.store.location import local_path

        return super().convert(local_path(value), param, ctx)


def names_in(group: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what completes the name of something that installed packages offer, such as a format."""

    def complete(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
        from counterbalance.engine.plugins import by_name

        return [name for name in sorted(by_name(group)) if name.startswith(incomplete)]

    return complete


class WithExamples(click.Command):
    """A command or a group that shows ``examples``, whole command lines, in its help."""

    examples: Sequence[str] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click calls it so
        """Write the examples as they are."""
        formatter.write("\nExamples:\n" + "".join(f"  {line}\n" for line in self.examples))


class Command(WithExamples):
    """A command with examples.

    Args:
        examples: Whole command lines, shown in the help and after a usage error.
    """

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.params += [_debug_option(), _quiet_option()]


def _debug_option() -> click.Option:
    def switch(_context: click.Context, _option: click.Parameter, value: bool) -> None:
        errors.style.debug = errors.style.debug or value

    return click.Option(
        ["--debug"], is_flag=True, expose_value=False, callback=switch, help="Show tracebacks of errors."
    )


def _quiet_option() -> click.Option:
    def switch(_context: click.Context, _option: click.Parameter, value: bool) -> None:
        errors.style.quiet = errors.style.quiet or value

    return click.Option(
        ["-q", "--quiet"], is_flag=True, expose_value=False, callback=switch, help="No progress and no notes on stderr."
    )


def declare(
    name: str, *, examples: Sequence[str], cls: type[Command] = Command, **settings: Any
) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a command with examples."""
    return click.command(name, cls=cls, examples=examples, **settings)

"""The command line: ``counterbalance COMMAND …``, also installed as ``cbal``.

A command is a module of ``counterbalance.cli`` that is imported when it is called, so that ``--help`` and completion
stay fast. Exit codes: 0 done, 1 failed, 2 usage, 3 ``status --check`` found something stale or a recipe needs a parameter
to go on, 4 ``verify`` found damage or a row meets ``--fail-if`` or fails a ``check``, 75 somebody else is writing, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import os
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem, shell_complete

from counterbalance.cli.base import WithExamples
from counterbalance.engine.errors import did_you_mean, is_panic
from counterbalance.shell import errors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

COMMANDS: Final = {
    "ingest": ("ingest", "Read images, captions, boxes or labels into a lake."),
    "sql": ("sql", "Query a lake in SQL; without a query, open a shell."),
    "audit": ("audit", "Run an audit over a lake, or list and describe them."),
    "check": ("check", "Run the checks of a file over a lake, for CI."),
    "compare": ("compare", "Compare the distributions of two lakes, with tests."),
    "recipe": ("recipe", "Run a pipeline over a lake, or estimate what it would cost."),
    "train": ("train", "Train a classifier from labels of a lake."),
    "refresh": ("refresh", "Compute what is missing or stale in a lake."),
    "status": ("status", "Show what is declared in a lake, and what is stale."),
    "tables": ("tables", "List what a lake holds."),
    "index": ("index", "List what indexes cover, or measure the recall of one."),
    "lineage": ("lineage", "Show where something comes from, and what is made of it."),
    "errors": ("rejects", "List what was refused or failed, and why."),
    "history": ("history", "List what was done to a lake."),
    "schedule": ("schedule", "List when what a lake holds is due to be refreshed."),
    "verify": ("verify", "Find files of a lake that are damaged or lost."),
    "delete": ("delete", "Delete images from a lake for good."),
    "gc": ("gc", "Remove old versions, leftovers and deleted rows."),
    "tag": ("tag", "Name the present state of a lake, for --at."),
    "validate": ("validate", "Write a sheet on which people check a model's labels."),
    "review": ("review", "Write a sheet on which people review edits beside their sources."),
    "export": ("export", "Write rows with their pictures as files for training."),
    "report": ("report", "Write a report of a lake as one HTML page."),
    "ui": ("ui", "Open pages to look at lakes, served on this machine."),
    "functions": ("functions", "List the functions that queries may call."),
    "sample": ("sample", "Draw a small dataset with known biases."),
    "demo": ("demo", "Sample, ingest, audit and report, in one go."),
    "doctor": ("doctor", "Check the installation, or what a lake has for its audits."),
    "docs": ("docs", "Open the documentation of what is installed."),
    "completion": ("completion", "Print the set-up of tab completion for a shell."),
}
"""Command to its module in ``counterbalance.cli`` and its line of help."""
EXAMPLES: Final = (
    "counterbalance demo",
    "counterbalance ingest coco.lake captions_val2017.json",
    'counterbalance sql coco.lake "SELECT count(*) FROM captions"',
    "counterbalance audit coco.lake crime_words",
)


class LazyGroup(WithExamples, click.Group):
    """Know its commands by name and line of help, and import one only when it is needed."""

    examples = EXAMPLES

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it so
        """Return names, in the order of work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click calls it so
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"counterbalance.cli.{COMMANDS[cmd_name][0]}").command
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the first word names, or the nearest one as a suggestion."""
        word = args[0]
        if word not in COMMANDS and not word.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"no command {word!r}{did_you_mean(word, COMMANDS)}")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return names with their lines of help, without importing the commands."""
        items = [CompletionItem(n, help=line) for n, (_, line) in COMMANDS.items() if n.startswith(incomplete)]
        return [*items, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click calls it so
        """Write the list of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@click.group("counterbalance", cls=LazyGroup)
@click.version_option(package_name="counterbalance", message="%(prog)s %(version)s")
@click.option(
    "--debug", is_flag=True, envvar="COUNTERBALANCE_DEBUG", show_envvar=True, help="Show tracebacks of errors."
)
@click.option("-q", "--quiet", is_flag=True, help="No progress and no notes on stderr; errors still.")
def cli(*, debug: bool, quiet: bool) -> None:
    """Audit and rebalance image-text datasets with SQL."""
    errors.style.debug = errors.style.debug or debug
    errors.style.quiet = errors.style.quiet or quiet


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code.

    Args:
        argv: Words after the program's name; those of this process by default.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.__stderr__ is not None and not faulthandler.is_enabled():
        faulthandler.enable(sys.__stderr__)  # a function that crashes the process is named, with its line
    errors.style.as_json = _wants_json(words)
    with _streams():
        try:
            code = _run(words)
            sys.stdout.flush()
        except BrokenPipeError:
            _abandon_stdout()
            return 0
        except OSError as error:  # stdout is full
            _abandon_stdout()
            return errors.show(error)
        finally:
            errors.style.as_json = errors.style.debug = errors.style.quiet = False
    return code


@contextlib.contextmanager
def _streams() -> Iterator[None]:
    """Make the streams take any text, and open them where the program was started with them closed."""
    with contextlib.ExitStack() as stack:
        nothing = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))
        if sys.stdout is None:
            stack.enter_context(contextlib.redirect_stdout(nothing))
        if sys.stderr is None:
            stack.enter_context(contextlib.redirect_stderr(nothing))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        yield


def _run(words: list[str]) -> int:
    name = "cbal" if Path(sys.argv[0]).name.startswith("cbal") else "counterbalance"
    try:
        variable = f"_{name.upper()}_COMPLETE"
        if asked := os.environ.get(variable):
            return shell_complete(cli, {}, name, variable, asked)
        with cli.make_context(name, words) as context:
            result: Any = cli.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as error:
        return _usage(error)
    except (KeyboardInterrupt, click.Abort, EOFError):
        sys.stderr.write("interrupted\n")
        return errors.INTERRUPTED
    except BrokenPipeError:
        raise
    except BaseException as error:  # the last stop: every error is shown as one line
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        return errors.show(error)
    return result if isinstance(result, int) else 0


def _usage(error: click.ClickException) -> int:
    """Return the mistake, below the usage and the examples of the command it was made in."""
    context = getattr(error, "ctx", None)
    told = error.format_message()
    if isinstance(error, click.NoSuchOption) and context is not None and context.command.name == "audit":
        word = error.option_name.lstrip("-").replace("-", "_")
        told = f"No such option {error.option_name!r}. What an audit takes is listed by `audit --list NAME`, and given as words: {word}=…"
    if errors.style.as_json:
        errors.show(errors.usage(told))
        return errors.USAGE
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return errors.USAGE
    if context is not None:
        formatter = context.make_formatter()
        context.command.format_usage(context, formatter)
        context.command.format_epilog(context, formatter)
        sys.stderr.write(formatter.getvalue() + "\n")
    errors.show(errors.usage(told, context.command_path if context is not None else None))
    return errors.USAGE


def _wants_json(words: list[str]) -> bool:
    """Return whether errors should be JSON too; asked of the bare words, because errors come before parsing ends."""
    wanted = {"json", "jsonl"}
    return "--json" in words or any(
        word.removeprefix("--format=") in wanted and (word.startswith("--format=") or before == "--format")
        for before, word in pairwise(["", *words])
    )


def _abandon_stdout() -> None:
    """Write nothing more, not even when the interpreter ends: a reader that left is not an error."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)


if __name__ == "__main__":
    sys.exit(main())

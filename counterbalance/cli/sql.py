"""``counterbalance sql``: one query, a script, or the shell."""

from __future__ import annotations

import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterbalance.cli import values
from counterbalance.cli.base import declare
from counterbalance.cli.gate import fail_if_option
from counterbalance.cli.options import durable_option, output_options, session_options
from counterbalance.shell.parameters import value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.cli.options import SessionOptions
    from counterbalance.engine.backends.dialects import Dialect
    from counterbalance.shell.interpreter import Interpreter
    from counterbalance.shell.output import OutputOptions

_NAMED: Final = re.compile(r"\s*\w+\s*=")
EXAMPLES = (
    'counterbalance sql coco.lake "SELECT origin, count(*) AS n FROM captions GROUP BY ALL"',
    "counterbalance sql coco.lake 'SELECT text FROM captions WHERE text LIKE $word' -p word=%thief% --json",
    "counterbalance sql coco.lake 'SELECT key FROM images WHERE split = ? LIMIT ?' -p val -p 10",
    "counterbalance sql coco.lake -f query.sql -o result.parquet",
    "counterbalance sql coco.lake --attach cc=cc.lake 'SELECT count(*) FROM cc.captions'",
    "counterbalance sql coco.lake --at 2026-11-01 'SELECT count(*) FROM images'",
    "counterbalance sql coco.lake",
)


@declare("sql", examples=EXAMPLES, short_help="Query a lake in SQL; without a query, open a shell.")
@click.argument("lake", type=click.Path())
@click.argument("query", required=False)
@click.option("-c", "--command", "told", metavar="TEXT", help="The QUERY, given as an option.")
@click.option("-f", "--file", "file", type=click.Path(), metavar="FILE", help="Read statements from FILE ('-': stdin).")
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="[NAME=]VALUE",
    help="Value of $NAME, or of the next ?: a JSON value, else text.",
)
@click.option("--expand", "show", flag_value="expand", help="Print the plain SQL that would run; run nothing.")
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "spark", "trino"]),
    help="With --expand: SQL of that engine, with word lists written out.",
)
@click.option("--explain", "show", flag_value="explain", help="Print DuckDB's plan; run nothing.")
@click.option("--no-pager", is_flag=True, help="In the shell: show long results without $PAGER, their first rows only.")
@fail_if_option
@session_options
@durable_option
@output_options
def command(
    lake: str,
    query: str | None,
    told: str | None,
    file: str | None,
    params: tuple[str, ...],
    show: str | None,
    dialect: Dialect | None,
    no_pager: bool,
    fail_if: str | None,
    limits: SessionOptions,
    durable: bool,
    output: OutputOptions,
) -> int:
    """Ask LAKE in SQL (DuckDB's dialect).

    QUERY is one statement; '-' or a pipe on stdin brings several, separated by ';'. Without any of them, on a
    terminal, a shell opens. Queries only read; ALTER TABLE … ADD COLUMN c AS (…), CREATE MATERIALIZED VIEW, CREATE
    INDEX, DROP … and REFRESH declare and compute what is kept. Audits are tables that take parameters:
    FROM crime_words(min_count := 5).
    """
    limits = replace(limits, durable=durable)
    if dialect is not None and show != "expand":
        raise click.UsageError("--dialect is of the SQL that --expand prints")
    if sum(given is not None for given in (query, told, file)) > 1:
        raise click.UsageError("give a QUERY, -c TEXT or -f FILE: one of them")
    query = told if query is None else query
    if fail_if is not None and (query in {None, "-"} or show is not None):
        raise click.UsageError("--fail-if is of the rows of one QUERY")
    bound = _values(params, of_one=show is not None or query not in {None, "-"})
    if query is None and file is None and sys.stdin.isatty():
        if show is not None:
            raise click.UsageError(f"--{show} needs a QUERY or -f FILE")
        return _shell(lake, bound, limits, output, with_pager=not no_pager)
    text = _text(query, file)
    if show is not None:
        return _show(lake, text, bound, show, dialect, limits)
    if query is not None and query != "-":
        return _one(lake, text, bound, limits, output, fail_if)
    return _script(lake, text, bound, limits, output)


def _values(params: tuple[str, ...], *, of_one: bool) -> dict[str, Any]:
    """Return values by the names of a query; those without a name are of its ``?``, in order."""
    named = {name: value_of(text) for name, text in values.pairs(p for p in params if _NAMED.match(p)).items()}
    placed = [value_of(p) for p in params if not _NAMED.match(p)]
    if not placed:
        return named
    if not of_one:
        raise click.UsageError("-p VALUE is of a ? of one QUERY; several statements take -p NAME=VALUE and $NAME")

    from counterbalance.engine.sql import arguments

    return {**named, **arguments.by_name(placed)}


def _text(query: str | None, file: str | None) -> str:
    from counterbalance.engine.errors import NotFoundError, RequestError

    if query is not None and query != "-":
        return query
    try:
        if file is None or file == "-":
            return sys.stdin.buffer.read().decode()
        return Path(file).expanduser().read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"{file or 'stdin'} is not UTF-8 text: {error.reason}", code="E3022") from error
    except OSError as error:
        raise NotFoundError(f"cannot read {file}: {error.strerror}", code="E1020") from error


def _one(
    lake: str, text: str, bound: dict[str, Any], limits: SessionOptions, output: OutputOptions, fail_if: str | None
) -> int:
    from counterbalance.cli.asking import ask
    from counterbalance.shell.scripts import changes

    if changes(text):
        limits = replace(limits, timeout=None)
    return ask(
        lake, lambda session: session.sql(text, bound, max_rows=limits.max_rows), limits, output, fail_if
    ).exit_code


def _show(
    lake: str, text: str, bound: dict[str, Any], show: str, dialect: Dialect | None, limits: SessionOptions
) -> int:
    with limits.open(lake) as session:
        click.echo(
            session.expand(text, dialect=dialect, **bound) if show == "expand" else session.explain(text, **bound)
        )
    return 0


def _script(lake: str, text: str, bound: dict[str, Any], limits: SessionOptions, output: OutputOptions) -> int:
    with _interpreter(lake, bound, limits, output) as interpreter:
        interpreter.script(text)
    return 0


def _shell(lake: str, bound: dict[str, Any], limits: SessionOptions, output: OutputOptions, *, with_pager: bool) -> int:
    from counterbalance.shell import errors
    from counterbalance.shell.output import paged
    from counterbalance.shell.repl import Repl

    output = paged(output, on=with_pager and not errors.style.quiet)
    with _interpreter(lake, bound, limits, output) as interpreter:
        return Repl(interpreter, lake).run()


@contextmanager
def _interpreter(
    lake: str, bound: dict[str, Any], limits: SessionOptions, output: OutputOptions
) -> Iterator[Interpreter]:
    from counterbalance.shell.interpreter import Interpreter

    with limits.open(lake) as session:
        yield Interpreter(session, output, limit=limits.timeout, max_rows=limits.max_rows, params=bound)

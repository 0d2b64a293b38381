"""``counterbalance audit``: run an audit, list them, describe one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from counterbalance.cli import templates, values
from counterbalance.cli.base import Command, declare
from counterbalance.cli.gate import fail_if_option
from counterbalance.cli.options import load, load_queries, output_options, session_options, tell_broken
from counterbalance.shell.output import OutputOptions
from counterbalance.shell.parameters import argument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from counterbalance.cli.options import SessionOptions
    from counterbalance.engine.errors import SqlError
    from counterbalance.engine.sql.query_model import Query

EXAMPLES = (
    "counterbalance audit --list",
    "counterbalance audit --list retrieval_bias",
    "counterbalance audit coco.lake crime_words groups=caption_gender --min-count 5",
    "counterbalance audit coco.lake retrieval_bias ranker=tfidf items=captions k=5,10 skew_k=25,100 --format json",
    "counterbalance audit coco.lake cooccurrence -o pmi.csv",
    'counterbalance audit coco.lake crime_words groups=caption_gender --fail-if "q < 0.05"',
    "counterbalance audit --new my_audit",
    "counterbalance audit --check my_audit.sql",
    "counterbalance audit coco.lake ./my_audit.sql min_count=20",
)


def _names(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    import counterbalance

    return [CompletionItem(n, help=q.doc) for n, q in counterbalance.audits().items() if n.startswith(incomplete)]


def _parameters(context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    import counterbalance

    query = counterbalance.audits().get(context.params.get("name") or "")
    known = query.parameters if query is not None else ()
    return values.completed(known, incomplete, context.params.get("words") or (), context.params.get("lake"))


class _Audit(Command):
    """The command; its help beside the name of an audit is that of the audit."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer ``--help`` where an audit is named."""
        if "--help" in args and any(not a.startswith("-") for a in args):
            import counterbalance

            if named := [a for a in args if a in counterbalance.audits() or a.endswith(".sql")]:
                _list([_named(a) for a in named], OutputOptions())
                ctx.exit()
        return super().parse_args(ctx, args)


@declare("audit", cls=_Audit, examples=EXAMPLES, short_help="Run an audit over a lake, or list and describe them.")
@click.argument("lake", required=False, type=click.Path())
@click.argument("name", required=False, shell_complete=_names)
@click.argument("words", nargs=-1, metavar="[KEY=VALUE]...", shell_complete=_parameters)
@click.option("--list", "list_", is_flag=True, help="List all audits; with NAME, its parameters.")
@click.option("--new", metavar="NAME", help="Write NAME.sql, an audit to begin with; it runs as it is.")
@click.option(
    "--check", multiple=True, metavar="FILE", help="Report everything that is wrong with the file of an audit."
)
@click.option("--min-count", type=click.IntRange(min=0), metavar="N", help="Suppress cells with fewer than N.")
@fail_if_option
@session_options
@output_options
def command(
    lake: str | None,
    name: str | None,
    words: tuple[str, ...],
    list_: bool,
    new: str | None,
    check: tuple[str, ...],
    min_count: int | None,
    fail_if: str | None,
    limits: SessionOptions,
    output: OutputOptions,
) -> int:
    """Run the audit NAME over LAKE.

    Parameters are KEY=VALUE words: a relation's name, a number, values between commas. Every row carries its counts and
    the parameters that made it. NAME --help tells of them. NAME may be a file of your own: ./my_audit.sql.
    """
    if new is not None:
        return templates.write(new)
    if check:
        load(limits.udfs)
        load_queries(limits.queries)
        return templates.check(check)
    if list_:
        load_queries(limits.queries)
        _list([_named(n) for n in (lake, name, *words) if n is not None], output)
        tell_broken()
        return 0
    if lake is None or name is None:
        raise click.UsageError("give a LAKE and the NAME of an audit, or --list")
    given = {key.lower(): text for key, text in values.pairs(words, "KEY=VALUE").items()}
    params: dict[str, Any] = {key: argument(text) for key, text in given.items()}
    if min_count is not None:
        if "min_count" in params:
            raise click.UsageError("min_count is given twice: as a word, and as --min-count")
        params["min_count"] = min_count

    from counterbalance.cli.asking import ask
    from counterbalance.engine.errors import SqlError

    audit = _named(name)
    try:
        written = ask(
            lake, lambda session: session.audit(audit, max_rows=limits.max_rows, **params), limits, output, fail_if
        )
    except SqlError as error:
        _reword_error(error, audit, given)
        raise
    return written.exit_code


def _named(audit: str) -> str:
    """Return the name of an audit that is named, or lies in a file, which is read."""
    return _of_file(audit) if audit.endswith(".sql") else audit.lower()


def _of_file(path: str) -> str:
    from counterbalance.engine.errors import RequestError
    from counterbalance.engine.sql import queries

    try:
        (name,) = queries.load(path)
    except RequestError as error:
        error.hint = "; ".join(
            filter(None, (error.hint, f"counterbalance audit --check {path} tells all that is wrong"))
        )
        raise
    return name


def _reword_error(error: SqlError, audit: str, given: Mapping[str, str]) -> None:
    """Let an error speak of words, not of the SQL that they become; of SQL only where some was typed."""
    import counterbalance

    if not any(text.lstrip().startswith("(") for text in given.values()):
        error.sql = None
    query = counterbalance.audits().get(audit)
    if query is not None and error.hint == query.signature:
        missing = [p for p in query.parameters if p.default is None and p.name not in given]
        error.hint = "; ".join(f"{p.name}=… ({p.doc})" if p.doc else f"{p.name}=…" for p in missing)


def _list(names: list[str], output: OutputOptions) -> None:
    import counterbalance
    from counterbalance.engine.errors import NotFoundError
    from counterbalance.engine.sql import queries
    from counterbalance.shell import describe, errors, present

    known: Mapping[str, Query] = counterbalance.audits()
    known = known if not names else {q.name: q for q in queries.sound()}  # views that audits are made of are told, too
    for name in names:
        if name not in known:
            raise NotFoundError.audit(name, counterbalance.audits())
    if not output.for_eyes:
        present.rows([_fields(known[name]) for name in names or known], _schema(), output)
    elif names:
        click.echo("\n\n".join(describe.audit(known, name) for name in names))
    else:
        click.echo(describe.audits(known))
        errors.note("counterbalance audit --list NAME shows the parameters of one")


def _fields(query: Query) -> dict[str, Any]:
    parameters = [{"name": p.name, "type": p.type, "default": p.default, "doc": p.doc} for p in query.parameters]
    return {
        "name": query.name,
        "subject": query.subject,
        "doc": query.doc,
        "parameters": parameters,
        "text": query.text,
        "source": query.source,
    }


def _schema() -> Any:
    import pyarrow as pa

    text = pa.string()
    parameter = pa.struct([("name", text), ("type", text), ("default", text), ("doc", text)])
    names = ("text", "source")
    return pa.schema(
        [
            ("name", text),
            ("subject", text),
            ("doc", text),
            ("parameters", pa.list_(parameter)),
            *((n, text) for n in names),
        ]
    )

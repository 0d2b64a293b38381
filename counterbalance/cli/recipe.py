"""``counterbalance recipe``: run a pipeline of declarations, refreshes and audits, or tell what it would cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from counterbalance.cli import values
from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import (
    computing_options,
    connect,
    durable_option,
    json_option,
    print_json,
    progress_option,
    shown,
)
from counterbalance.cli.refresh import KEPT
from counterbalance.shell import errors
from counterbalance.shell.output import FORMATS
from counterbalance.shell.parameters import argument

if TYPE_CHECKING:
    from counterbalance.engine.recipes.model import Recipe, RecipeReport, StepReport
    from counterbalance.shell.output import OutputOptions

EXAMPLES = (
    "counterbalance recipe --list",
    "counterbalance recipe --list gelda",
    "counterbalance recipe --show laion400m --param sample=2000 > mine.sql",
    "counterbalance recipe laion.lake laion400m --dry-run --measure",
    "counterbalance recipe laion.lake laion400m --param sample=2000 --until detect --device cuda",
    'counterbalance recipe laion.lake laion400m --param gender_checkpoint=gender/ --sensitive "audit of depiction" --out results/',
    "counterbalance recipe coco.lake my_recipe.sql --udfs my_udfs.py --json",
)
STOPPED: Final = 3
_SUFFIXES: Final = {"markdown": "md", "table": "txt"}


def _names(_context: click.Context, _argument: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from counterbalance.engine.recipes.files import recipes

    return [CompletionItem(n, help=r.doc) for n, r in recipes().items() if n.startswith(incomplete)]


def _parameters(context: click.Context, _option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from counterbalance.engine.recipes.files import recipes

    found = recipes().get(context.params.get("name") or "")
    return values.completed(found.parameters if found is not None else (), incomplete)


@declare("recipe", examples=EXAMPLES, short_help="Run a pipeline over a lake, or estimate what it would cost.")
@click.argument("lake", required=False, type=click.Path())
@click.argument("name", required=False, shell_complete=_names)
@click.option("--list", "list_", is_flag=True, help="List all recipes; with NAME, its parameters and steps.")
@click.option(
    "--show",
    metavar="NAME",
    shell_complete=_names,
    help="Print a recipe with its parameters filled in, to keep and change.",
)
@click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=_parameters,
    help="Value of a parameter.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done and how long it would take; change nothing.")
@click.option("--measure", is_flag=True, help="In a dry run, try functions on 32 rows where no run tells their speed.")
@click.option(
    "--replace",
    is_flag=True,
    help="Change views that have another query by now, such as for more edits; rows whose key stays are kept, others go.",
)
@click.option("--until", metavar="STEP", help="Stop after this step.")
@click.option("--sensitive", metavar="PURPOSE", help="Read perceived labels; PURPOSE goes into the access log.")
@computing_options
@durable_option
@click.option(
    "--out",
    type=OutputPath(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write results to DIR, a file a step.",
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), help="Format of results.  [default: table; csv in --out]"
)
@json_option("the report, results included,")
@progress_option
def command(
    lake: str | None,
    name: str | None,
    *,
    list_: bool,
    show: str | None,
    params: tuple[str, ...],
    dry_run: bool,
    measure: bool,
    replace: bool,
    until: str | None,
    sensitive: str | None,
    udfs: tuple[str, ...],
    durable: bool,
    out: Path | None,
    format_: str | None,
    as_json: bool,
    progress: str,
    **refresh: Any,
) -> int:
    """Run the recipe NAME (or a file NAME.sql) over LAKE, step by step.

    Every step leaves alone what is done already, so that a recipe that was stopped goes on when it is run again. What
    steps do is told on stderr, their results go to stdout. Exit codes: 0 done; 1 a step failed; 3 it stopped at a step
    that needs a parameter; 75 another refresh is running; 130 interrupted.
    """
    if list_:
        return _list([n for n in (lake, name) if n is not None], as_json=as_json)
    given = {key: argument(text) for key, text in values.pairs(params, "NAME=VALUE").items()}
    if show is not None:
        return _show(show, given, as_json=as_json)
    if lake is None or name is None:
        raise click.UsageError("give a LAKE and the NAME of a recipe, --show NAME, or --list")
    from counterbalance.shell.supervise import ends_in_time

    told = _Steps(out, format_, quiet=as_json)
    with ends_in_time(KEPT), shown(progress, KEPT) as report:
        done = connect(lake, durable=durable).recipe(
            name,
            given,
            dry_run=dry_run,
            measure=measure,
            replace=replace,
            until=until,
            sensitive=sensitive,
            udfs=udfs,
            progress=report,
            tell=None if dry_run else told.step,
            refresh={k: v for k, v in refresh.items() if v not in (None, False)},
        )
    if as_json:
        print_json(done.to_dict())
    elif dry_run:
        _print_plan(done)
    return STOPPED if done.state == "stopped" else 0


class _Steps:
    """Steps as they end: what they did on stderr, their rows on stdout or in files."""

    def __init__(self, folder: Path | None, format_: str | None, *, quiet: bool) -> None:
        self._folder, self._format, self._quiet = folder, format_, quiet
        self._noted: set[str] = set()

    def step(self, report: StepReport) -> None:
        """Show one step."""
        if report.state == "planned":
            self._notes(report)
            errors.remark(f"{report.step}: {report.doc}")
            return
        took = f" ({report.seconds:.1f} s)" if report.seconds is not None and report.seconds >= 0.05 else ""
        errors.remark(f"  {report.message}{took}")
        if report.hint is not None:
            errors.hint(report.hint)
        self._notes(report)
        for number, rows in enumerate(report.results, 1):
            self._rows(report.step if number == 1 else f"{report.step}_{number}", rows)

    def _notes(self, report: StepReport) -> None:
        """Show the notes that were not shown yet."""
        for text in report.notes:
            if text not in self._noted:
                self._noted.add(text)
                errors.note(text)

    def _rows(self, name: str, rows: Any) -> None:
        from counterbalance.shell import output

        if self._quiet and self._folder is None:
            return
        options = self._options(name)
        if options.path is not None:
            options.path.parent.mkdir(parents=True, exist_ok=True)
        written = output.write(rows.to_reader(), options)
        if options.path is not None:
            errors.remark(f"  {rows.num_rows:,} rows written to {options.path}")
        for text in written.notes:
            errors.note(text)

    def _options(self, name: str) -> OutputOptions:
        from counterbalance.shell.output import OutputOptions

        if self._folder is None:
            return OutputOptions(self._format or "table")
        chosen = self._format or "csv"
        return OutputOptions(chosen, self._folder / f"{name}.{_SUFFIXES.get(chosen, chosen)}")


def _print_plan(done: RecipeReport) -> None:
    from counterbalance.shell import present

    present.facts([_planned(s) for s in done.steps])
    known = [s.seconds for s in done.steps if s.seconds is not None]
    total = f"about {_time(sum(known))} where the speed is known" if known else "no speed is known yet"
    errors.note(f"{total}; --measure tries functions on a few rows")


def _planned(report: StepReport) -> dict[str, str | int | None]:
    speed = report.rows_per_second
    return {
        "step": report.step,
        "does": report.message or "nothing: done already",
        "rows": report.rows,
        "rows/s": None if speed is None else f"{speed:,.0f}" if speed >= 10 else f"{speed:.2g}",
        "time": None if report.seconds is None else _time(report.seconds),
        "measured": report.basis or None,
    }


def _time(seconds: float) -> str:
    """Return a length of time for eyes.

    Example:
        >>> _time(0.4), _time(90), _time(7300), _time(300000)
        ('0.4 s', '1.5 min', '2.0 h', '3.5 d')
    """
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s"


def _list(names: list[str], *, as_json: bool) -> int:
    from counterbalance.engine.recipes.files import recipe as find
    from counterbalance.engine.recipes.files import recipes

    found = [find(n) for n in names] or [*recipes().values()]
    if as_json:
        print_json([_fields(r) for r in found])
    elif names:
        click.echo("\n\n".join(map(_described, found)))
    else:
        for one in found:
            click.echo(f"{one.name}: {one.doc}\n  {' → '.join(s.name for s in one.steps)}")
    return 0


def _show(name: str, given: dict[str, Any], *, as_json: bool) -> int:
    from counterbalance.engine.recipes.files import recipe as find
    from counterbalance.engine.recipes.shown import filled
    from counterbalance.engine.recipes.values import literals

    found = find(name)
    text = filled(found, literals(found, given))
    if as_json:
        print_json({**_fields(found), "sql": text})
    else:
        click.echo(text, nl=False)
    return 0


def _fields(recipe: Recipe) -> dict[str, Any]:
    parameters = [{"name": p.name, "type": p.type, "default": p.default, "doc": p.doc} for p in recipe.parameters]
    steps = [{"step": s.name, "doc": s.doc} for s in recipe.steps]
    fields = {"name": recipe.name, "doc": recipe.doc, "text": recipe.text, "source": recipe.source}
    return {**fields, "parameters": parameters, "steps": steps}


def _described(recipe: Recipe) -> str:
    lines = [f"{recipe.name}: {recipe.doc}", f"  source: {recipe.source}", "  parameters:"]
    lines += [
        f"    {p.name} {p.type}{'' if p.default is None else f' = {p.default}'}: {p.doc}" for p in recipe.parameters
    ]
    lines += ["  steps:", *(f"    {s.name}: {s.doc}" for s in recipe.steps)]
    return "\n".join(lines)

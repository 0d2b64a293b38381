"""``counterbalance check``: run the checks of a file over a lake, for continuous integration."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from counterbalance.cli import gate
from counterbalance.cli.base import OutputPath, declare
from counterbalance.cli.options import session_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from counterbalance.cli.check_file import Check
    from counterbalance.cli.check_report import Outcome
    from counterbalance.cli.options import SessionOptions
    from counterbalance.engine.session import Session

EXAMPLES = (
    "counterbalance check coco.lake",
    "counterbalance check coco.lake checks.toml -o report.xml",
    "counterbalance check coco.lake -o counterbalance.sarif",
)
FILE: Final = "counterbalance.toml"
_SUFFIXES: Final = {".xml": "junit", ".sarif": "sarif", ".json": "json", ".jsonl": "jsonl"}
_SHOWN: Final = 20


@declare("check", examples=EXAMPLES, short_help="Run the checks of a file over a lake, for CI.")
@click.argument("lake", type=click.Path())
@click.argument("file", required=False, default=FILE, type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json", "jsonl", "junit", "sarif"]),
    help="Format of what came of them.  [default: as the suffix of FILE says, else table]",
)
@click.option(
    "-o", "--output", "path", type=OutputPath(dir_okay=False, path_type=Path), help="Write to FILE; else to stdout."
)
@session_options
def command(lake: str, file: Path, format_: str | None, path: Path | None, limits: SessionOptions) -> int:
    """Run the checks of FILE (TOML; default: counterbalance.toml) over LAKE.

    A check asks something of the lake and says which rows of the answer must not be there:
    [[check]] with audit = "crime_words", parameters = {groups = "caption_gender"} and fail_if = "q < 0.05"; or with sql =
    "SELECT …". All run, on one state of the lake. The exit code is 4 where one fails (level = "warning" does not), 1 where
    one could not run, else 0. An answer without rows, or where fail_if is NULL in all, checks nothing, is said to be empty and
    fails like a row that must not be there; where no rows are as they should be, count them: sql = "SELECT count(*) AS n
    FROM …" with fail_if = "n > 0".
    """
    from counterbalance.cli import check_file, check_report
    from counterbalance.shell.supervise import supervise

    checks = check_file.read(file)
    with limits.open(lake) as session:

        def run() -> list[Outcome]:
            return [_run(session, check) for check in checks]

        outcomes = supervise(run, interrupt=session.interrupt, limit=limits.timeout)
    format_ = format_ or _SUFFIXES.get(path.suffix.lower() if path else "", "table")
    if format_ == "table":
        _print_table(outcomes, path)
    else:
        from importlib.metadata import version

        written = {
            "json": lambda: check_report.json(outcomes),
            "jsonl": lambda: check_report.json_lines(outcomes),
            "junit": lambda: check_report.junit(outcomes, file),
            "sarif": lambda: check_report.sarif(outcomes, file, version("counterbalance")),
        }[format_]()
        if path is None or str(path) == "-":
            sys.stdout.buffer.write(written)
            sys.stdout.flush()
        else:
            path.write_bytes(written)
    return 1 if any(o.state == "error" for o in outcomes) else gate.FAILED if any(o.fails for o in outcomes) else 0


def _run(session: Session, check: Check) -> Outcome:
    """Run one check; an error is its outcome."""
    from counterbalance.cli.check_report import Outcome
    from counterbalance.engine.errors import CounterbalanceError

    started = time.monotonic()
    try:
        if check.audit is not None:
            rows = session.audit(check.audit, **check.parameters).to_arrow()
        else:
            rows = session.sql(str(check.sql), **check.parameters).to_arrow()
        failing, untold = gate.judge(rows, check.fail_if)
    except CounterbalanceError as error:
        message = error.message + (f"; hint: {error.hint}" if error.hint else "")
        return Outcome(check, "error", message=f"{error.code}: {message}", seconds=time.monotonic() - started)
    bad = "failed" if check.level == "error" else "warning"
    state = bad if len(failing) else "empty" if gate.nothing_checked(len(rows), untold) else "passed"
    shown = failing.slice(0, _SHOWN).to_pylist()
    return Outcome(check, state, len(rows), len(failing), untold, shown, seconds=time.monotonic() - started)


def _print_table(outcomes: Sequence[Outcome], path: Path | None) -> None:
    """Print a line a check; the rows that fail go to stderr."""
    import pyarrow as pa

    from counterbalance.shell import errors, present, table
    from counterbalance.shell.output import OutputOptions, Sink

    names = ("name", "state", "rows", "failing", "message")
    kinds = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.string())
    rows: list[dict[str, Any]] = [{n: o.to_dict()[n] for n in names} for o in outcomes]
    present.rows(rows, pa.schema(list(zip(names, kinds, strict=True))), OutputOptions(path=path, rows=len(rows)))
    for one in outcomes:
        if one.state == "empty":
            errors.note(f"{one.check.name}: {one.describe()}; {gate.instead(one.rows)}")
        if one.shown:
            errors.note(f"{one.check.name}: {one.describe()}")
            table.write(pa.Table.from_pylist(list(one.shown)).to_reader(), Sink(sys.stderr.buffer, OutputOptions()))
            sys.stderr.flush()

"""Ask one question in a session under its limits, and write the answer."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.cli.options import SessionOptions
    from counterbalance.engine.result import Result
    from counterbalance.engine.session import Session
    from counterbalance.shell.output import OutputOptions, Written


def ask(
    lake: str,
    question: Callable[[Session], Result],
    limits: SessionOptions,
    output: OutputOptions,
    fail_if: str | None = None,
) -> Written:
    """Open a session, put a question, write the rows.

    Args:
        lake: Path or URI.
        question: Takes the session, returns a result.
        limits: How to open it; ``timeout`` is hard: a query that does not stop ends the process.
        output: Where the rows go.
        fail_if: A condition on the rows; whether any meets it is told by ``exit_code`` of what is returned.

    Raises:
        CounterbalanceError: Whatever the engine says.
    """
    import click

    from counterbalance.cli import gate
    from counterbalance.engine.progress import heard_by
    from counterbalance.shell import present
    from counterbalance.shell.progress import reporter
    from counterbalance.shell.stopwatch import Stopwatch
    from counterbalance.shell.supervise import supervise

    if fail_if is not None and limits.max_rows is not None:
        raise click.UsageError("--fail-if looks at all rows: leave --max-rows out")
    with ExitStack() as until_read, limits.open(lake) as session:
        watch, report = Stopwatch(), until_read.enter_context(reporter("auto"))
        until_read.enter_context(heard_by(report))
        session.on_progress = report

        def answer() -> Written:
            found = question(session)
            judged = None if fail_if is None else gate.judge(found.to_arrow(), fail_if)
            written = present.result(found, output, watch, before=until_read.close)
            if judged is not None:
                written.exit_code = gate.tell(*judged, str(fail_if), len(found))
            return written

        return supervise(
            answer,
            interrupt=session.interrupt,
            limit=limits.timeout,
            watch=watch,
        )

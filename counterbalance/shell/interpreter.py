"""Run statements and dot commands one after the other: the part that the shell and scripts share."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from counterbalance.engine.errors import RequestError
from counterbalance.engine.progress import heard_by
from counterbalance.engine.sql import parse
from counterbalance.shell import dots, errors, present
from counterbalance.shell.progress import reporter
from counterbalance.shell.scripts import changes, is_complete, split
from counterbalance.shell.stopwatch import Stopwatch
from counterbalance.shell.supervise import supervise

if TYPE_CHECKING:
    from collections.abc import Iterator

    from counterbalance.engine.session import Session
    from counterbalance.shell.output import OutputOptions, Written


@dataclass
class Interpreter:
    """A session with its settings.

    Args:
        session: Where statements run.
        output: How results are written; ``.mode`` and ``.output`` change it.
        limit: Seconds a statement may take.
        max_rows: Rows a result may have.
        params: Values of ``$names``.
        timer: Say how long each statement took.
        patient: Wait for a cancelled statement, see ``supervise``.
        progress: Mode of progress, see ``shell.progress``.
    """

    session: Session
    output: OutputOptions
    limit: float | None = None
    max_rows: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    timer: bool = False
    patient: bool = False
    progress: str = "auto"
    once: OutputOptions | None = None
    on_screen: OutputOptions | None = None
    reading: int = 0
    done: bool = False

    def script(self, text: str) -> None:
        """Run a whole script; the first error ends it.

        Raises:
            CounterbalanceError: Whatever a statement raises, or E3023 when several results would go into one file.
        """
        steps = list(steps_of(text))
        statements = sum(not s.startswith(".") for s in steps)
        if statements > 1 and not self.output.append and (self.output.path is not None or self.output.binary):
            hint = "run them one by one, or use a text format on stdout"
            raise RequestError(f"{statements} statements, but one place for one result", code="E3023", hint=hint)
        for step in steps:
            self.step(step)
            if self.done:
                return

    def step(self, text: str) -> None:
        """Run one dot command or one statement."""
        if text.startswith("."):
            dots.run(self, text)
        else:
            self._statement(text)

    def _statement(self, text: str) -> None:
        options, self.once = self.once or self.output, None
        params = {name: value for name, value in self.params.items() if re.search(rf"\${re.escape(name)}(?!\w)", text)}
        watch = Stopwatch()

        limit = None if changes(text) else self.limit
        with ExitStack() as until_done:
            self.session.on_progress = until_done.enter_context(reporter(self.progress))
            until_done.enter_context(heard_by(self.session.on_progress))

            def work() -> Written:
                found = self.session.sql(text, params, max_rows=self.max_rows)
                return present.result(found, options, watch, before=until_done.close)

            written = supervise(work, interrupt=self.session.interrupt, limit=limit, watch=watch, patient=self.patient)
        rows = f"{written.rows:,}{'+' if written.more else ''} row{'s' if written.rows != 1 else ''}"
        if options.path is not None and not options.append:
            self.say(f"{rows} written to {options.path}")
        elif self.timer:
            self.say(f"{rows} in {watch.seconds:.3f} s")

    def say(self, text: str) -> None:
        """Write a remark to stderr."""
        errors.remark(text)

    def set_mode(self, format_: str) -> None:
        """Change the format of results."""
        self.output = replace(self.output, format=format_)


def steps_of(text: str) -> Iterator[str]:
    r"""Yield dot commands and statements of a text, in order; a dot command is a line of its own between statements.

    Raises:
        SqlError: A quote is never closed.
        LimitError: A statement is too long to be read.

    Example:
        >>> list(steps_of(".mode csv\nselect 1; select\n 2"))
        ['.mode csv', 'select 1', 'select\n 2']
    """
    held: list[str] = []
    for line in text.splitlines():
        if not held and line.lstrip().startswith("."):
            yield line.strip()
            continue
        if held or line.strip():
            held.append(line)
        if ";" in line and is_complete(_bounded(held)):
            yield from split("\n".join(held)).statements
            held = []
    if held:
        yield from split(_bounded(held)).statements


def _bounded(lines: list[str]) -> str:
    """Return the text of some lines, which is refused before anything in it is looked for where it is too long."""
    text = "\n".join(lines)
    parse.check_length(text)
    return text

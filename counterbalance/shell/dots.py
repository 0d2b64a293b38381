"""The commands that start with a dot."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from counterbalance.engine.errors import NotFoundError, RequestError, did_you_mean
from counterbalance.engine.store.location import local_path
from counterbalance.shell import describe, errors
from counterbalance.shell.output import FORMATS, format_of, no_format, paged
from counterbalance.shell.parameters import value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.session import Session
    from counterbalance.shell.output import OutputOptions


_DEEPEST: Final = 16
"""So many files may read each other."""


class Shell(Protocol):
    """What dot commands look at and change."""

    session: Session
    output: OutputOptions
    on_screen: OutputOptions | None
    once: OutputOptions | None
    params: dict[str, Any]
    reading: int
    timer: bool
    done: bool

    def say(self, text: str) -> None:
        """Tell a person."""

    def set_mode(self, format_: str) -> None:
        """Write results in another format."""

    def script(self, text: str) -> None:
        """Run the statements of a text."""


@dataclass(frozen=True, slots=True)
class Dot:
    """A dot command: what it takes, what it does, the code."""

    usage: str
    doc: str
    run: Callable[[Shell, str], None]


def run(shell: Shell, text: str) -> None:
    """Run one line.

    Raises:
        RequestError: There is no such command (E3024), or its argument is wrong (E3025).
    """
    name, _, rest = text.partition(" ")
    found = COMMANDS.get(".quit" if name == ".exit" else name)
    if found is None:
        raise RequestError(f"no command {name!r}{did_you_mean(name, COMMANDS)}", code="E3024", hint=".help lists them")
    found.run(shell, rest.strip().rstrip(";").strip())


def _print(text: str) -> None:
    sys.stdout.write(text.rstrip("\n") + "\n")
    sys.stdout.flush()


def _tables(shell: Shell, rest: str) -> None:
    if rest not in {"", "--all"}:
        raise RequestError(".tables takes --all or nothing", code="E3025", hint=f".schema {rest}")
    _print(describe.tables(shell.session.relations(), everything=bool(rest)))
    if not rest:
        errors.note(".tables --all lists built-in views, audits, system tables and word lists, too")


def _schema(shell: Shell, rest: str) -> None:
    _print(describe.schema(shell.session, rest or None))


def _audits(_shell: Shell, rest: str) -> None:
    import counterbalance

    audits = counterbalance.audits()
    _print(describe.audit(audits, rest) if rest else describe.audits(audits))
    if not rest:
        errors.note(".audits NAME shows the parameters of one")


def _functions(_shell: Shell, rest: str) -> None:
    _print(describe.functions(rest))


def _mode(shell: Shell, rest: str) -> None:
    if not rest:
        shell.say(shell.output.format)
        return
    if rest not in FORMATS:
        raise RequestError(f"no format {rest!r}{did_you_mean(rest, FORMATS)}", code="E3025", hint=", ".join(FORMATS))
    shell.set_mode(rest)


def _to(shell: Shell, rest: str) -> OutputOptions:
    path = local_path(rest).expanduser()
    format_ = format_of(path)
    if format_ is None and (path.is_file() or not path.exists()):
        raise RequestError(no_format(path), code="E3025", hint=f".once {path.stem or 'result'}.csv")
    return replace(shell.output, path=path, format=format_ or shell.output.format)


def _once(shell: Shell, rest: str) -> None:
    if not rest:
        raise RequestError(".once needs a FILE", code="E3025", hint=".once result.csv")
    shell.once = _to(shell, rest)


def _output(shell: Shell, rest: str) -> None:
    if not rest:
        shell.output = shell.on_screen or replace(shell.output, path=None, append=False)
        shell.on_screen = None
        return
    wanted = replace(_to(shell, rest), append=True)
    if wanted.binary:
        raise RequestError(f"{wanted.format} holds one result", code="E3025", hint=f"use: .once {rest}")
    if shell.output.path is None:
        shell.on_screen = shell.output
    shell.output = wanted


def _read(shell: Shell, rest: str) -> None:
    if not rest:
        raise RequestError(".read needs a FILE", code="E3025", hint=".read queries.sql")
    if shell.reading == _DEEPEST:
        raise RequestError(f"{rest} is read by itself, or by {_DEEPEST} files within each other", code="E3025")
    try:
        text = Path(rest).expanduser().read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(f"{rest} is not UTF-8 text", code="E3022") from error
    except OSError as error:
        raise NotFoundError(f"cannot read {rest!r}: {error.strerror}", code="E1020") from error
    shell.reading += 1
    try:
        shell.script(text)
    finally:
        shell.reading -= 1


def _param(shell: Shell, rest: str) -> None:
    name, equals, value = (part.strip() for part in rest.partition("="))
    name = name.removeprefix("$")
    if not rest:
        _print(describe.columns([(f"${n}", repr(v)) for n, v in shell.params.items()]))
    elif not equals or not name.isidentifier():
        raise RequestError(".param takes NAME=VALUE", code="E3025", hint=".param word=%thief%, then: … LIKE $word")
    else:
        shell.params[name] = value_of(value)


def _timer(shell: Shell, rest: str) -> None:
    if rest not in {"on", "off"}:
        raise RequestError(".timer takes on or off", code="E3025")
    shell.timer = rest == "on"


def _pager(shell: Shell, rest: str) -> None:
    if rest not in {"on", "off"}:
        raise RequestError(".pager takes on or off", code="E3025")
    shell.output = paged(shell.output, on=rest == "on")
    shell.on_screen = shell.on_screen and paged(shell.on_screen, on=rest == "on")
    if rest == "on" and not shell.output.pager:
        raise RequestError(
            "there is no pager here", code="E3025", hint="set PAGER to the command of one, or install less"
        )


def _explain(shell: Shell, rest: str) -> None:
    if not rest:
        raise RequestError(".explain needs a statement", code="E3025", hint=".explain SELECT count(*) FROM images")
    _print(shell.session.explain(rest))


def _expand(shell: Shell, rest: str) -> None:
    _print(shell.session.expand(rest))


def _versions(shell: Shell, _rest: str) -> None:
    _print(describe.columns([(name, str(v)) for name, v in sorted(shell.session.versions.items())]))


def _help(_shell: Shell, _rest: str) -> None:
    _print(describe.columns([(f"{n} {d.usage}".strip(), d.doc) for n, d in COMMANDS.items()]))


def _quit(shell: Shell, _rest: str) -> None:
    shell.done = True


COMMANDS: Final = {
    ".tables": Dot("[--all]", "tables and materialized views, or all that FROM takes", _tables),
    ".schema": Dot("[NAME]", "columns and types of all that is stored, or of NAME", _schema),
    ".audits": Dot("[NAME]", "all audits by subject, or one with its parameters", _audits),
    ".functions": Dot("[NAME]", "functions that queries may call, or one", _functions),
    ".mode": Dot("[FORMAT]", "format of results: " + ", ".join(FORMATS), _mode),
    ".once": Dot("FILE", "write the next result to FILE; its suffix is its format", _once),
    ".output": Dot("[FILE]", "add all further results to FILE; without one, back to the screen", _output),
    ".read": Dot("FILE", "run the statements of FILE", _read),
    ".param": Dot("[NAME=VALUE]", "the value of $NAME in further statements: a JSON value, else text", _param),
    ".timer": Dot("on|off", "say how long each statement took", _timer),
    ".pager": Dot("on|off", "show results that are longer than the screen in $PAGER, or less", _pager),
    ".explain": Dot("SQL", "DuckDB's plan of a statement", _explain),
    ".expand": Dot("SQL", "the plain SQL that a statement becomes", _expand),
    ".versions": Dot("", "versions of the tables that this session reads", _versions),
    ".help": Dot("", "this list", _help),
    ".quit": Dot("", "leave (.exit and Ctrl-D do too)", _quit),
}

"""The shell for people: prompt, history, completion, and errors that do not end it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from counterbalance.shell import errors
from counterbalance.shell.interpreter import steps_of
from counterbalance.shell.pager import has_ctrl_c
from counterbalance.shell.scripts import is_complete

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
    from prompt_toolkit.output import Output

    from counterbalance.shell.complete import SqlCompleter
    from counterbalance.shell.interpreter import Interpreter

PROMPT = "sql> "
BARE: Final = {"quit": ".quit", "exit": ".quit", "\\q": ".quit", "help": ".help", "\\?": ".help", "\\d": ".tables"}
"""What other shells call some dot commands; nothing else may stand on the line."""
_CONTINUED = "...> "


class Repl:
    """Read, runs, prints, again.

    Args:
        interpreter: Runs what is typed.
        lake: Its name, for the greeting.
        source: Where keys come from; the terminal by default.
        screen: Where the prompt is drawn; the terminal by default.
    """

    def __init__(
        self, interpreter: Interpreter, lake: str, *, source: Input | None = None, screen: Output | None = None
    ) -> None:
        from counterbalance.shell.complete import SqlCompleter

        interpreter.timer = interpreter.patient = True
        self._interpreter = interpreter
        self._lake = lake
        self._completer = SqlCompleter(interpreter.session)
        self._prompt = _prompt(self._completer, source, screen)

    def run(self) -> int:
        """Read and run statements until Ctrl-D or ``.quit``; return the exit code."""
        self._greet()
        while not self._interpreter.done:
            try:
                text = self._prompt.prompt(PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                break
            self._feed(text)
            self._completer.forget()
        return 0

    def _greet(self) -> None:
        from importlib.metadata import version

        sys.stderr.write(f"counterbalance {version('counterbalance')}, {self._lake}\n")
        sys.stderr.write("';' ends a statement, Tab completes, Ctrl-C cancels, Ctrl-D leaves, .help helps.\n")

    def _feed(self, text: str) -> None:
        """Run everything in a text; an error is shown and ends the text, not the shell."""
        try:
            with has_ctrl_c():
                for step in steps_of(BARE.get(_word(text), text)):
                    self._interpreter.step(step)
                    if self._interpreter.done:
                        return
        except KeyboardInterrupt:
            sys.stderr.write("cancelled\n")
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - shown; the shell lives on
            errors.show(error)


def _prompt(completer: SqlCompleter, source: Input | None, screen: Output | None) -> PromptSession[str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer

    return PromptSession(
        history=_history(),
        completer=completer,
        complete_while_typing=False,
        complete_in_thread=True,
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        prompt_continuation=_continuation,
        key_bindings=_keys(),
        enable_history_search=True,
        input=source,
        output=screen,
    )


def _continuation(width: int, _line: int, wrapped: int) -> str:
    return " " * width if wrapped else _CONTINUED.rjust(width)


def is_done(text: str) -> bool:
    """Return whether Enter runs a text: a dot command, nothing, or statements that all end with a semicolon.

    Example:
        >>> is_done(".tables"), is_done("quit"), is_done("select 1"), is_done("select 1;")
        (True, True, False, True)
    """
    return text.lstrip().startswith(".") or _word(text) in BARE or is_complete(text)


def _word(text: str) -> str:
    return text.strip().rstrip(";").rstrip().lower()


def _keys() -> KeyBindings:
    from prompt_toolkit.filters import completion_is_selected, has_focus, in_paste_mode
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter", filter=has_focus("DEFAULT_BUFFER") & ~completion_is_selected)
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_done(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=not in_paste_mode())

    @keys.add("enter", filter=completion_is_selected)
    def _choose(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    return keys


def history_file() -> Path:
    """Return where the shell keeps what was typed."""
    import platformdirs

    return Path(platformdirs.user_state_dir("counterbalance")) / "history"


def _history() -> History:
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = history_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError as error:
        sys.stderr.write(f"note: no history is kept, {path}: {error.strerror}\n")
        return InMemoryHistory()
    return FileHistory(str(path))

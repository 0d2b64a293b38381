"""Show what is longer than the screen in a pager: ``$PAGER``, or ``less``."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any, Final

from counterbalance.shell import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType
    from typing import IO

    import pyarrow as pa

_LESS: Final = "SRFX"
"""Options of less where nobody has set any: long lines are cut, colours shown, and what was read stays on the screen."""
_open: Final[set[subprocess.Popen[bytes]]] = set()
"""Pagers that are not known to have ended."""


def command() -> tuple[str, ...]:
    """Return the words of the pager; none where there is none, or the terminal cannot move its cursor."""
    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return ()
    able = os.environ.get("TERM", "dumb") != "dumb" and words and shutil.which(words[0])
    return tuple(words) if able else ()


class Paged:
    """Hold lines back until they are more than a screen; from then on write to a pager.

    Args:
        out: Where less than a screen is written to.
        words: The pager.
        pause: Entered while the reader makes us wait.
    """

    def __init__(
        self, out: IO[bytes], words: Sequence[str], pause: Callable[[], contextlib.AbstractContextManager[object]]
    ) -> None:
        self._out, self._words, self._pause = out, words, pause
        self._room = shutil.get_terminal_size((80, 24)).lines - 2  # the prompt, and what is said of the rows
        self._held: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._fails = self.is_left = False

    def write(self, data: Any) -> int:
        """Take in a part; nothing any more once the reader has left the pager."""
        data = bytes(data)
        if self._fails:
            return self._out.write(data)
        if not self.is_left:
            self._room -= data.count(b"\n")
            self._held.append(data)
            if self._room < 0:
                self._pass_on()
        return len(data)

    def flush(self) -> None:
        """Leave it held back."""

    def close(self) -> None:
        """Write what is held back, and wait for the reader to leave the pager."""
        process = self._process
        if process is None or process.stdin is None:
            self._give_back()
            return
        with self._pause():
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            process.wait()
        _open.discard(process)

    def until_left(self, rows: pa.RecordBatchReader) -> pa.RecordBatchReader:
        """Return rows that end where the reader leaves: what nobody looks at is not computed."""
        import pyarrow as pa

        def batches() -> Iterator[Any]:
            while not self.is_left and (batch := next(rows, None)) is not None:
                yield batch

        return pa.RecordBatchReader.from_batches(rows.schema, batches())

    def _give_back(self) -> None:
        self._out.write(b"".join(self._held))
        self._out.flush()

    def _pass_on(self) -> None:
        with self._pause():
            try:
                process = self._process = self._process or _start(self._words)
                if process.stdin is not None:
                    process.stdin.write(b"".join(self._held))
                    process.stdin.flush()
            except BrokenPipeError:
                self.is_left = True
                if self._process is not None:
                    _open.discard(self._process)
            except OSError as error:
                errors.note(f"no pager: {' '.join(self._words)}: {error.strerror}; .pager off does without")
                self._fails = True
                self._give_back()
            self._held.clear()


def _start(words: Sequence[str]) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(  # noqa: S603 - the user's own pager
        words, stdin=subprocess.PIPE, env={"LESS": _LESS, **os.environ}
    )
    _open.add(process)
    return process


@contextlib.contextmanager
def has_ctrl_c() -> Iterator[None]:
    """Leave Ctrl-C to a pager while one is open."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    ours = before

    def unless_open(number: int, frame: FrameType | None) -> None:
        held = list(_open)  # one that ended by this very Ctrl-C among them, which is not ours either
        _open.difference_update([process for process in held if process.poll() is not None])
        if not held:
            ours(number, frame)

    signal.signal(signal.SIGINT, unless_open)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""The command on a real (pseudo) terminal."""

from __future__ import annotations

import os
import re
import select
import struct
import subprocess
import sys
import time

# A session without a terminal gets the first one that it opens as its own, and Ctrl-C from there.
PROGRAM = """
import os, sys
os.close(os.open(os.ttyname(0), os.O_RDWR))
from counterbalance.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


class Terminal:
    """A process on a terminal of 60 by 20."""

    def __init__(self, words, folder):
        import fcntl
        import pty
        import termios

        self.folder = folder
        self.fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 20, 60, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "XDG_STATE_HOME": str(folder / "state")}
        for name in ("CI", "NO_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, *words],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.close(child)
        self.seen = ""

    def read(self, seconds=0.2):
        """Take in what was written since, if anything is in time; whether the terminal is still open."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            return False
        if b"\x1b[6n" in data:  # prompt_toolkit asks where the cursor is
            os.write(self.fd, b"\x1b[1;1R")
        self.seen += data.decode(errors="replace")
        return True

    def until(self, text, seconds=200):
        """Everything up to a text, colours left out."""
        end = time.monotonic() + seconds
        while text not in self.plain:
            assert time.monotonic() < end, self.plain
            if not self.read():
                break
        assert text in self.plain, self.plain
        before, _, self.seen = self.plain.partition(text)
        return before

    @property
    def plain(self):
        return re.sub(r"\x1b\[[\d;?]*[a-zA-Z]|\x1b\][^\x07]*\x07|\r", "", self.seen)

    def until_begun(self):
        """Everything up to the first rows of ``ENDLESS``."""
        while not (self.folder / "begun").exists():
            assert self.process.poll() is None, self.plain
            self.read()

    def send(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=200):
        """The exit status, once it ends by itself."""
        began = time.monotonic()
        while self.process.poll() is None and time.monotonic() - began < seconds:
            self.read()
        while select.select([self.fd], [], [], 0.2)[0] and self.read():
            pass
        os.close(self.fd)
        return self.process.wait(5)

    def answers_and_ends(self):
        """Whether the shell is well: it answers one more query, and ends when it is told to."""
        self.until("sql>")
        self.send("SELECT 40 + 2 AS answer;\r")
        answered = "42" in self.until("1 row in ")
        self.until("sql>")
        self.send("\x04")
        return answered and self.end() == 0

"""Open a session with a limit on the lake named, say where it spills, and wait to be killed."""

from __future__ import annotations

import sys
import time

import counterbalance as cb

session = cb.connect(sys.argv[1]).session(threads=1)
sys.stdout.write(f"{session._engine.backend._opened().spill}\n")
sys.stdout.flush()
time.sleep(120)

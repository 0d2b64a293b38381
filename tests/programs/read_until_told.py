"""Open session after session and read everything twice, until stdin closes; prints how many sessions, or the first error."""

from __future__ import annotations

import sys
import threading

import counterbalance as cb

told = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), told.set()), daemon=True).start()
QUERY = "SELECT count(*), count(DISTINCT caption_id), sum(length(text)) FROM captions"
lake = cb.connect(sys.argv[1])
count = 0
sys.stdout.write("ready\n")
sys.stdout.flush()
while not told.is_set():
    with lake.session() as session:
        first = session.sql(QUERY).fetchall()
        runs = session.sql("SELECT count(*) FROM meta.runs").fetchall()
        again = session.sql(QUERY).fetchall()
        assert first == again, (first, again)
        assert first[0][0] == first[0][1], first
        assert runs[0][0] > 0
    count += 1
sys.stdout.write(f"{count}\n")

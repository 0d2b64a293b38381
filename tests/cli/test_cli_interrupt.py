"""Ctrl-C ends a command with 130, also while the database works."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import counterbalance as cb

ENDLESS = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE hash(a.range, b.range) % 7 = 0"
DEAF = "SELECT max(levenshtein(repeat(a.text, 4000), repeat(b.text, 4000))) FROM captions a, captions b"


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("query", [ENDLESS, DEAF], ids=["endless", "deaf"])
def test_interrupt(query, disk_lake, build, tmp_path):
    ids = list(range(64))
    images = build.images(image_id=ids, key=[str(i) for i in ids])
    captions = build.captions(caption_id=ids, image_id=ids, text=[f"a man on wave {i}" for i in ids])
    cb.connect(disk_lake.uri).ingest({"images": images, "captions": captions})
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "counterbalance", "sql", disk_lake.uri, query, "--timeout", "300"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    for line in process.stderr:  # the last import on the way to the query
        if line.rstrip().endswith("counterbalance.shell.arrow_values"):
            break
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=500)  # a query that goes on ends by its limit, with 1
    said = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert process.returncode == 130, err
    assert out == ""
    assert said in ([], ["interrupted"])

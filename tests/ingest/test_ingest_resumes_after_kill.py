"""An ingest that is killed at any moment goes on with what is missing, and nobody ever sees half of it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import threading
from collections import Counter

import lance
import pyarrow as pa
import pytest
from repeats import again

from counterbalance.engine.write.ingest import _Ingest

KILLS = int(os.environ.get("COUNTERBALANCE_KILLS", "12"))
CHUNKS = max(50, 4 * KILLS)
FEW = 24
"""Chunks of a source that is killed a few times only."""
FIRST = 100_000
BASE = CHUNKS + 10


@pytest.fixture
def base(disk_lake, build):
    """A lake of some images whose widths the killed source changes."""
    disk_lake.ingest(
        {"images": build.images(image_id=list(range(1, BASE + 1)), width=[0] * BASE, split=["base"] * BASE)}
    )
    return disk_lake


def expected_captions(chunks):
    ids = [FIRST + n * 4 + i for n in range(chunks) for i in range(4)]
    return [
        (i * 10 + part, i, f"text {i * 10 + part}", "human" if part == 0 else "alt_text")
        for i in ids
        for part in (0, 1)
    ]


def check_complete(lake, chunks=FEW):
    """Exactly the rows of base and source, each once, with their codes; refusals once."""
    ids = [FIRST + n * 4 + i for n in range(chunks) for i in range(4)]
    widths = {i: 5000 + i - 1 if i <= chunks else 0 for i in range(1, BASE + 1)} | {i: i for i in ids}
    assert dict(lake.sql("SELECT image_id, width FROM images").fetchall()) == widths
    assert lake.sql("SELECT count(*), count(DISTINCT image_id) FROM images").fetchall() == [(len(widths), len(widths))]
    got = lake.sql(
        "SELECT caption_id, image_id, text, origin FROM captions WHERE image_id >= 100000 ORDER BY 1"
    ).fetchall()
    assert got == expected_captions(chunks)
    labels = lake.sql("SELECT attribute, count(*) FROM labels GROUP BY 1 ORDER BY 1", sensitive="a test").fetchall()
    assert labels == [("perceived_gender", chunks), ("scene", chunks)]
    refused = lake.sql(
        "SELECT code, count(*), count(DISTINCT position) FROM meta.errors GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert refused == [("bad_item", chunks, chunks), ("unknown_image", chunks, chunks)]
    splits = lake.sql("SELECT split, count(*) FROM images GROUP BY 1 ORDER BY 1").fetchall()
    assert splits == [("base", BASE - chunks), ("s", chunks + len(ids))]
    raw = lance.dataset(lake.location.table("captions")).to_table(columns=["caption_id"])["caption_id"].to_pylist()
    assert max(Counter(raw).values()) == 1
    assert lake.sql("SELECT state FROM meta.runs WHERE target LIKE 'many:%' ORDER BY at DESC LIMIT 1").fetchall() == [
        ("finished",)
    ]


def check_unseen(lake):
    """Readers are on the versions from before the killed run."""
    assert lake.sql("SELECT count(*), sum(width) FROM images").fetchall() == [(BASE, 0)]
    assert lake.sql("SELECT count(*) FROM captions WHERE image_id >= 100000").fetchall() == [(0,)]
    assert lake.sql("SELECT count(*) FROM labels", sensitive="a test").fetchall() == [(0,)]


class Killer:
    """Kills processes at random moments, each in chunks that none before it reached."""

    def __init__(self, seed: int, chunks: int = FEW) -> None:
        self.moment, self.chunks = random.Random(seed), chunks
        self.reached = -1

    def kill(self, process: subprocess.Popen[str]) -> bool:
        """Whether the process was still running."""
        wanted = self.reached + self.moment.randrange(3)
        while self.reached < wanted:
            line = process.stdout.readline()
            if not line.strip().isdigit():
                break
            self.reached = int(line)
        threading.Timer(self.moment.random() * 0.06, process.send_signal, (signal.SIGKILL,)).start()
        out, errors = process.communicate()
        self.reached = max(
            [self.reached, *(int(line) for line in out.splitlines() if line.isdigit() and int(line) < self.chunks)]
        )
        assert process.returncode in {0, -signal.SIGKILL}, errors
        return process.returncode != 0


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("most", "chunks"), [(4, FEW), *again((KILLS, CHUNKS))])
def test_any_number_of_kills(base, spawn, record_property, most, chunks):
    killer = Killer(20, chunks)
    kills = 0
    while kills < most and killer.reached < chunks - 4:
        kills += killer.kill(spawn("ingest_chunks", base.uri, FIRST, chunks, 0))
        check_unseen(base)
    assert kills == most
    record_property("kills", kills)
    last = spawn("ingest_chunks", base.uri, FIRST, chunks, 0)
    _, errors = last.communicate()
    assert last.returncode == 0, errors
    check_complete(base, chunks)
    again = spawn("ingest_chunks", base.uri, FIRST, chunks, 0)
    assert again.communicate()[0].splitlines()[-1] == f"done 0 0 {chunks * 15} {chunks * 2}"


def test_each_kill_keeps_what_was_done(base, spawn):
    """A resumed run writes only what the killed one had not."""
    first = spawn("ingest_chunks", base.uri, FIRST, FEW, 30)
    assert first.stdout.readline() == "0\n"
    first.kill()
    first.communicate()
    check_unseen(base)
    out, _ = spawn("ingest_chunks", base.uri, FIRST, FEW, 0).communicate()
    assert out.splitlines()[-1] == f"done {(FEW - 1) * 14} {FEW - 1} 15 {FEW * 2}"
    check_complete(base)


@pytest.mark.thorough
def test_others_write_between_kills(base, spawn, build, record_property):
    """Another ingest and another Lance tool append while the source is half read."""
    import lancedb

    killer = Killer(3)
    others = 2
    record_property("kills", others)
    for number in range(others):
        assert killer.kill(spawn("ingest_chunks", base.uri, FIRST, FEW, 0))
        report = base.ingest(
            {"captions": build.captions(caption_id=[-100 - number], image_id=[1], origin=["generated"])}
        )
        assert report.written == 1
        lancedb.connect(base.uri).open_table("captions").add(
            pa.table({"caption_id": [-200 - number], "image_id": [2], "text": ["foreign"], "origin": ["human"]})
        )
    last = spawn("ingest_chunks", base.uri, FIRST, FEW, 0)
    assert last.wait() == 0, last.stderr.read()
    check_complete(base)
    foreign = base.sql("SELECT caption_id, text, origin FROM captions WHERE caption_id < 0 ORDER BY 1").fetchall()
    assert sorted(foreign) == sorted(
        [(-100 - n, None, "generated") for n in range(others)] + [(-200 - n, "foreign", "human") for n in range(others)]
    )


def test_a_reader_keeps_its_versions_through_a_kill(base, spawn):
    with base.session() as session:
        process = spawn("ingest_chunks", base.uri, FIRST, FEW, 30)
        process.stdout.readline()
        assert session.sql("SELECT count(*) FROM images").fetchall() == [(BASE,)]
        process.kill()
        process.wait()
        assert session.sql("SELECT sum(width) FROM images").fetchall() == [(0,)]


def test_a_new_lake_killed_at_once_is_an_empty_lake(disk_lake, spawn):
    process = spawn("ingest_chunks", disk_lake.uri, FIRST, FEW, 30)
    process.stdout.readline()
    process.kill()
    process.communicate()
    assert disk_lake.sql("SELECT count(*) FROM images").fetchall() == [(0,)]
    assert disk_lake.sql("SELECT state FROM meta.runs").fetchall() == [("running",)]


@pytest.fixture
def killed(base, build, tmp_path, monkeypatch):
    """A lake in which the ingest of a list was killed at its end."""
    listed = tmp_path / "list.csv"
    listed.write_text("url,caption\n" + "".join(f"http://x/{i}.jpg,a dog\n" for i in range(20)))
    with monkeypatch.context() as patched:
        patched.setattr(_Ingest, "_finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            base.ingest(str(listed), "laion")
    assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE,)]
    return str(listed)


def test_all_was_written_but_not_published(base, killed):
    """What only becomes visible is a change, though nothing is written."""
    report = base.ingest(killed, "laion")
    assert (report.changed, report.written, report.by_table["images"].unchanged) == (True, 0, 20)
    assert report.notes == ["an interrupted ingest of this source is complete now; what it wrote counts as unchanged"]
    assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE + 20,)]
    assert base.sql("SELECT mode FROM meta.runs ORDER BY at DESC LIMIT 1").fetchall() == [("incremental",)]
    again = base.ingest(killed, "laion")
    assert (again.changed, again.notes) == (False, [])


def test_an_ingest_that_writes_nothing_does_not_show_it(base, killed, build):
    rows = {"images": build.images(image_id=[1])}
    for _ in range(2):
        report = base.ingest(rows)
        assert (report.changed, report.written) == (False, 0)
        assert report.notes == [
            f"an earlier ingest of {killed} was interrupted, and is not seen before it is complete: run it again"
        ]
        assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE,)]
    assert base.ingest(killed, "laion").changed
    assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE + 20,)]


def test_a_part_of_it_is_not_the_whole(base, killed):
    report = base.ingest(killed, "laion", limit=5)
    assert not report.changed
    assert "not seen before it is complete" in report.notes[0]
    assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE,)]


def test_an_ingest_that_writes_shows_both_and_says_so(base, killed, build):
    report = base.ingest({"images": build.images(image_id=[FIRST])})
    assert (report.changed, report.written) == (True, 1)
    assert report.notes == [
        f"what an interrupted ingest of {killed} had written is seen from here on; run it again to complete it"
    ]
    assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE + 21,)]


def test_rows_in_memory_are_not_said_to_be_complete(base, build, monkeypatch):
    """Nobody knows whether they are the same."""
    rows = {"images": build.images(image_id=[FIRST, FIRST + 1])}
    with monkeypatch.context() as patched:
        patched.setattr(_Ingest, "_finish", lambda self: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            base.ingest(rows)
    report = base.ingest(rows)
    assert (report.changed, report.written) == (True, 0)
    assert report.notes == [
        "what an interrupted ingest of rows in memory had written is seen from here on; run it again to complete it"
    ]
    assert base.sql("SELECT count(*) FROM images").fetchall() == [(BASE + 2,)]

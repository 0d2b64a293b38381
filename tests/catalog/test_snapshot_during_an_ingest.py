"""A query sees one set of versions: all of an ingest or nothing of it."""

from __future__ import annotations

import contextlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from counterbalance.engine.catalog import meta, snapshot
from counterbalance.engine.errors import SourceError
from counterbalance.engine.ingest_types import Chunk, Source
from counterbalance.engine.store import tables
from counterbalance.engine.write.ingest import ingest

READS = int(os.environ.get("COUNTERBALANCE_READS", "1"))
PAIRS = (
    "SELECT (SELECT count(*) FROM images), (SELECT count(*) FROM captions), "
    "(SELECT count(*) FROM captions ANTI JOIN images USING (image_id))"
)


def chunk(build, number):
    ids = [number * 2, number * 2 + 1]
    return Chunk(
        {
            "images": build.images(image_id=ids, split=["a", "b"]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=["t", "u"]),
        }
    )


def test_between_two_chunks_nothing_is_seen(disk_lake, build):
    def chunks():
        for number in range(1, 4):
            yield chunk(build, number)
            assert disk_lake.sql(PAIRS).fetchall() == [(2, 2, 0)]
            assert disk_lake.sql("SELECT split, count(*) FROM images GROUP BY 1 ORDER BY 1").fetchall() == [
                ("a", 1),
                ("b", 1),
            ]

    ingest(disk_lake.location, Source("first", iter([chunk(build, 0)])), "test")
    ingest(disk_lake.location, Source("second", chunks()), "test")
    assert disk_lake.sql(PAIRS).fetchall() == [(8, 8, 0)]


def test_a_session_stays_on_its_versions(disk_lake, build):
    ingest(disk_lake.location, Source("first", iter([chunk(build, 0)])), "test")
    with disk_lake.session() as session:
        versions = session.versions
        for number in range(1, 4):
            ingest(disk_lake.location, Source("more", iter([chunk(build, number)])), "test")
            assert session.sql(PAIRS).fetchall() == [(2, 2, 0)]
        assert session.versions == versions


@pytest.mark.timeout(600 + READS)
def test_readers_beside_a_writer_never_see_half(disk_lake, build, record_property):
    ingest(disk_lake.location, Source("first", iter([chunk(build, 0)])), "test")
    stop = threading.Event()
    reads: list[tuple[int, int, int]] = []

    def read() -> None:
        while not stop.is_set():
            reads.extend(disk_lake.sql(PAIRS).fetchall())

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        runs = 0
        while not any(reader.done() for reader in readers) and (runs < 8 or len(reads) < READS):
            first, runs = 1 + runs * 3, runs + 1
            ingest(disk_lake.location, Source(f"run {runs}", (chunk(build, first + n) for n in range(3))), "test")
        stop.set()
        for reader in readers:
            reader.result()
    record_property("reads", len(reads))
    seen = set(reads)
    assert {(images, captions) for images, captions, _ in seen} <= {(2 + 6 * n, 2 + 6 * n) for n in range(runs + 1)}
    assert {orphans for *_, orphans in seen} == {0}
    assert len(seen) > 1


@pytest.mark.parametrize("ends", [False, True])
def test_an_ingest_that_begins_while_versions_are_looked_up(disk_lake, build, monkeypatch, ends):
    """The journal is read before the tables: what was begun between the two must not show."""
    ingest(disk_lake.location, Source("first", iter([chunk(build, 0)])), "test")
    looked = []

    def newest(location):
        if not looked:
            looked.append(True)

            def chunks():
                yield chunk(build, 1)
                if not ends:
                    raise KeyboardInterrupt

            with contextlib.suppress(KeyboardInterrupt):
                ingest(location, Source("sudden", chunks()), "test")
        return found(location)

    found = snapshot.newest
    monkeypatch.setattr(snapshot, "newest", newest)
    taken = snapshot.take(disk_lake.location)
    monkeypatch.setattr(snapshot, "newest", found)
    assert taken == snapshot.take(disk_lake.location)
    assert dict(taken.versions) == {"images": 1 + ends, "captions": 1 + ends}


def test_a_failed_ingest_is_never_seen(disk_lake, build):
    ingest(disk_lake.location, Source("first", iter([chunk(build, 0)])), "test")

    def chunks():
        yield chunk(build, 1)
        raise SourceError("broken")

    for _ in range(3):
        with pytest.raises(SourceError):
            ingest(disk_lake.location, Source("second", chunks()), "test")
        assert disk_lake.sql(PAIRS).fetchall() == [(2, 2, 0)]


def test_a_version_that_was_cleaned_up_is_a_clear_error(disk_lake, build):
    import datetime as dt

    import lance

    from counterbalance.engine.errors import StorageError

    ingest(disk_lake.location, Source("first", iter([chunk(build, 0)])), "test")
    moment = meta.now().isoformat()
    ingest(disk_lake.location, Source("second", iter([chunk(build, 1)])), "test")
    assert disk_lake.sql("SELECT count(*) FROM images", at=moment).fetchall() == [(2,)]
    dataset = lance.dataset(disk_lake.location.table("images"))
    dataset.cleanup_old_versions(older_than=dt.timedelta(0))
    with pytest.raises(StorageError, match="has no version 1 that can be read") as caught:
        disk_lake.sql("SELECT count(*) FROM images", at=moment).fetchall()
    assert caught.value.code == "E6002"
    assert "gc" in caught.value.hint
    assert tables.latest_version(disk_lake.location, "images") == 2

"""An access log that is removed together with the note of where it ended is missed."""

from __future__ import annotations

import shutil

import lance
import pytest

from counterbalance.engine.catalog import access, verify
from counterbalance.engine.errors import StorageError


def read(lake, why, times=1):
    for _ in range(times):
        lake.sql("SELECT value FROM labels LIMIT 1", sensitive=why).fetchall()


def remove(lake):
    for table in (access.STORED, access.ENDS):
        shutil.rmtree(lake.location.table(table))


@pytest.mark.parametrize("times", [1, 2, 5])
def test_the_log_and_its_ends_are_removed(marked, why, times):
    read(marked, why, times)
    assert access.verify(marked.location) == []
    lines = access.read(marked.location).num_rows
    remove(marked)
    broken = access.verify(marked.location)
    assert broken
    assert len(broken) > lines // 2


def test_a_run_notes_where_it_ends(marked, why, build):
    read(marked, why, 3)
    lines = access.read(marked.location).num_rows
    marked.ingest({"images": build.images(image_id=[99], key=["99"])})
    remove(marked)
    assert access.verify(marked.location) == list(range(lines))


def test_a_new_log_does_not_stand_for_the_old_one(marked, why):
    read(marked, why, 2)
    remove(marked)
    with pytest.raises(StorageError, match=r"'sensitive/access' .* is gone"):  # nothing is read that cannot be logged
        read(marked, why, 1)
    verify.accept(marked.location, verify.verify(marked.location))
    read(marked, why, 6)
    assert access.verify(marked.location)


def test_a_log_and_ends_cut_to_the_same_line(marked, why, build):
    read(marked, why, 3)
    marked.ingest({"images": build.images(image_id=[99], key=["99"])})
    log, ends = (lance.dataset(marked.location.table(t)) for t in (access.STORED, access.ENDS))
    kept = log.to_table()["digest"].to_pylist()[:3]
    log.delete(f"digest NOT IN ({', '.join(map(repr, kept))})")
    ends.delete("lines > 3")
    assert access.verify(marked.location) == [3, 4, 5]


def test_the_notes_are_no_runs(marked, why):
    before = marked.sql("SELECT count(*) FROM meta.runs").fetchall()
    read(marked, why, 3)
    assert marked.sql("SELECT count(*) FROM meta.runs").fetchall() == before


def test_verify_tells_where_the_digests_went_too(marked, why):
    read(marked, why, 3)
    remove(marked)
    for name in verify.digests.stored(marked.location)[0]:
        verify.digests.forget(marked.location, name)
    shutil.rmtree(marked.location.path / verify.digests.NAME, ignore_errors=True)
    told = [f for f in verify.verify(marked.location).findings if f.table == "meta.access"]
    assert [f.kind for f in told] == ["unrecorded"]
    assert "of the access log are gone" in told[0].problem

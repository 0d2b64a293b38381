"""What a killed process spilled is removed by the next; what a living one holds, or another user, is left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from counterbalance.engine import temp_dirs
from counterbalance.engine.errors import LimitError


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for temporary files, for this process and those it starts; like a new process has not looked into it."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    temp_dirs._remove_abandoned.cache_clear()
    yield place
    temp_dirs._remove_abandoned.cache_clear()


def aged(path):
    """The folder as if it were made an hour ago."""
    hour_ago = path.stat().st_mtime - 3600
    os.utime(path, (hour_ago, hour_ago))
    return path


@pytest.fixture
def filled(disk_lake, build):
    disk_lake.ingest({"images": build.images(image_id=[1, 2])})
    return disk_lake


def test_a_killed_process(place, filled, spawn):
    process = spawn("spill_and_wait", filled.location.path)
    assert process.stdout is not None
    left = Path(process.stdout.readline().strip())
    assert (left.parent, str(process.pid) in left.name) == (place, True)
    (left / "duckdb_temp_storage_0.tmp").write_bytes(b"rows of images")
    aged(left)
    with filled.session(threads=1):
        assert left.is_dir(), "its process lives"
    process.send_signal(signal.SIGKILL)
    process.wait()
    aged(left)
    temp_dirs._remove_abandoned.cache_clear()
    with filled.session(threads=1) as session:
        assert not left.exists()
        assert Path(session._engine.backend._opened().spill).is_dir()
    assert list(place.iterdir()) == []


def test_a_process_looks_once(place, filled):
    with filled.session(threads=1):
        pass
    left = aged(_made(place, "counterbalance-spill-1-x"))
    with filled.session(threads=1):
        assert left.is_dir()


def _made(place, name):
    path = place / name
    path.mkdir()
    (path / ".in-use").touch()
    return path


def test_what_is_not_ours_stays(place, filled, tmp_path):
    other = tmp_path / "precious"
    other.mkdir()
    (other / "file").write_text("kept")
    (place / "counterbalance-spill-2-link").symlink_to(other)
    young = _made(place, "counterbalance-spill-3-young")
    named = aged(_made(place, "counterbalance-report"))
    half = place / "counterbalance-spill-4-half"
    half.mkdir()
    aged(half)
    with filled.session(threads=1):
        assert (other / "file").read_text() == "kept"
        assert young.is_dir()
        assert named.is_dir()
        assert not half.exists(), "nobody makes it any more"


def test_two_sessions_of_a_process(place, filled):
    with filled.session(threads=1) as first, filled.session(threads=2) as second:
        folders = [s._engine.backend._opened().spill for s in (first, second)]
        assert len({*folders}) == 2
        program = "from counterbalance.engine import temp_dirs; temp_dirs.remove(temp_dirs.folder())"
        for path in folders:
            aged(Path(path))
        subprocess.run([sys.executable, "-c", program], check=True, cwd=place)
        assert all(Path(path).is_dir() for path in folders)
    assert list(place.iterdir()) == []
    assert not {*folders} & temp_dirs._locked.keys()


def test_a_query_does_not_fill_the_disk(place, filled, monkeypatch):
    monkeypatch.setattr(temp_dirs, "most_bytes", lambda _: "1MB")
    wide = "SELECT hash(range) AS h, md5(CAST(range AS VARCHAR)) AS s FROM range(2000000) ORDER BY h LIMIT 1999999"
    with filled.session(memory="60MB", threads=1, isolated=False) as session, pytest.raises(LimitError) as caught:
        session.sql(f"SELECT max(h), max(s) FROM ({wide})").fetchall()
    assert caught.value.code == "E5002"
    assert list(place.iterdir()) == []


def test_a_session_may_take_half_of_what_is_free(place, filled):
    with filled.session(threads=1) as session:
        text = (
            session._engine.backend._opened()
            .connection.execute("SELECT current_setting('max_temp_directory_size')")
            .fetchall()[0][0]
        )
    number, unit = text.split()
    free = os.statvfs(place)
    scale = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
    assert float(number) * scale == pytest.approx(free.f_bavail * free.f_frsize / 2, rel=0.1)

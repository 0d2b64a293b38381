"""With ``durable``, what was acknowledged is there after a loss of power: a copy with nothing but what was synced has it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import counterbalance as cb
from counterbalance.engine.catalog.verify import accept
from counterbalance.engine.store import digests
from counterbalance.engine.store.pins import FOLDER
from counterbalance.engine.write.ingest import ingest

if TYPE_CHECKING:
    from collections.abc import Callable


class Disk:
    """What is on the disk: files with what they held when they were synced, and names in folders when these were."""

    def __init__(self, root: Path, record: Callable[[str, object], None]) -> None:
        self.root, self.files, self.names = root, {}, {}
        self.calls: list[Path] = []
        self._sync, self._record = os.fsync, record

    def fsync(self, handle):
        self._sync(handle)
        path = Path(f"/proc/self/fd/{handle}").readlink()
        self.calls.append(path)
        about = path.stat()
        if path.is_dir():
            self.names[about.st_ino] = {e.name: (e.inode(), e.is_dir()) for e in os.scandir(path)}
        else:
            self.files[about.st_ino] = path.read_bytes()

    def survivors(self, to: Path, *, everything: bool = False) -> Path:
        """A copy of the root as it would be found: files that were not synced are empty, names that were not are gone.

        With ``everything`` all names are there.
        """
        self._record("losses of power", 1)
        if everything:
            to.mkdir()
            for folder, _, names in os.walk(self.root):  # pins of sessions come and go meanwhile
                there = to / Path(folder).relative_to(self.root)
                there.mkdir(exist_ok=True)
                for path in (Path(folder, n) for n in names if Path(folder).name != FOLDER):
                    (there / path.name).write_bytes(self.files.get(path.stat().st_ino, b""))
            return to
        held = self.names.get(self.root.parent.stat().st_ino, {})
        assert held.get(self.root.name) == (self.root.stat().st_ino, True)
        self._copy(self.root.stat().st_ino, to)
        return to

    def _copy(self, folder: int, to: Path) -> None:
        to.mkdir()
        for name, (inode, is_folder) in self.names.get(folder, {}).items():
            if is_folder:
                self._copy(inode, to / name)
            else:
                (to / name).write_bytes(self.files.get(inode, b""))


@pytest.fixture
def disk(tmp_path, monkeypatch, record_property):
    disk = Disk(tmp_path / "d.lake", record_property)
    monkeypatch.setattr(os, "fsync", disk.fsync)
    return disk


@pytest.fixture
def lake(disk):
    return cb.connect(disk.root, durable=True)


def answers(lake):
    queries = (
        "SELECT count(*), sum(image_id) FROM images",
        "SELECT count(*), max(text) FROM captions",
        "SELECT value, count(*) FROM labels GROUP BY ALL ORDER BY ALL",
    )
    return [lake.sql(query, sensitive="a test").fetchall() for query in queries]


def test_every_ingest(lake, disk, fill, tmp_path):
    for number in range(2):
        fill(lake, first=50 * number)
        found = cb.connect(disk.survivors(tmp_path / f"{number}.lake"))
        assert found.verify().findings == []
        assert found.sql("SELECT count(*), max(image_id) FROM images").fetchall() == [
            (60 + 50 * number, 59 + 50 * number)
        ]
        assert answers(found) == answers(lake)


def test_declarations_refreshes_tags_and_clean_up(lake, disk, fill, tmp_path):
    import datetime as dt

    fill(lake)
    lake.add_column("captions", "shout", "upper(text)")
    lake.create_index("captions", "text", "btree", name="texts")
    lake.refresh()
    lake.tag("v1")
    fill(lake, first=100)
    lake.gc(dt.timedelta(0), apply=True)
    found = cb.connect(disk.survivors(tmp_path / "after.lake"))
    assert found.verify().findings == []
    assert found.sql("SELECT count(shout) FROM captions", at="v1").fetchall() == [(60,)]
    assert found.sql("SELECT count(*) FROM captions").fetchall() == [(120,)]
    assert found.status()["state"].to_pylist() == lake.status()["state"].to_pylist()


def test_what_earlier_runs_left_to_the_system_is_synced_too(disk, fill, tmp_path):
    fill(cb.connect(disk.root))
    assert disk.calls == []
    fill(cb.connect(disk.root, durable=True), first=100)
    found = cb.connect(disk.survivors(tmp_path / "after.lake"))
    assert found.sql("SELECT count(*) FROM images").fetchall() == [(120,)]
    assert found.verify().findings == []


def test_a_file_is_synced_once(lake, disk, fill):
    fill(lake)
    fill(lake, first=100)
    data = [p for p in disk.calls if p.parent.name == "data"]
    assert len(data) == len(set(data)) == len(list(disk.root.rglob("data/*.lance")))


def test_the_journal_comes_last(lake, disk, fill):
    fill(lake)
    of_journal = [n for n, p in enumerate(disk.calls) if "runs.lance" in p.parts]
    of_data = [
        n for n, p in enumerate(disk.calls) if p.parent.name in {"data", "_versions"} and "runs.lance" not in p.parts
    ]
    finished = max(n for n in of_journal if disk.calls[n].parent.name == "data")
    later = {disk.calls[n].relative_to(disk.root).parts[:2] for n in of_data if n > finished}
    assert later == set()


def test_without_it_nothing_is_synced(disk, fill):
    lake = cb.connect(disk.root)
    fill(lake)
    lake.tag("v1")
    assert disk.calls == []


def test_every_file_of_the_version_is_synced(lake, disk, fill, files_of):
    fill(lake)
    there = {*files_of(disk.root), *disk.root.rglob(digests.NAME)}
    assert {p for p in there if p.stat().st_ino not in disk.files} == set()
    shutil.rmtree(disk.root)


def test_a_loss_of_power_in_the_middle_of_a_run(lake, disk, fill, tmp_path, build):
    """Whatever of the files that were not synced is there: none, or all names with nothing in them."""
    fill(lake)
    wanted, copies = answers(lake), []

    def parts():
        for number in range(3):
            ids = [200 + number]
            yield {"images": build.images(image_id=ids, key=[str(i) for i in ids])}
            if number == 1:
                copies.append(disk.survivors(tmp_path / "none.lake"))
                copies.append(disk.survivors(tmp_path / "empty.lake", everything=True))

    ingest(lake.location, build.source(parts()), "test")
    for copy in copies:
        found = cb.connect(copy)
        assert answers(found) == wanted
        left = found.verify()
        assert {f.kind for f in left.findings} <= {"unfinished", "unrecorded"}
        assert left.sound == (copy.name == "none.lake")
        accept(found.location, left)
        fill(found, first=300)
        assert found.sql("SELECT count(*) FROM images WHERE image_id < 100").fetchall() == [(60,)]
        assert found.sql("SELECT count(*) FROM images WHERE image_id >= 300").fetchall() == [(60,)]
        assert found.verify().sound

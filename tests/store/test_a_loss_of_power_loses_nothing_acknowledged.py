"""With ``--durable``, a loss of power at any fsync leaves what was acknowledged: seen by libc's own calls, those of Lance too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import counterbalance as cb
from counterbalance.engine.catalog.verify import accept
from counterbalance.engine.store.pins import FOLDER

COMPILER = shutil.which("cc") or shutil.which("gcc")
pytestmark = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="a C compiler makes the library that sees every fsync"
)
COMMANDS = {
    "ingest": ["ingest", "LAKE", "SOURCE", "--format", "labels"],
    "sql": ["sql", "LAKE", "ALTER TABLE captions ADD COLUMN size AS (length(text))"],
    "refresh": ["refresh", "LAKE", "--executor", "inline"],
    "gc": ["gc", "LAKE", "--older-than", "0", "--apply"],
    "tag": ["tag", "LAKE", "v2"],
    "delete": ["delete", "LAKE", "--where", "image_id = 7", "--apply"],
    "purge": ["delete", "LAKE", "--where", "image_id = 7", "--purge", "--apply"],
}
QUERIES = (
    "SELECT count(*), sum(image_id) FROM images",
    "SELECT count(*), max(text), count(shout) FROM captions",
    "SELECT attribute, value, count(*) FROM labels GROUP BY ALL ORDER BY ALL",
)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    made = tmp_path_factory.mktemp("power") / "power.so"
    source = Path(__file__).with_name("power.c")
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-Wall", "-o", made, source, "-ldl"], check=True)
    return made


class Disk:
    """A lake whose changes are kept on a disk only where they were synced."""

    def __init__(self, folder, library):
        self.root, self.kept, self.library = folder / "d.lake", folder / "kept", library
        self.kept.mkdir()

    def have_all(self):
        """Take all that is there for synced."""
        for path in (self.root.parent, self.root, *self.root.rglob("*")):
            inode = path.stat().st_ino
            if path.is_dir():
                names = (f"{e.inode()} {'d' if e.is_dir() else 'f'} {e.name}\0".encode() for e in os.scandir(path))
                (self.kept / f"d{inode}").write_bytes(b"".join(names))
            else:
                shutil.copyfile(path, self.kept / f"f{inode}")

    def run(self, words, *, cut=0):
        environment = {
            **os.environ,
            "LD_PRELOAD": str(self.library),
            "POWER_KEPT": str(self.kept),
            "POWER_CUT": str(cut),
        }
        command = [sys.executable, "-m", "counterbalance", *words, "--durable"]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def survivors(self, to, *, names=False):
        """What is found when there is power again: names and files as they were synced; ``names``: all names, also of other files."""
        if names:
            for folder, _, found in os.walk(self.root):
                there = to / Path(folder).relative_to(self.root)
                there.mkdir()
                for name in found if Path(folder).name != FOLDER else ():
                    self._file(Path(folder, name).stat().st_ino, there / name)
            return to
        inode = self._names(self.root.parent.stat().st_ino)[self.root.name][0]
        self._folder(inode, to)
        return to

    def _names(self, inode):
        try:
            parts = (self.kept / f"d{inode}").read_bytes().split(b"\0")
        except FileNotFoundError:
            return {}
        lines = (part.decode().split(" ", 2) for part in parts if part)
        return {name: (number, kind) for number, kind, name in lines}

    def _folder(self, inode, to):
        to.mkdir()
        for name, (number, kind) in self._names(inode).items():
            (self._folder if kind == "d" else self._file)(number, to / name)

    def _file(self, inode, to):
        kept = self.kept / f"f{inode}"
        to.write_bytes(kept.read_bytes() if kept.exists() else b"")


def answers(lake):
    return [lake.sql(query, sensitive="a test").fetchall() for query in QUERIES]


@pytest.fixture
def disk(tmp_path, library, fill):
    disk = Disk(tmp_path, library)
    lake = cb.connect(disk.root)
    fill(lake)
    lake.add_column("captions", "shout", "upper(text)")
    (tmp_path / "labels.csv").write_text("image_id,attribute,value\n1,weather,snow\n")
    disk.have_all()
    return disk


def words_of(name, disk):
    named = {"LAKE": str(disk.root), "SOURCE": str(disk.root.parent / "labels.csv")}
    return [named.get(word, word) for word in COMMANDS[name]]


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_acknowledged_is_there(name, disk, tmp_path, record_property):
    done = disk.run(words_of(name, disk))
    assert done.returncode == 0, done.stderr
    record_property("losses of power", 1)
    found = cb.connect(disk.survivors(tmp_path / "after.lake"))
    assert found.verify().findings == []
    live = cb.connect(disk.root)
    assert answers(found) == answers(live)
    assert (
        found.sql("SELECT count(*) FROM meta.runs").fetchall() == live.sql("SELECT count(*) FROM meta.runs").fetchall()
    )


@pytest.mark.parametrize("name", ["ingest", "refresh", "delete", "purge"])
def test_a_loss_of_power_at_an_fsync(name, disk, tmp_path, fill, record_property):
    """Before it and after it, at some of them: the lake is as it was, or as it is once all is done, and goes on."""
    before = answers(cb.connect(disk.root))
    whole = shutil.copytree(disk.root, tmp_path / "whole.lake")
    words = words_of(name, disk)
    assert disk.run([str(whole) if word == str(disk.root) else word for word in words]).returncode == 0
    after = answers(cb.connect(whole))
    assert after != before
    for number in (1, 2, 3, 5, 8, 13, 21, 34):
        own = Disk(Path(shutil.copytree(disk.root, tmp_path / f"{number}" / "d.lake")).parent, disk.library)
        own.have_all()
        cut = -number if number % 2 else number
        done = own.run([str(own.root) if word == str(disk.root) else word for word in words], cut=cut)
        if done.returncode == 0:
            assert number > 3
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
        for names in (False, True):
            record_property("losses of power", 1)
            copy = own.survivors(tmp_path / f"{number} {names}.lake", names=names)
            found = cb.connect(copy)
            left = found.verify()
            assert {f.kind for f in left.findings} <= {"unfinished", "unrecorded"}
            assert left.sound or names  # names without contents are taken away by verify --accept
            accept(found.location, left)
            assert answers(found) in (before, after)
            fill(found, first=300)
            assert found.sql("SELECT count(*) FROM images WHERE image_id >= 300").fetchall() == [(60,)]

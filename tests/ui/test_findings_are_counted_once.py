"""Findings are counted once for all who ask, also of the next server; it goes on when the one who asked first has left."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from counterbalance.ui import findings, kept, workplace

PATH = "/api/lakes/demo/findings"
LET_IN = {"Authorization": "Bearer secret"}


def test_all_wait_for_the_same(served, disk_lake, build, monkeypatch):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    begun, go_on, counted = threading.Event(), threading.Event(), []

    def found(_, session):
        counted.append(session)
        begun.set()
        assert go_on.wait(60)
        return {"images": session.sql("SELECT count(*) FROM images").fetchall()[0][0]}

    monkeypatch.setattr(findings, "_found", found)
    monkeypatch.setattr(workplace, "_LOOK", 0.05)
    asked = urllib.request.Request(served(disk_lake) + PATH, headers=LET_IN)

    def answer(timeout):
        with urllib.request.urlopen(asked, timeout=timeout) as told:
            return json.load(told)

    with ThreadPoolExecutor(3) as people:
        leaves = people.submit(answer, 2)
        assert begun.wait(30)
        assert isinstance(leaves.exception(), TimeoutError)
        stay = [people.submit(answer, 60) for _ in range(2)]
        time.sleep(0.5)
        go_on.set()
        assert [s.result() for s in stay] == [{"images": 2}] * 2
    assert len(counted) == 1
    assert answer(60) == {"images": 2}
    assert len(counted) == 1


def test_the_next_server_knows_them_until_the_lake_changes(client, disk_lake, build, monkeypatch):
    disk_lake.ingest({"images": build.images(image_id=[1, 2], key=["a", "b"])})
    counted = []

    def found(_, session):
        counted.append(session)
        return {"images": session.sql("SELECT count(*) FROM images").fetchall()[0][0]}

    monkeypatch.setattr(findings, "_found", found)
    assert [client(disk_lake).get(PATH).json() for _ in range(2)] == [{"images": 2}] * 2
    assert len(counted) == 1
    folder = kept.folder_of(disk_lake.location.root)
    assert [(folder / name).stat().st_mode & 0o777 for name in (".", "findings.json")] == [0o700, 0o600]
    disk_lake.ingest({"images": build.images(image_id=[3], key=["c"])})
    assert client(disk_lake).get(PATH).json() == {"images": 3}
    (folder / "findings.json").write_text("{")
    assert client(disk_lake).get(PATH).json() == {"images": 3}
    assert len(counted) == 3

"""Refreshes that are killed at any moment, with changes in between: nothing is lost, resurrected, mixed or doubled."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from typing import TYPE_CHECKING

import lance
import pytest

import counterbalance as cb

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    Live = Callable[..., str]

KILLS = int(os.environ.get("COUNTERBALANCE_KILLS", "8"))
MANY = "COUNTERBALANCE_KILLS" in os.environ
BATCH = 64


@pytest.fixture
def live(spawn: Callable[..., subprocess.Popen[str]], record_property: Callable[[str, object], None]) -> Live:
    """One life of the program; returns what it said."""

    def one(*arguments: object) -> str:
        process = spawn("refresh_until_killed", *arguments)
        out, err = process.communicate(timeout=300)
        assert process.returncode in {0, -signal.SIGKILL}, err
        record_property("kills", int(process.returncode != 0))
        return out

    return one


def _check_what_is_seen(uri: Path) -> None:
    """Readers never see a mixture: every mark is of one version, every key is there once."""
    lake = cb.connect(uri)
    seen = lake.sql("SELECT caption_id, mark FROM captions").fetchall()
    assert len({key for key, _ in seen}) == len(seen)
    assert len({mark.split(":")[0] for _, mark in seen if mark is not None}) <= 1
    lake.close()


def _check_at_the_end(uri: Path, version: str) -> None:
    rows = {int(k): text for k, text in json.loads(uri.with_suffix(".model").read_text())["rows"].items()}
    lake = cb.connect(uri)
    marks = {k: None if "bad" in text else f"{version}:{text}" for k, text in rows.items()}
    found = lake.sql("SELECT caption_id, text, mark, size FROM captions ORDER BY 1").fetchall()
    assert found == [(k, rows[k], marks[k], None if marks[k] is None else len(marks[k])) for k in sorted(rows)]
    errors = lake.sql("SELECT key FROM meta.errors WHERE column_name = 'mark'").fetchall()
    assert Counter(key for (key,) in errors) == Counter(str(k) for k, text in rows.items() if "bad" in text)
    groups = Counter(k % 40 for k in rows)
    known = Counter(k % 40 for k in rows if marks[k] is not None)
    view = lake.sql("SELECT image_id, n, m, double FROM v ORDER BY 1").fetchall()
    assert view == [(image, n, known[image], 2 * n) for image, n in sorted(groups.items())]
    raw = lance.dataset(lake.location.table("captions")).to_table(columns=["caption_id"])["caption_id"].to_pylist()
    assert sorted(raw) == sorted(rows)
    lake.close()


@pytest.mark.timeout(300 + 15 * KILLS)
@pytest.mark.parametrize("seed", [int(os.environ.get("COUNTERBALANCE_SEED", "1"))])
def test_kills_between_changes(tmp_path: Path, live: Live, seed: int) -> None:
    dice = random.Random(seed)
    uri, version = tmp_path / "k.lake", 1
    for life in range(KILLS):
        if dice.random() < 0.15:
            version += 1
        (tmp_path / "version").write_text(str(version))
        by_processes = 0.5 if MANY else float(life % 10 == 2)
        live(uri, tmp_path / "log", seed * 1000 + life, 0.0, dice.choice([0.1, 0.6, 2.0]), by_processes)
        if (uri / "captions.lance").exists() and life % 5 == 4:
            _check_what_is_seen(uri)
    (tmp_path / "version").write_text(str(version))
    reports = [json.loads(line) for line in live(uri, tmp_path / "log", 0, 0, -1, 0).splitlines()]
    assert [s["mode"] for s in reports[1]["stages"]] == ["no_op"] * len(reports[1]["stages"])
    _check_at_the_end(uri, str(version))


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [1, 2] if MANY else [1])
def test_a_killed_refresh_loses_one_batch_a_worker(tmp_path: Path, live: Live, workers: int) -> None:
    """The function is given no row twice, but for the batches that it was in when it was killed."""
    uri, log = tmp_path / "k.lake", tmp_path / "log"
    kills = 4 + KILLS // 10
    for life in range(kills):
        live(uri, log, life, 0.02, 0.12, workers - 1, "steady")
    live(uri, log, 0, 100, 100, workers - 1, "steady")
    computed = Counter(int(line.split()[3]) for line in log.read_text().splitlines() if line.startswith("mark "))
    assert set(computed) == set(range(3000))
    assert 3000 <= computed.total() <= 3000 + kills * BATCH * workers
    live(uri, log, 0, 0, -1, workers - 1)
    _check_at_the_end(uri, "1")

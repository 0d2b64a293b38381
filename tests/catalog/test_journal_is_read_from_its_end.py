"""A reader looks at the end of the journal only, and finds there what readers see, however many runs changed nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lance
import pyarrow as pa

import counterbalance as cb
from counterbalance.engine.catalog import meta, runs

if TYPE_CHECKING:
    from pathlib import Path


def _rows(number: int) -> dict[str, pa.Table]:
    return {
        "images": pa.table({"image_id": [number], "key": [str(number)]}),
        "captions": pa.table({"caption_id": [number], "image_id": [number], "text": [f"caption {number}"]}),
    }


def _quiet(lake: cb.Lake, count: int) -> None:
    """So many refreshes that found nothing to do."""
    row = {
        "run_id": "r",
        "state": "finished",
        "at": meta.now(),
        "started": meta.now(),
        "kind": "refresh",
        "mode": "no_op",
    }
    meta.write(lake.location, "runs", [{**row, "target": f"captions.c{n % 3}"} for n in range(count)])


def test_the_last_row_with_versions_is_found_behind_many_without(empty_lake: cb.Lake) -> None:
    empty_lake.ingest(_rows(1))
    before = runs.visible(empty_lake.location, 2)
    _quiet(empty_lake, 3_000)
    assert runs.visible(empty_lake.location, 2) == before
    assert empty_lake.sql("SELECT caption_id FROM captions").fetchall() == [(1,)]


def test_a_moment_in_the_past_is_found_behind_them(empty_lake: cb.Lake) -> None:
    empty_lake.ingest(_rows(1))
    moment = meta.now()
    _quiet(empty_lake, 200)
    empty_lake.ingest(_rows(2))
    found = empty_lake.sql("SELECT count(*) FROM captions", at=moment.isoformat()).fetchall()
    assert (found, empty_lake.sql("SELECT count(*) FROM captions").fetchall()) == ([(1,)], [(2,)])


def test_the_newest_refresh_of_every_target_is_told(empty_lake: cb.Lake) -> None:
    empty_lake.ingest(_rows(1))
    empty_lake.add_column("captions", "n", "length(text)")
    empty_lake.refresh()
    _quiet(empty_lake, 5)
    found = runs.refreshes(empty_lake.location, ["mode"])
    assert {t: r["mode"] for t, r in found.items()} == {
        "captions.n": "rebuild",
        "captions.c2": "no_op",
        "captions.c0": "no_op",
        "captions.c1": "no_op",
    }
    assert list(found) == ["captions.n", "captions.c2", "captions.c0", "captions.c1"]


def test_a_lake_without_runs_has_none(empty_lake: cb.Lake) -> None:
    assert (runs.exist(empty_lake.location), runs.visible(empty_lake.location)) == (False, [])


def test_a_lake_of_an_earlier_release_lacks_columns(tmp_path: Path) -> None:
    lake = cb.connect(tmp_path / "old.lake")
    lake.ingest(_rows(1))
    lake.add_column("captions", "n", "length(text)")
    lake.refresh()
    lance.dataset(f"{lake.uri}/meta/runs.lance").drop_columns(["fingerprint", "versions_in", "versions_out"])
    assert runs.computed(lake.location) == {}
    assert runs.refreshes(lake.location, ["mode", "fingerprint"]) == {
        "captions.n": {"target": "captions.n", "mode": "rebuild", "fingerprint": None}
    }
    assert lake.sql("SELECT n FROM captions").fetchall() == [(9,)]
    assert [s.mode for s in lake.refresh(executor="inline").stages] == ["no_op"]

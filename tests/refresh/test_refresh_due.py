"""``refresh --due`` does what its schedule says, with what that reads, once for every time of the schedule."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import pytest

from counterbalance.engine.catalog import meta

if TYPE_CHECKING:
    from collections.abc import Callable

    from counterbalance.engine.lake import Lake


@pytest.fixture
def scheduled(lake: Lake, row_function: Callable[..., object]) -> Lake:
    """A daily view on a column without a schedule, and a column that nobody scheduled."""
    row_function("s_size", lambda text: len(text or ""))
    lake.add_column("captions", "size", "s_size(text)")
    lake.add_column("captions", "other", "lower(text)")
    select = "SELECT image_id, sum(size)::BIGINT AS s FROM captions GROUP BY 1"
    lake.create_materialized_view("v", select, "image_id", schedule="@daily")
    return lake


def _due(lake: Lake) -> dict[str, str]:
    return {s.target: s.mode for s in lake.refresh(due=True, executor="inline").stages}


def test_with_what_it_reads_and_once(scheduled: Lake) -> None:
    assert _due(scheduled) == {"captions.size": "rebuild", "v": "rebuild"}
    assert _due(scheduled) == {}


def test_again_at_its_next_time(scheduled: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    _due(scheduled)
    tomorrow = meta.now() + dt.timedelta(days=1)
    monkeypatch.setattr(meta, "now", lambda: tomorrow)
    assert _due(scheduled) == {"captions.size": "no_op", "v": "no_op"}
    assert _due(scheduled) == {}


def test_dry_run(scheduled: Lake) -> None:
    report = scheduled.refresh(due=True, dry_run=True)
    assert [(s.target, s.reason) for s in report.stages] == [
        ("captions.size", "never computed"),
        ("v", "never computed"),
    ]
    assert [s.target for s in scheduled.refresh(due=True, dry_run=True).stages] == ["captions.size", "v"]


def test_what_failed_stays_due_until_it_is_done(lake: Lake, row_function: Callable[..., object], monkeypatch) -> None:
    from counterbalance.engine import functions
    from counterbalance.engine.refresh.status import schedule

    row_function("s_late", lambda text: len(text or ""))
    lake.add_column("captions", "late", "s_late(text)", schedule="@daily")
    known = functions._registry.pop("s_late")
    for _ in range(2):
        assert _due(lake) == {"captions.late": "failed"}
        (row,) = schedule(lake.location).to_pylist()
        assert row["due"]
        assert row["tried"] is not None
    monkeypatch.setitem(functions._registry, "s_late", known)
    assert _due(lake) == {"captions.late": "rebuild"}
    assert _due(lake) == {}

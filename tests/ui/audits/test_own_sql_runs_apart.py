"""A query of one's own in a parameter runs in another process; names and calls do not need one."""

from __future__ import annotations

import pytest

from counterbalance.engine.sql import queries
from counterbalance.ui import audits


@pytest.mark.parametrize(
    ("groups", "apart"),
    [
        ("caption_gender", False),
        ("image_labels('scene')", True),
        ("(SELECT image_id, label FROM caption_gender)", True),
        ("clear_labels(( select image_id, label FROM caption_gender))", True),
    ],
)
def test_it_is_told_from_a_name(groups, apart):
    assert audits._is_own_sql(queries.audit("demographics"), {"groups": groups, "min_count": "5"}) is apart


def test_it_runs_in_a_session_of_its_own_process(ask, monkeypatch):
    asked = []
    before = type(ask.app._app.state.place).ask

    async def noted(place, request, work, *, apart=False, **_):
        asked.append(apart)
        return await before(place, request, work)  # a lake in memory is not there for another process

    monkeypatch.setattr(type(ask.app._app.state.place), "ask", noted)
    given = {"groups": "(SELECT image_id, label FROM caption_gender)"}
    assert ask.get("/lakes/demo/audits/demographics", params=given).status_code == 200
    assert asked == [True, False]  # the rows, and the form

"""The main journeys enter few modules of ours: how many, a profiler counts, so that none grows unseen.

The bodies of functions count, on a second run, when everything is imported. ``docs/journeys.md`` draws each journey.
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec

import pytest

PLAIN = {
    "count": "SELECT category, count(*) AS n FROM detections GROUP BY ALL",
    "rows": "SELECT key, width FROM images WHERE width > 10",
    "nothing": "SELECT 1 AS one",
}
MOST = {"count": 25, "rows": 25, "nothing": 16}


@pytest.fixture
def session(lake):
    with lake.session() as opened:
        yield opened


def entered(run):
    """Modules of ours in which a function runs, the second time."""
    run()
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_flags & 1:  # bodies of classes and modules have no such flag
            name = frame.f_globals.get("__name__", "")
            found.update([name] if name.startswith("counterbalance.") else [])

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_query(session, name):
    modules = entered(lambda: session.sql(PLAIN[name]).to_arrow())
    assert len(modules) <= MOST[name], sorted(modules)
    assert not [m for m in modules if m.startswith("counterbalance.udfs")]


def test_an_audit(session):
    call = {"groups": "caption_gender", "terms": "(SELECT 'people' AS class, 'man' AS term)", "min_count": 0}
    assert session.audit("crime_words", **call).fetchall()
    modules = entered(lambda: session.audit("crime_words", **call).to_arrow())
    assert len(modules) <= 60, sorted(modules)


def test_a_refresh(lake):
    lake.sql("ALTER TABLE captions ADD COLUMN loud AS (upper(text))").to_arrow()
    modules = entered(lambda: lake.refresh("captions.loud", full=True, executor="inline"))
    assert len(modules) <= 52, sorted(modules)


def test_an_ingest(lake, build):
    modules = entered(lambda: lake.ingest({"images": build.images(image_id=[91], key=["new"])}))
    assert len(modules) <= 25, sorted(modules)


def test_modules_of_the_pictures_are_there(project_root):
    text = (project_root / "docs" / "journeys.md").read_text()
    found = set(re.findall(r"\bengine\.([a-z_.]+[a-z_])\b", text))
    assert len(found) > 20
    assert not [name for name in found if find_spec(f"counterbalance.engine.{name}") is None]

"""What is closed and lies open, in a lake of an earlier release, is told by status and moved by whoever writes next."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path

import pytest

from counterbalance.__main__ import main
from counterbalance.engine.catalog import meta, runs
from counterbalance.engine.store import tables

MESSAGE = "ValueError: MARKtold of a row"


@pytest.fixture
def earlier(closed):
    """The closed lake as the release before made it: everything beside the open tables, with the values in errors and codes."""
    path = closed.location.path
    for table in ("pg", "captions"):
        (path / f"sensitive/tables/{table}.lance").rename(path / f"{table}.lance")
    (path / "sensitive/tables").rmdir()
    for name, changes in (("codes", {}), ("errors", {"message": MESSAGE})):
        rows = meta.read(closed.location, name, closed=True).to_pylist()
        assert rows
        meta.write(closed.location, name, [{**row, **changes} for row in rows])
        tables.drop(closed.location, meta.stored(name, closed=True))
    runs.Run(closed.location, "refresh", "pg").note("failed", counts={}, details=MESSAGE)
    left = path / "refresh/captions.perceived_gender/0123456789abcdef-00000000"
    left.mkdir(parents=True)
    (left / "f0.arrows").write_bytes(b"MARK")
    return closed


def open_values(lake):
    walked = [(place, files) for place, _, files in os.walk(lake.location.path) if "/sensitive" not in place]
    files = [Path(place) / file for place, files in walked for file in files if not place.endswith(".readers")]
    return [str(p) for p in files if b"MARK" in p.read_bytes()]


WRITERS = {
    "refresh": lambda lake, _: lake.refresh(executor="inline"),
    "ingest": lambda lake, build: lake.ingest({"images": build.images(image_id=[99], key=["99"])}),
    "gc": lambda lake, _: lake.gc(older_than=dt.timedelta(0), apply=True),
    "declare": lambda lake, _: lake.add_column("images", "area", "width * height"),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_the_next_writer_moves_it(earlier, build, why, writer):
    assert len(open_values(earlier)) >= 4
    WRITERS[writer](earlier, build)
    assert open_values(earlier) == []
    assert {p.name for p in earlier.location.path.glob("*.lance")} == {"images.lance"}
    assert earlier.sql("SELECT count(*) FROM captions").fetchall() == [(40,)]
    assert earlier.sql("SELECT DISTINCT value FROM pg ORDER BY 1", sensitive=why).fetchall() == [
        ("MARKlabel0",),
        ("MARKlabel1",),
    ]
    assert "MARK" not in str(earlier.sql("FROM meta.errors").fetchall())
    runs = earlier.sql("SELECT kind, details FROM meta.runs").fetchall()
    assert ("refresh", "its text is hidden: it may hold closed values") in runs
    assert [kind for kind, _ in runs][:2] == ["ingest", "declare"]


def test_it_is_closed_before_that(earlier):
    assert "perceived_gender" not in earlier.sql("FROM captions").columns
    found = earlier.sql("SELECT label, count FROM demographics(image_labels('perceived_gender'))").fetchall()
    assert sorted(found) == [("MARKlabel0", 20), ("MARKlabel1", 20)]


def test_status_says_so(earlier, capsys):
    main(["status", earlier.uri])
    assert "captions, pg" in capsys.readouterr().err
    earlier.refresh(executor="inline")
    main(["status", earlier.uri])
    assert capsys.readouterr().err == ""


def test_codes_that_were_copied_before_a_kill_count_once(earlier, build, monkeypatch, why):
    with monkeypatch.context() as patch:
        overwrite = tables.overwrite
        patch.setattr(tables, "overwrite", lambda *given: _killed() if "meta/codes" in given else overwrite(*given))
        with pytest.raises(OSError, match="killed"):
            earlier.refresh(executor="inline")
    counts = earlier.sql("SELECT value, count(*) FROM labels GROUP BY 1 ORDER BY 1", sensitive=why).fetchall()
    assert counts == [("MARKlabel0", 20), ("MARKlabel1", 20)]
    WRITERS["ingest"](earlier, build)
    assert open_values(earlier) == []
    counts = earlier.sql("SELECT value, count(*) FROM labels GROUP BY 1 ORDER BY 1", sensitive=why).fetchall()
    assert counts == [("MARKlabel0", 20), ("MARKlabel1", 20)]


def _killed():
    raise OSError("killed")

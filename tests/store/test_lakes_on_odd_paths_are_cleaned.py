"""Tagging, clean-up and deletion work wherever a lake lies, and leave nothing beside it."""

from __future__ import annotations

import datetime as dt

import pytest
from repeats import again

import counterbalance as cb
from counterbalance.engine.store import tables

NAMES = ["a b.lake", "100%25.lake", "a#b?.lake", "açé✓.lake", "a[1]*{b}.lake", 'it\'s "q".lake', "a:b.lake"]
ALL = '100%25 a#b?é✓[1]*{b}it\'s "q":b.lake'
"""All of these marks in one name."""


def used(lake, build):
    ids = list(range(20))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"key{i}" for i in ids], image=[b"picture %d" % i for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"mark{i:03}" for i in ids]),
            "labels": build.labels(label_id=[1], image_id=[9], attribute=["gender"], value=["x"]),
        }
    )
    lake.add_column("captions", "shout", "upper(text)")
    lake.create_index("captions", "text", "btree", name="words")
    lake.refresh()
    lake.tag("paper")
    tables.delete(lake.location, "captions", "caption_id = 7")
    assert lake.gc(dt.timedelta(0), apply=True).findings
    assert lake.sql("SELECT count(*) FROM captions", at="paper").fetchall() == [(20,)]
    assert lake.delete(ids=["key9"], apply=True, purge=True, drop_tags=["paper"]).complete
    assert lake.sql("SELECT count(*), count(shout) FROM captions").fetchall() == [(18, 18)]
    lake.gc(dt.timedelta(0), apply=True)
    assert lake.gc(dt.timedelta(0)).findings == ()


def left(folder):
    marks = [b"mark007", b"mark009", b"MARK009", b"picture 9"]
    return [f for f in folder.rglob("*") if f.is_file() and any(m in f.read_bytes() for m in marks)]


@pytest.mark.parametrize("scheme", ["", "file://"])
@pytest.mark.parametrize("name", [ALL, *again(*NAMES)])
def test_a_folder_of_any_name(name, scheme, tmp_path, build):
    used(cb.connect(f"{scheme}{tmp_path / name}"), build)
    assert [p.name for p in tmp_path.iterdir()] == [name]
    assert left(tmp_path) == []


@pytest.mark.parametrize(
    "uri", ["./relative.lake/", "link/in.lake", "link/../x", *again("relative.lake", "{}/slash.lake/", "link")]
)
def test_a_path_of_any_form(uri, tmp_path, monkeypatch, build):
    here, there = tmp_path / "here", tmp_path / "there" / "real"
    here.mkdir()
    there.mkdir(parents=True)
    (here / "link").symlink_to(there)
    monkeypatch.chdir(here)
    lake = cb.connect(uri.format(here))
    used(lake, build)
    assert left(tmp_path) == []
    places = {p.parents[1] for p in tmp_path.rglob("meta/runs.lance")} | {
        p.parent for p in tmp_path.rglob("images.lance")
    }
    assert len(places) == 1

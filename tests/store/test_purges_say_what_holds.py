"""A purge that something holds back says what, removes the rest, and goes on when it is asked again."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine import functions
from counterbalance.engine.errors import NotFoundError


def files_with(lake, marker):
    return [f for f in lake.location.path.rglob("*") if f.is_file() and marker.encode() in f.read_bytes()]


@pytest.fixture
def filled(disk_lake, build):
    ids = list(range(40))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[f"mkkey{i:03}" for i in ids]),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"mktext{i:03} xyz" for i in ids]),
        }
    )
    return disk_lake


def test_a_tag_is_named_and_given_up_when_told(filled):
    filled.tag("paper")
    planned = filled.delete(ids=[7], purge=True)
    assert [h.split(" ")[:2] for h in planned.held] == [["tag", "paper"]]
    report = filled.delete(ids=[7], apply=True, purge=True, wait=0)
    assert (report.complete, report.busy, len(report.held)) == (False, False, 1)
    assert "--drop-tag paper" in report.held[0]
    assert filled.sql("SELECT count(*) FROM captions", at="paper").fetchall() == [(40,)]
    assert files_with(filled, "mktext007")
    again = filled.delete(apply=True, purge=True, drop_tags=["paper"], wait=0)
    assert (again.complete, again.held) == (True, ())
    assert files_with(filled, "mktext007") == []
    with pytest.raises(NotFoundError, match="no tag 'paper'"):
        filled.sql("SELECT 1", at="paper")
    with pytest.raises(NotFoundError, match="no tag 'paper'"):
        filled.delete(apply=True, purge=True, drop_tags=["paper"])


def test_a_tag_that_has_none_of_them_is_let_be(filled, build):
    filled.tag("before")
    filled.ingest({"images": build.images(image_id=[99], key=["mkkey099"])})
    assert filled.delete(ids=[99], apply=True, purge=True).complete
    assert filled.sql("SELECT count(*) FROM images", at="before").fetchall() == [(40,)]
    assert files_with(filled, "mkkey099") == []


def test_an_open_reader_is_named_and_goes_on_reading(filled):
    with filled.session() as reader:
        report = filled.delete(ids=[7], apply=True, purge=True, wait=0)
        assert (report.complete, report.busy) == (False, True)
        assert f"process {os.getpid()}" in report.held[0]
        assert reader.sql("SELECT count(text) FROM captions").fetchall() == [(40,)]
    assert filled.delete(apply=True, purge=True).complete
    assert files_with(filled, "mktext007") == []


def test_a_reader_holds_the_files_that_it_reads(filled):
    filled.delete(ids=[7], apply=True)
    with filled.session() as reader:
        assert filled.delete(apply=True, purge=True, wait=0).busy
        assert reader.sql("SELECT count(text) FROM captions").fetchall() == [(39,)]
    with filled.session() as reader:
        assert filled.delete(apply=True, purge=True, wait=0).complete
        assert reader.sql("SELECT count(text) FROM captions").fetchall() == [(39,)]
    assert files_with(filled, "mktext007") == []


def test_a_view_that_cannot_be_refreshed_holds(filled):
    known = functions._registry

    @cb.udf(returns=pa.string(), name="louder_here", parameters={"text": pa.string()}, version="1")
    def louder(text):
        return text

    filled.create_materialized_view(
        "heads", "SELECT left(louder_here(text), 6) AS head, max(text) AS t FROM captions GROUP BY 1", "head"
    )
    filled.refresh()
    made = known.pop("louder_here")
    report = filled.delete(ids=[39], apply=True, purge=True)
    assert report.complete is False
    assert "view heads" in report.held[0]
    known["louder_here"] = made
    assert filled.delete(apply=True, purge=True).complete
    known.pop("louder_here")
    assert files_with(filled, "mktext039") == []


def test_a_second_purge_has_nothing_to_do(filled):
    filled.create_index("captions", "text", "btree", name="words")
    filled.refresh()
    assert filled.delete(ids=[7], apply=True, purge=True).complete

    def files():
        table = filled.location.path / "captions.lance"
        return sorted(p for folder in ("data", "_indices") for p in (table / folder).rglob("*"))

    before = files()
    assert filled.delete(apply=True, purge=True).complete
    assert files() == before

"""A tag names one version of every table, for ever."""

from __future__ import annotations

import pytest

from counterbalance.engine.errors import NotFoundError, RequestError


def rows(build, *ids):
    return {"images": build.images(image_id=list(ids), split=["s"] * len(ids), key=[str(i) for i in ids])}


def test_reads_what_was_there(disk_lake, build):
    disk_lake.ingest(rows(build, 1, 2))
    disk_lake.tag("two")
    disk_lake.ingest(rows(build, 3) | {"captions": build.captions(caption_id=[1], image_id=[3])})
    disk_lake.ingest({"images": build.images(image_id=[1], key=["changed"], split=["other"])})
    with disk_lake.session(at="two") as session:
        assert session.sql("SELECT image_id, key, split FROM images ORDER BY 1").fetchall() == [
            (1, "1", "s"),
            (2, "2", "s"),
        ]
        assert session.sql("SELECT count(*) FROM captions").fetchall() == [(0,)]
        assert session.sql("SELECT split, count(*) FROM images GROUP BY 1").fetchall() == [("s", 2)]
    assert disk_lake.sql("SELECT count(*) FROM images").fetchall() == [(3,)]


def test_is_listed(disk_lake, build):
    disk_lake.ingest(rows(build, 1))
    disk_lake.tag("first-one_1.0")
    assert disk_lake.sql("SELECT name, versions FROM meta.tags").fetchall() == [("first-one_1.0", '{"images": 1}')]


def test_survives_lance_clean_up(disk_lake, build):
    import datetime as dt

    import lance

    disk_lake.ingest(rows(build, 1, 2))
    disk_lake.tag("two")
    disk_lake.ingest({"images": build.images(image_id=[1], key=["changed"])})
    dataset = lance.dataset(disk_lake.location.table("images"))
    dataset.cleanup_old_versions(older_than=dt.timedelta(0), error_if_tagged_old_versions=False)
    assert disk_lake.sql("SELECT key FROM images ORDER BY 1", at="two").fetchall() == [("1",), ("2",)]


def test_never_moves(disk_lake, build):
    disk_lake.ingest(rows(build, 1))
    disk_lake.tag("a")
    disk_lake.ingest(rows(build, 2))
    with pytest.raises(RequestError, match="taken"):
        disk_lake.tag("a")
    assert disk_lake.sql("SELECT count(*) FROM images", at="a").fetchall() == [(1,)]


@pytest.mark.parametrize("name", ["", "2026-01-01", "a b", "a/b", "../a", "'", "é\n", "1st"])
def test_odd_names_are_refused(disk_lake, build, name):
    disk_lake.ingest(rows(build, 1))
    with pytest.raises(RequestError, match="a tag is letters"):
        disk_lake.tag(name)


def test_an_unknown_tag_names_the_known_ones(disk_lake, build):
    disk_lake.ingest(rows(build, 1))
    disk_lake.tag("known")
    with pytest.raises(NotFoundError, match="no tag 'unknown'") as caught:
        disk_lake.sql("SELECT 1", at="unknown")
    assert "known" in caught.value.hint


def test_a_lake_that_is_not_there_is_no_question_of_tags(disk_lake):
    with pytest.raises(NotFoundError, match="no lake at"):
        disk_lake.sql("SELECT 1", at="a")


def test_a_tag_that_was_killed_halfway_is_completed(disk_lake, build, monkeypatch):
    """Lance's own tags are set before the one that names them all."""
    from counterbalance.engine.catalog import meta

    def killed(*_):
        raise KeyboardInterrupt

    disk_lake.ingest(rows(build, 1))
    with monkeypatch.context() as patch:
        patch.setattr(meta, "write", killed)
        with pytest.raises(KeyboardInterrupt):
            disk_lake.tag("x")
    with pytest.raises(NotFoundError):
        disk_lake.sql("SELECT 1", at="x")
    disk_lake.tag("x")
    assert disk_lake.sql("SELECT count(*) FROM images", at="x").fetchall() == [(1,)]


def test_tags_of_other_tools_stay_theirs(disk_lake, build):
    import lance

    disk_lake.ingest(rows(build, 1))
    lance.dataset(disk_lake.location.table("images")).tags.create("theirs", 1)
    disk_lake.ingest(rows(build, 2))
    with pytest.raises(RequestError, match="table 'images' has a tag 'theirs' of its own") as caught:
        disk_lake.tag("theirs")
    assert caught.value.code == "E3012"
    assert lance.dataset(disk_lake.location.table("images"), version="theirs").version == 1

"""Perceived labels of another moment are not counted without a purpose: two moments differ by the few images between them."""

from __future__ import annotations

import datetime as dt

import pytest

from counterbalance.engine.errors import SensitiveError

CALL = "FROM demographics(groups := image_labels('{}'))"


@pytest.fixture
def grown(disk_lake, build):
    ids = list(range(60))
    disk_lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(
                label_id=list(range(120)),
                image_id=ids * 2,
                attribute=["perceived_gender"] * 60 + ["scene"] * 60,
                value=["female", "male"] * 30 + ["sea", "city"] * 30,
            ),
        }
    )
    disk_lake.tag("before")
    disk_lake.ingest(
        {
            "images": build.images(image_id=[60], key=["60"]),
            "labels": build.labels(label_id=[120], image_id=[60], attribute=["perceived_gender"], value=["male"]),
        }
    )
    return disk_lake


def test_refused(grown):
    with grown.session(at="before") as session, pytest.raises(SensitiveError) as caught:
        session.sql(CALL.format("perceived_gender")).fetchall()
    assert (caught.value.code, "--sensitive" in caught.value.hint) == ("E3325", True)


def test_nor_beside_today(grown):
    """The past of a lake that is attached, be it this one, is the past as well."""
    grown.create_materialized_view(
        "g", "SELECT image_id, label FROM image_labels('perceived_gender')", "image_id", purpose="a test"
    )
    grown.refresh("g", executor="inline")
    grown.tag("made")
    call = "FROM compare_demographics(groups := g, others := b.g)"
    with pytest.raises(SensitiveError, match="of one lake beside each other"):
        grown.sql(call, attach={"b": grown.uri}).fetchall()
    for at in ("made", dt.datetime.now(dt.UTC).isoformat()):
        with pytest.raises(SensitiveError) as caught:
            grown.sql(call, attach={"b": f"{grown.uri}@{at}"}).fetchall()
        assert caught.value.code == "E3325"
    with grown.session(sensitive="a test", attach={"b": f"{grown.uri}@made"}) as session:
        assert session.sql(call).fetchall()


def test_with_a_purpose(grown):
    with grown.session(at="before", sensitive="a test") as session:
        rows = session.sql(CALL.format("perceived_gender")).fetchall()
    assert [row[:2] for row in rows] == [("female", 30), ("male", 30)]


def test_open_labels(grown):
    with grown.session(at="before") as session:
        rows = session.sql(CALL.format("scene")).fetchall()
    assert [row[:2] for row in rows] == [("city", 30), ("sea", 30)]

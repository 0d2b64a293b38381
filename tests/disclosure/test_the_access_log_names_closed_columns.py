"""A line of the access log names the closed relations and columns that were read, in the lake that they are of."""

from __future__ import annotations

import pytest

from counterbalance.engine.catalog import access


def columns_of(lake, sql, why, **options):
    before = access.read(lake.location).num_rows
    with lake.session(sensitive=why, **options) as session:
        session.sql(sql).fetchall()
    return {tuple(e["columns"]) for e in access.read(lake.location).to_pylist()[before:]}


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT value FROM labels WHERE label_id = 3", ("labels",)),
        ("SELECT count(*) FROM pg", ("pg",)),
        ("SELECT count(*), max(text) FROM captions", ()),
        ("SELECT max(Perceived_Gender) FROM captions", ("captions.perceived_gender",)),
        ("SELECT caption_id FROM captions WHERE perceived_gender IS NULL", ("captions.perceived_gender",)),
        ("FROM captions", ("captions.perceived_gender",)),
        ("SELECT captions FROM captions", ("captions.perceived_gender",)),
        ("SELECT COLUMNS('perceived.*') FROM captions", ("captions.perceived_gender",)),
        ("EXPLAIN ANALYZE SELECT max(perceived_gender) FROM captions", ("captions.perceived_gender",)),
        ("SELECT shout, text FROM pg JOIN captions USING (image_id) JOIN labels USING (image_id)", ("labels", "pg")),
        ("SELECT * FROM image_labels('perceived_gender')", ("labels",)),
        ("SELECT attribute, count(*) FROM labels GROUP BY 1", ("labels",)),
        ("SELECT count(*) FROM images", ()),
        ("FROM meta.access", ("meta.access",)),
    ],
)
def test_what_is_read(closed, why, sql, expected):
    assert columns_of(closed, sql, why) == {expected}


def test_an_attached_lake_logs_its_own(closed, why, empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["1"])})
    with empty_lake.session(sensitive=why, attach={"other": closed}) as session:
        session.sql("SELECT max(perceived_gender) FROM other.captions").fetchall()
        session.sql("SELECT count(*) FROM other.pg").fetchall()
        session.sql("SELECT count(*) FROM other.images").fetchall()
    own = access.read(empty_lake.location).to_pylist()
    others = [e["columns"] for e in access.read(closed.location).to_pylist() if "other." in e["sql"]]
    assert {tuple(e["columns"]) for e in own} == {()}
    assert others == [["captions.perceived_gender"]] * 2 + [["pg"]] * 2


def test_the_chain_holds(closed, why):
    columns_of(closed, "FROM captions", why)
    assert access.verify(closed.location) == []


def test_the_line_with_the_rows_of_an_audit_names_what_it_read(closed, why):
    before = access.read(closed.location).num_rows
    found = closed.sql("FROM demographics(groups := image_labels('perceived_gender'))", sensitive=why)
    rows = len(found.fetchall())
    told = [
        (e["rows"], e["columns"]) for e in access.read(closed.location).to_pylist()[before:] if e["rows"] is not None
    ]
    assert told == [(rows, ["labels"])]

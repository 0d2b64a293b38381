"""A generated column is declared at once: its definition is kept, its values are NULL until the next refresh."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.catalog import ddl, definitions, system
from counterbalance.engine.catalog.closed import Closed
from counterbalance.engine.errors import SqlError
from counterbalance.engine.schema import STAMP_SUFFIX
from counterbalance.engine.sql.statements import read
from counterbalance.engine.store import tables


def add(lake, text):
    return ddl.add_column(lake.location, read(text))


def schema(lake, table):
    return tables.open_table(lake.location, table).schema


def test_definition_is_kept(lake):
    new = add(lake, "ALTER TABLE captions ADD COLUMN mood AS (vader(text) /* why */) WITH (schedule = '@daily')")
    assert (new.target, new.sql, new.schedule) == ("captions.mood", "vader(text) /* why */", "@daily")
    assert new.reads == (("captions", "text"),)
    assert definitions.load(lake.location).by_target == {"captions.mood": new}


def test_column_and_stamp_are_there_and_null(lake):
    before = tables.latest_version(lake.location, "captions")
    add(lake, "ALTER TABLE captions ADD COLUMN size AS (length(text) + image_id)")
    assert tables.latest_version(lake.location, "captions") == before + 1
    stored = tables.open_table(lake.location, "captions").to_table(columns=["size", "size" + STAMP_SUFFIX])
    assert [c.null_count for c in stored.columns] == [8, 8]
    assert lake.sql("SELECT count(*) AS n, count(size) AS filled FROM captions").fetchall() == [(8, 0)]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("length(text)", pa.int64()),
        ("similarity * 2", pa.float32()),
        ("text || '!'", pa.string()),
        ("string_split(text, ' ')", pa.list_(pa.string())),
        ("{'a': image_id, 'b': text}", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("vader(text)", pa.float64()),
        ("similarity::DECIMAL(9, 3)", pa.float64()),
    ],
)
def test_type_is_that_of_the_expression(lake, expression, kind):
    add(lake, f"ALTER TABLE captions ADD COLUMN c AS ({expression})")
    assert schema(lake, "captions").field("c").type == kind


def test_declared_type_casts(lake):
    new = add(lake, "ALTER TABLE captions ADD COLUMN c FLOAT AS (length(text))")
    assert new.type == "FLOAT"
    assert schema(lake, "captions").field("c").type == pa.float32()


def test_codes_of_the_table_still_hold(lake):
    add(lake, "ALTER TABLE captions ADD COLUMN c AS (1)")
    with lake.session() as session:
        assert "captions" in session._engine.resolver.main.snapshot.coded
    assert lake.sql("SELECT origin, count(*) AS n FROM captions GROUP BY origin ORDER BY origin").fetchall() == [
        ("alt_text", 3), ("generated", 1), ("human", 4)
    ]  # fmt: skip


def test_pictures_may_be_read(lake):
    new = add(lake, "ALTER TABLE images ADD COLUMN size AS (octet_length(image))")
    assert new.reads == (("images", "image"),)


def test_a_column_may_read_a_declared_column(lake):
    add(lake, "ALTER TABLE captions ADD COLUMN a AS (length(text))")
    new = add(lake, "ALTER TABLE captions ADD COLUMN b AS (a * 2)")
    assert new.reads == (("captions", "a"),)
    assert [d.target for d in definitions.load(lake.location).order()] == ["captions.a", "captions.b"]


def test_a_table_without_rows_may_have_columns(empty_lake, build):
    empty_lake.ingest({"images": build.images(image_id=[1], key=["a"])})
    add(empty_lake, "ALTER TABLE captions ADD COLUMN a AS (length(text))")
    add(empty_lake, "ALTER TABLE captions ADD COLUMN b AS (a + 1)")
    empty_lake.ingest({"captions": build.captions(caption_id=[1], image_id=[1], text=["four"])})
    assert [d.target for d in definitions.load(empty_lake.location).order()] == ["captions.a", "captions.b"]
    empty_lake.refresh(executor="inline")
    assert empty_lake.sql("SELECT text, a, b FROM captions").fetchall() == [("four", 4, 5)]


def test_if_not_exists_takes_the_same_expression_only(lake):
    first = add(lake, "ALTER TABLE captions ADD COLUMN c AS (vader(text))")
    versions = (
        tables.latest_version(lake.location, "meta/definitions"),
        tables.latest_version(lake.location, "captions"),
    )
    assert add(lake, "ALTER TABLE captions ADD COLUMN IF NOT EXISTS c AS (VADER( TEXT ) -- same\n)") == first
    with pytest.raises(SqlError, match="another expression: vader"):
        add(lake, "ALTER TABLE captions ADD COLUMN IF NOT EXISTS c AS (vader(text) + 1)")
    with pytest.raises(SqlError, match="another expression"):
        add(lake, "ALTER TABLE captions ADD COLUMN IF NOT EXISTS c FLOAT AS (vader(text))")
    assert versions == (
        tables.latest_version(lake.location, "meta/definitions"),
        tables.latest_version(lake.location, "captions"),
    )


def test_the_journal_says_what_was_declared(lake):
    add(lake, "ALTER TABLE captions ADD COLUMN c AS (1)")
    last = system.relation(lake.location, "runs", {}, Closed()).to_pylist()[-1]
    assert (last["kind"], last["target"], last["mode"], last["state"]) == (
        "declare",
        "captions.c",
        "declared",
        "finished",
    )

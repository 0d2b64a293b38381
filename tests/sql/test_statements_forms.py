"""Every form of the engine's own statements is read as what it says; anything else is left to the session."""

from __future__ import annotations

import pytest

from counterbalance.engine.sql.statements import (
    AddColumn,
    CreateIndex,
    CreateView,
    DropColumn,
    DropIndex,
    DropView,
    Refresh,
    read,
)

FORMS = {
    "ALTER TABLE captions ADD COLUMN mood AS (vader(text))": AddColumn("captions", "mood", None, "vader(text)"),
    "alter table Captions add Mood as (vader(text));": AddColumn("captions", "mood", None, "vader(text)"),
    "ALTER TABLE t ADD COLUMN IF NOT EXISTS c FLOAT[512] AS (f(x)) WITH (schedule = '@daily', sensitive = true)": AddColumn(
        "t", "c", "FLOAT[512]", "f(x)", if_not_exists=True, options={"schedule": "@daily", "sensitive": True}
    ),
    "ALTER TABLE t ADD COLUMN c STRUCT(a INTEGER, b DECIMAL(10, 2)) AS (f(x))": AddColumn(
        "t", "c", "STRUCT(a INTEGER, b DECIMAL(10, 2))", "f(x)"
    ),
    "ALTER TABLE t ADD COLUMN c INTEGER GENERATED ALWAYS AS (a + (b)) STORED": AddColumn(
        "t", "c", "INTEGER", "a + (b)"
    ),
    "ALTER TABLE t ADD COLUMN date AS (1)": AddColumn("t", "date", None, "1"),
    "ALTER TABLE t ADD COLUMN c AS (replace(x, ')', '(''') || \"a)b\")": AddColumn(
        "t", "c", None, "replace(x, ')', '(''') || \"a)b\""
    ),
    "ALTER TABLE t DROP COLUMN c": DropColumn("t", "c"),
    "ALTER TABLE t DROP COLUMN IF EXISTS c CASCADE;": DropColumn("t", "c", if_exists=True, cascade=True),
    "CREATE MATERIALIZED VIEW v WITH (key = 'a, b') AS SELECT a, b FROM t": CreateView(
        "v", "SELECT a, b FROM t", ("a", "b")
    ),
    "CREATE OR REPLACE MATERIALIZED VIEW v WITH (key = 'a', schedule = '0 6 * * *') AS FROM t;": CreateView(
        "v", "FROM t", ("a",), {"schedule": "0 6 * * *"}, replace=True
    ),
    "CREATE MATERIALIZED VIEW IF NOT EXISTS v WITH (sensitive = false, key = 'a') AS (SELECT 1 AS a)": CreateView(
        "v", "(SELECT 1 AS a)", ("a",), {"sensitive": False}, if_not_exists=True
    ),
    "DROP MATERIALIZED VIEW v": DropView("v"),
    "DROP MATERIALIZED VIEW IF EXISTS v CASCADE": DropView("v", if_exists=True, cascade=True),
    "DROP MATERIALIZED VIEW v RESTRICT": DropView("v"),
    "CREATE INDEX ON images (embedding)": CreateIndex(None, "images", None, ("embedding",)),
    "CREATE INDEX IF NOT EXISTS i ON t USING ivf_pq (x) WITH (metric = 'l2', nbits = 8, f = -1.5)": CreateIndex(
        "i", "t", "ivf_pq", ("x",), {"metric": "l2", "nbits": 8, "f": -1.5}, if_not_exists=True
    ),
    "CREATE INDEX i ON t (a, b)": CreateIndex("i", "t", None, ("a", "b")),
    "DROP INDEX i": DropIndex("i"),
    "DROP INDEX IF EXISTS i": DropIndex("i", if_exists=True),
    "REFRESH": Refresh((), all=True),
    "refresh all;": Refresh((), all=True),
    "REFRESH WITH (full = true)": Refresh((), all=True, options={"full": True}),
    "REFRESH MATERIALIZED VIEW v": Refresh(("v",), all=False),
    "REFRESH v, captions.mood, v WITH (retry_errors = true, workers = 2, executor = 'ray', device = 'cpu', batch_size = 64)": Refresh(
        ("v", "captions.mood"),
        all=False,
        options={"retry_errors": True, "workers": 2, "executor": "ray", "device": "cpu", "batch_size": 64},
    ),
}


@pytest.mark.parametrize("text", FORMS)
def test_form(text):
    assert read(text) == FORMS[text]


def test_comments_before_and_between_words_are_passed_over():
    text = "-- a recipe\n/* of\n two lines */ ALTER -- so\n TABLE t ADD COLUMN c AS (1)"
    assert read(text) == AddColumn("t", "c", None, "1")


def test_text_of_an_expression_is_kept_with_its_comments():
    statement = read("ALTER TABLE t ADD COLUMN c AS (\n  vader(text) -- why )\n  /* and ) */ + 1 )")
    assert statement.expression == "vader(text) -- why )\n  /* and ) */ + 1"


def test_text_of_a_select_is_kept_with_its_comments():
    statement = read("CREATE MATERIALIZED VIEW v WITH (key = 'a') AS -- é why\nSELECT a -- this\nFROM t -- end")
    assert statement.select == "-- é why\nSELECT a -- this\nFROM t -- end"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1", "", "  -- nothing", "CREATE TABLE t AS SELECT 1", "CREATE VIEW v AS SELECT 1", "DROP TABLE t", "ALTER VIEW v RENAME TO w",
        "CREATE OR REPLACE VIEW v AS SELECT 1", "WITH refresh AS (SELECT 1) FROM refresh", "SELECT 'REFRESH'", "'REFRESH'", "refreshed",
        "/* REFRESH", "CREATE UNIQUE INDEX i ON t (x)", "DELETE FROM t",
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_session(text):
    assert read(text) is None

"""An audit of perceived labels that declares no cells, or shows rows about single images, needs a purpose, whoever wrote it."""

from __future__ import annotations

import pytest

import counterbalance as cb
from counterbalance.engine.errors import RequestError, SensitiveError
from counterbalance.engine.sql import queries, query_files

PURPOSE = "a test of the wall"
ROWS = "SELECT image_id, attribute, value FROM labels WHERE attribute = 'perceived_gender'"
CELLS = '[[cells]]\ncount = "count"\nof = "n"\nby = ["value"]\n'
COUNTS = "SELECT value, count(*) AS count, CAST(sum(count(*)) OVER () AS BIGINT) AS n{} FROM labels WHERE attribute = 'perceived_gender' GROUP BY value"


@pytest.fixture
def lake(build):
    ids = list(range(1, 41))
    lake = cb.connect("memory://own-audits")
    values = ["rare-secret" if i <= 3 else ("a", "b")[i % 2] for i in ids]
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * 40, value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    return lake


@pytest.fixture
def own(monkeypatch):
    """Let the package that is installed offer one more audit."""

    def add(sql, cells=""):
        header = f'/*--- toml\nanswers = "Mine."\n{cells}---*/\n'
        query = query_files.parse(header + sql, "audit", "mine.sql")
        known = queries.queries()
        monkeypatch.setattr(queries, "queries", lambda: {**known, "mine": query})

    return add


@pytest.mark.parametrize(
    ("sql", "cells"),
    [
        (ROWS, ""),
        (ROWS, '[[cells]]\ncount = "image_id"\n'),
        (COUNTS.format(""), ""),
        (COUNTS.format(", min(image_id) AS image_id"), CELLS),
        (COUNTS.format(", list(image_id) AS who"), CELLS),
    ],
)
def test_refused_without_a_purpose(lake, own, sql, cells):
    own(sql, cells)
    with pytest.raises(SensitiveError) as caught:
        lake.sql("SELECT * FROM mine()").fetchall()
    assert caught.value.code in {"E3322", "E3323"}
    assert lake.sql("SELECT * FROM mine()", sensitive=PURPOSE).fetchall()


def test_its_cells_are_hidden_by_the_engine(lake, own):
    own(COUNTS.format(""), CELLS)
    rows = lake.sql("SELECT value, count, n, suppressed, reason FROM mine() ORDER BY value").fetchall()
    assert rows == [
        ("a", 19, 40, False, None),
        ("b", None, None, True, "confidential"),
        ("rare-secret", None, None, True, "confidential"),
    ]


def test_numbers_that_no_cell_names_are_hidden_too(lake, own):
    own(COUNTS.format(", count(*) / 40 AS share, count(*) * 2 AS twice"), CELLS + 'measures = ["share"]\n')
    rows = lake.sql("SELECT value, count, share, twice FROM mine() ORDER BY value").fetchall()
    assert rows == [("a", 19, 19 / 40, 38), ("b", None, None, None), ("rare-secret", None, None, None)]


def test_parts_of_a_whole_alone_keep_their_rows(lake, own):
    own(COUNTS.format(""), '[[cells]]\ncount = "count"\nof = "n"\nwithin = ["value"]\n')
    rows = lake.sql("SELECT value, count FROM mine() ORDER BY value").fetchall()
    assert rows == [("a", 19), ("b", 18), ("rare-secret", None)]


def test_cells_of_a_column_that_is_not_there_are_an_error(lake, own):
    own("SELECT count(*) AS count FROM images", '[[cells]]\ncount = "count"\nwithin = ["label"]\n')
    with pytest.raises(RequestError, match=r"mine\(\) gives no column 'label'") as caught:
        lake.sql("SELECT * FROM mine()").fetchall()
    assert caught.value.code == "E3030"

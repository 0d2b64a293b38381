"""Rows that a Python user has at hand are read by name in a query, whatever library they come from."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import NotFoundError, RequestError, SqlError

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS = {"image_id": [1, 2, 3], "weight": [0.5, 0.25, 0.0]}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame], ids=["arrow", "pandas", "polars"])
def test_it_is_joined_with_tables_of_the_lake(lake: cb.Lake, make: Callable[[object], object]) -> None:
    found = lake.sql(
        "SELECT image_id, weight FROM images JOIN Mine USING (image_id) WHERE weight > $least ORDER BY 1",
        mine=make(ROWS),
        least=0.1,
    ).fetchall()
    assert found == [(1, 0.5), (2, 0.25)]


def test_a_result_of_a_query_is_one(lake: cb.Lake) -> None:
    first = lake.sql("SELECT count(*) AS n FROM captions")
    assert lake.sql("SELECT n + 1 FROM earlier", earlier=first).fetchall() == [(first.fetchall()[0][0] + 1,)]


def test_audits_and_table_functions_take_it_by_name(lake: cb.Lake) -> None:
    texts = pa.table({"caption_id": [1, 2], "text": ["a dog runs", "a cat sits"]})
    asked = pa.table({"query_id": [7], "text": ["dog"]})
    hits = lake.sql("SELECT query_id, item_id, rank FROM top_k(asked, texts, k := [1])", asked=asked, texts=texts)
    assert hits.fetchall() == [(7, 1, 1)]


def test_it_wins_over_a_stored_table_and_yields_to_an_expression_of_the_query(lake: cb.Lake) -> None:
    own = pa.table({"x": [42]})
    assert lake.sql("SELECT * FROM images", images=own).fetchall() == [(42,)]
    assert lake.sql("WITH own AS (SELECT 1 AS x) SELECT x FROM own", own=own).fetchall() == [(1,)]


def test_it_is_no_value(lake: cb.Lake) -> None:
    with pytest.raises(SqlError, match=r"\$own is a table, not a value") as caught:
        lake.sql("SELECT $own", own=pa.table({"x": [1]}))
    assert caught.value.code == "E3192"
    assert caught.value.hint == "write it without $: FROM own"


def test_other_queries_do_not_know_it(lake: cb.Lake) -> None:
    session = lake.session()
    assert session.sql("SELECT x FROM own", own=pa.table({"x": [1]})).fetchall() == [(1,)]
    with pytest.raises(NotFoundError, match="no table 'own'"):
        session.sql("SELECT x FROM own")


@pytest.mark.parametrize("rows", [[{"a": 1}], {"a": [1]}])
def test_what_is_no_table_is_told(lake: cb.Lake, rows: object) -> None:
    with pytest.raises(RequestError, match=rf"mine is a {type(rows).__name__}, which is not a table") as caught:
        lake.sql("SELECT * FROM mine", mine=rows)
    assert caught.value.hint == "tables are of pyarrow, pandas or polars, or results; a value is asked for as $name"


@pytest.mark.parametrize("name", ["at", "attach", "sensitive", "timeout", "memory", "threads", "max_rows"])
def test_under_the_name_of_a_setting_it_is_given_in_a_mapping(lake: cb.Lake, name: str) -> None:
    own = pd.DataFrame({"x": [1]})
    with pytest.raises(RequestError, match=f"{name} is a setting, and no table") as caught:
        lake.sql(f'SELECT x FROM "{name}"', **{name: own})
    assert "in a mapping" in str(caught.value.hint)
    assert lake.sql(f'SELECT x FROM "{name}"', {name: own}).fetchall() == [(1,)]


@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({"a": [1, "x", None, [2]]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
    ],
    ids=["mixed", "twice"],
)
def test_what_is_no_table_is_named(lake: cb.Lake, rows: pd.DataFrame) -> None:
    with pytest.raises(RequestError, match="cannot be read as a table") as caught:
        lake.sql("SELECT * FROM mine", mine=rows)
    assert caught.value.code == "E3047"
    with pytest.raises(RequestError, match="cannot be read as a table"):
        lake.audit("demographics", groups=rows)


@pytest.mark.parametrize("value", [None, 3, ["captions"]])
def test_a_relation_is_no_value(lake: cb.Lake, value: object) -> None:
    with pytest.raises(RequestError, match=r"'groups' of demographics\(\) is a relation, not a") as caught:
        lake.audit("demographics", groups=value)
    assert caught.value.code == "E3048"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.datetime64("2026-01-02T03:04:05.000000006", "ns"), dt.datetime(2026, 1, 2, 3, 4, 5)),  # noqa: DTZ001 - as NumPy has it
        ([np.int64(1), np.int64(2)], [1, 2]),
        ({1}, [1]),
        (np.arange(3), [0, 1, 2]),
        (pd.Series([1.5, 2.5]), [1.5, 2.5]),
        (pl.Series(["a", "b"]), ["a", "b"]),
        (pa.chunked_array([[1], [2]]), [1, 2]),
    ],
)
def test_values_of_other_libraries_are_values(lake: cb.Lake, value: object, found: object) -> None:
    assert lake.sql("SELECT $v AS v", v=value).fetchall() == [(found,)]
    assert lake.sql("SELECT $v AS v", {"v": value}).fetchall() == [(found,)]

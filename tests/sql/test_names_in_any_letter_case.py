"""Names of tables and columns are found in any letter case, as in DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM Captions",
        "SELECT count(CAPTION_ID) FROM CAPTIONS",
        "SELECT count(*) FROM main.Captions AS c",
        "FROM (SELECT count(*) FROM captions) q",
        "SELECT count(*) FROM Images JOIN Captions USING (Image_Id)",
    ],
)
def test_a_table(lake: Lake, sql: str) -> None:
    assert lake.sql(sql).fetchall() == [(8,)]


def test_a_shipped_view_and_an_audit(lake: Lake) -> None:
    assert lake.sql("SELECT count(*) > 0 FROM Caption_Gender").fetchall() == [(True,)]
    assert lake.sql("SELECT count(*) >= 0 FROM Crime_Words()").fetchall() == [(True,)]


def test_a_table_qualifies_its_columns_as_it_is_written(lake: Lake) -> None:
    assert lake.sql("SELECT min(Captions.caption_id) FROM Captions").fetchall() == [(11,)]
    assert lake.sql("SELECT min(captions.caption_id) FROM Captions").fetchall() == [(11,)]

"""Generated columns and views that hold perceived-demographic labels are shown only in a session with a purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import CounterbalanceError, SensitiveError

if TYPE_CHECKING:
    from counterbalance.engine.lake import Lake

WHY = "audit of a classifier"


@cb.udf(returns=pa.string(), parameters={"text": pa.string()}, version="1")
def perceived_by_words(text: pa.Array) -> list[str]:
    """A stand-in for a classifier."""
    return ["female" if "woman" in (t or "") else "male" for t in text.to_pylist()]


@pytest.fixture
def labelled(lake: Lake) -> Lake:
    lake.add_column("captions", "perceived_gender", "perceived_by_words(text)")
    lake.add_column("captions", "shout", "upper(perceived_gender)", purpose=WHY)
    lake.add_column("captions", "marked", "length(text)", sensitive=True)
    lake.add_column("captions", "plain", "length(text)")
    lake.refresh(executor="inline")
    return lake


def test_stars_do_not_have_them(labelled: Lake) -> None:
    columns = labelled.sql("SELECT * FROM captions").columns
    assert "plain" in columns
    assert not {"perceived_gender", "shout", "marked"} & set(columns)
    assert not {"perceived_gender", "shout", "marked"} & {
        row[0] for row in labelled.sql("DESCRIBE captions").fetchall()
    }


@pytest.mark.parametrize("column", ["perceived_gender", "shout", "marked"])
def test_nor_can_they_be_named(labelled: Lake, column: str) -> None:
    for sql in (
        f"SELECT {column} FROM captions",
        f"SELECT count(*) FROM captions WHERE {column} IS NOT NULL",
        f"SELECT count(*) FROM captions GROUP BY {column}",
        f"SELECT COLUMNS('{column}') FROM captions",
    ):
        with pytest.raises(CounterbalanceError):
            labelled.sql(sql).fetchall()


def test_with_a_purpose_they_are_there_and_it_is_logged(labelled: Lake) -> None:
    found = labelled.sql("SELECT perceived_gender, shout FROM captions WHERE caption_id = 13", sensitive=WHY).fetchall()
    assert found == [("female", "FEMALE")]
    log = labelled.sql("SELECT purpose, sql FROM meta.access", sensitive=WHY).fetchall()
    assert log[0][0] == WHY
    assert "perceived_gender" in log[0][1]


def test_a_view_of_them_is_refused(labelled: Lake) -> None:
    with pytest.raises(CounterbalanceError):
        labelled.create_materialized_view(
            "women", "SELECT caption_id FROM captions WHERE perceived_gender = 'female'", "caption_id"
        )
    assert labelled.sql("SELECT count(*) FROM meta.views").fetchall() == [(0,)]


def test_a_view_that_is_marked_needs_a_purpose(labelled: Lake) -> None:
    labelled.create_materialized_view(
        "marked_view", "SELECT caption_id, text FROM captions", "caption_id", sensitive=True
    )
    labelled.refresh(executor="inline")
    with pytest.raises(SensitiveError, match="marked_view holds perceived-demographic labels") as caught:
        labelled.sql("SELECT * FROM marked_view").fetchall()
    assert caught.value.code == "E3308"
    assert len(labelled.sql("SELECT * FROM marked_view", sensitive=WHY).fetchall()) == 8


def test_no_call_is_answered_from_them(labelled: Lake) -> None:
    plan = labelled.session().explain("SELECT perceived_by_words(text) FROM captions")
    assert "perceived_gender" not in plan

"""What is made of perceived labels is sensitive too, and is declared only with a purpose where rows of them are read."""

from __future__ import annotations

import pytest
from declaring import declare

from counterbalance.engine.catalog import access
from counterbalance.engine.errors import CounterbalanceError, SensitiveError
from counterbalance.engine.schema import is_sensitive

PURPOSE = "a test of declarations"


def view(lake, select, name="v", key="caption_id", **more):
    return declare(lake, f"CREATE MATERIALIZED VIEW {name} WITH (key = '{key}') AS {select}", **more)


@pytest.mark.parametrize(
    ("name", "option", "sensitive"),
    [
        ("gender", "", True),
        ("perceived_race", "", True),
        ("mood", "", False),
        ("mood", "WITH (sensitive = true)", True),
        ("gender", "WITH (sensitive = false)", False),
    ],
)
def test_by_its_name_or_as_it_is_said(lake, name, option, sensitive):
    assert declare(lake, f"ALTER TABLE captions ADD COLUMN {name} AS (length(text)) {option}").sensitive is sensitive


@pytest.mark.parametrize("name", ["Perceived Gender", "skin-tone", " RACE "])
def test_names_in_any_spelling(name):
    assert is_sensitive(name)


def test_a_column_of_a_sensitive_one_is_sensitive_whatever_is_said(lake):
    declare(lake, "ALTER TABLE captions ADD COLUMN gender AS (length(text))")
    assert declare(lake, "ALTER TABLE captions ADD COLUMN a AS (gender + 1)", purpose=PURPOSE).sensitive
    text = "ALTER TABLE captions ADD COLUMN b AS (a + 1) WITH (sensitive = false)"
    assert declare(lake, text, purpose=PURPOSE).sensitive
    assert not declare(lake, "ALTER TABLE captions ADD COLUMN c AS (length(text))").sensitive


def test_a_view_of_a_sensitive_column_needs_a_purpose(lake):
    declare(lake, "ALTER TABLE captions ADD COLUMN gender AS (length(text))")
    with pytest.raises(SensitiveError, match="gender") as caught:
        view(lake, "SELECT caption_id, gender AS g FROM captions")
    assert "--sensitive" in caught.value.hint
    assert view(lake, "SELECT caption_id, gender AS g FROM captions", purpose=PURPOSE).sensitive


def test_a_star_shows_sensitive_columns_with_a_purpose_only(lake):
    declare(lake, "ALTER TABLE captions ADD COLUMN gender AS (length(text))")
    plain = view(lake, "SELECT * FROM captions", "plain")
    closed = view(lake, "SELECT * FROM captions", "closed", purpose=PURPOSE)
    assert (plain.sensitive, ("captions", "gender") in plain.reads) == (False, False)
    assert (closed.sensitive, ("captions", "gender") in closed.reads) == (True, True)


def test_a_sensitive_view_is_closed_to_other_views(lake):
    declare(
        lake,
        "CREATE MATERIALIZED VIEW v WITH (key = 'caption_id', sensitive = true) AS SELECT caption_id FROM captions",
    )
    with pytest.raises(SensitiveError):
        view(lake, "SELECT caption_id FROM v", "w")
    assert view(lake, "SELECT caption_id FROM v", "w", purpose=PURPOSE).sensitive
    twice = "ALTER TABLE v ADD COLUMN twice AS (2 * caption_id)"
    with pytest.raises(SensitiveError):
        declare(lake, twice)
    assert declare(lake, twice, purpose=PURPOSE).sensitive


def test_a_column_of_a_sensitive_one_needs_a_purpose(lake):
    """Which of its rows fail, and whether all do, would answer any question about the labels."""
    declare(lake, "ALTER TABLE captions ADD COLUMN gender AS (length(text))")
    with pytest.raises(SensitiveError, match=r"captions\.gender"):
        declare(
            lake,
            "ALTER TABLE captions ADD COLUMN leak AS (CAST(CASE WHEN gender = 3 THEN 'x' ELSE '1' END AS INTEGER))",
        )


def test_perceived_labels_are_rows_for_a_purpose(lake, build):
    lake.ingest(
        {
            "labels": build.labels(
                label_id=[91, 92],
                image_id=[1, 2],
                attribute=["perceived_gender"] * 2,
                value=["a", "b"],
                annotator=["x"] * 2,
            )
        }
    )
    open_ = view(lake, "SELECT label_id, value FROM labels", "open", "label_id")
    closed = view(lake, "SELECT label_id, value FROM labels", "closed", "label_id", purpose=PURPOSE)
    assert (open_.sensitive, closed.sensitive) == (False, True)
    assert ("sensitive/labels", "*") in closed.reads
    assert ("sensitive/labels", "*") not in open_.reads
    with pytest.raises(CounterbalanceError):
        view(lake, "SELECT image_id, label FROM image_labels('perceived_gender')", "rows", "image_id")


def test_declaring_with_a_purpose_is_logged(lake):
    view(lake, "SELECT caption_id FROM captions", purpose=PURPOSE)
    log = access.read(lake.location).to_pylist()
    assert log
    assert {row["purpose"] for row in log} == {PURPOSE}
    assert access.verify(lake.location) == []

"""Perceived labels that a model makes of pictures are as closed as those that were ingested."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.catalog import ddl
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.functions import Parameter, functions, udf
from counterbalance.engine.sql.statements import read

ASK = "SELECT t_labels('x'::BLOB, '{}') AS label"


@pytest.fixture(autouse=True)
def labelling():
    functions()
    image, attribute = Parameter("image", pa.binary()), Parameter("attribute", pa.string(), constant=True)

    @udf(returns=pa.string(), parameters=[image, attribute], version="1", name="t_labels")
    def t_labels(image, attribute):
        """What a classifier would say."""
        return pa.array([attribute] * len(image))

    @udf(returns=pa.string(), parameters=[Parameter("text", pa.string()), attribute], version="1", name="t_told")
    def t_told(text, attribute):
        """Sees no picture."""
        return pa.array([attribute] * len(text))

    @udf(returns=pa.string(), parameters=[image, Parameter("prompt", pa.string())], version="1", name="t_asked")
    def t_asked(image, prompt):
        """What a multimodal model would answer."""
        return prompt


@pytest.mark.parametrize("attribute", ["perceived_gender", "Skin Tone", "race"])
def test_a_query_makes_them_with_a_purpose_only(lake, attribute):
    with pytest.raises(SensitiveError, match="t_labels") as caught:
        lake.sql(ASK.format(attribute)).fetchall()
    assert caught.value.code == "E3311"
    with lake.session(sensitive="a test of labels") as session:
        assert session.sql(ASK.format(attribute)).fetchall() == [(attribute,)]


def test_so_does_a_question_about_them(lake):
    with pytest.raises(SensitiveError, match="t_asked") as caught:
        lake.sql("SELECT t_asked('x'::BLOB, label_prompt('perceived_gender'))").fetchall()
    assert caught.value.code == "E3311"
    assert lake.sql("SELECT t_asked('x'::BLOB, 'What is it?')").fetchall() == [("What is it?",)]
    assert "gender" in lake.sql("SELECT label_prompt('perceived_gender')").fetchall()[0][0]


def test_other_attributes_and_functions_that_see_no_picture_are_open(lake):
    assert lake.sql(ASK.format("scene")).fetchall() == [("scene",)]
    assert lake.sql("SELECT t_told('a', 'perceived_gender')").fetchall() == [("perceived_gender",)]


@pytest.mark.parametrize(
    ("expression", "option", "sensitive"),
    [
        ("t_labels(image, 'perceived_gender')", "", True),
        ("upper(t_labels(image, 'perceived_gender'))", "", True),
        ("t_labels(image, 'perceived_gender')", "WITH (sensitive = false)", False),
        ("t_labels(image, 'scene')", "", False),
        ("t_told(key, 'perceived_gender')", "", False),
        ("t_asked(image, label_prompt('perceived_gender'))", "", True),
        ("t_asked(image, label_prompt(attribute := 'perceived_gender')[:9])", "", True),
        ("t_asked(image, 'perceived_gender')", "", False),
        ("t_told(label_prompt('perceived_gender'), 'scene')", "", False),
    ],
)
def test_a_column_of_them_is_sensitive_unless_said_otherwise(lake, expression, option, sensitive):
    statement = read(f"ALTER TABLE images ADD COLUMN looks AS ({expression}) {option}")
    assert ddl.add_column(lake.location, statement).sensitive is sensitive

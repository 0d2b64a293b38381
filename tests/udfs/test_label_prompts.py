"""Questions about perceived labels: lists and functions agree, and every option leads back to its label."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import RequestError
from counterbalance.udfs import wordlists
from counterbalance.udfs.models.replies import LETTERS, meant, shuffled
from counterbalance.udfs.prompts import label_options, label_prompt

LABELS = {
    "perceived_gender": ["male", "female", "mixed", "unclear"],
    "perceived_race_ethnicity": [
        "White",
        "Black",
        "East Asian",
        "Latino",
        "Middle Eastern",
        "South Asian",
        "Southeast Asian",
        "unclear",
    ],
}
ROWS = wordlists.wordlist("label_options").to_pylist()


@pytest.mark.parametrize("attribute", LABELS)
def test_options_in_their_order(attribute):
    rows = [row for row in ROWS if row["class"] == attribute]
    assert [row["label"] for row in rows] == LABELS[attribute]
    assert [row["position"] for row in rows] == [str(i + 1) for i in range(len(rows))]
    assert label_options(pa.array([attribute])).to_pylist() == [[row["term"] for row in rows]]


@pytest.mark.parametrize("attribute", LABELS)
def test_a_way_out_is_offered(attribute):
    (prompt,) = label_prompt(pa.array([attribute])).to_pylist()
    out = label_options(pa.array([attribute])).to_pylist()[0][-1]
    assert out.endswith("is unclear / cannot tell / no person visible")
    assert out in prompt


@pytest.mark.parametrize("words", ["ethnicity_terms", "race_keywords"])
def test_labels_are_those_of_the_terms(words):
    terms = {row["class"] for row in wordlists.wordlist(words).to_pylist()}
    assert terms == set(LABELS["perceived_race_ethnicity"]) - {"unclear"}


@pytest.mark.parametrize("attribute", LABELS)
def test_every_option_is_found_by_letter_text_and_label(attribute):
    options = [row["term"] for row in ROWS if row["class"] == attribute]
    for seed in range(20):
        shown = shuffled(options, seed, attribute)
        for letter, option in zip(LETTERS, shown, strict=False):
            for reply in (
                letter,
                f"{letter}.",
                f"({letter})",
                option,
                f"{letter}. {option}",
                f"The answer is {letter}",
            ):
                assert meant(reply, shown) == option
    if attribute == "perceived_race_ethnicity":  # but for South Asian, whose option names countries only
        for option, label in zip(options, LABELS[attribute], strict=True):
            assert meant(label, options) == (None if label in {"South Asian", "unclear"} else option)


def test_in_sql(lake):
    sql = (
        "SELECT label_prompt('perceived_gender') = (SELECT term FROM lists.label_prompts WHERE class = 'perceived_gender')"
        ", len(label_options('perceived_race_ethnicity')), label_prompt(NULL), label_options(NULL)"
    )
    assert lake.sql(sql).fetchall() == [(True, 8, None, None)]


def test_other_attributes():
    with pytest.raises(RequestError, match="did you mean 'perceived_gender'") as error:
        label_prompt(pa.array(["percieved_gender"]))
    assert error.value.code == "E3051"

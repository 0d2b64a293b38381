"""The shipped word lists: their names, columns, sizes, sources, and what holds between them."""

from __future__ import annotations

import pyarrow as pa
import pytest

from counterbalance.engine.errors import NotFoundError
from counterbalance.udfs import wordlists

SIZES = {
    "after_pronouns": 118,
    "coco_categories": 80,
    "countries": 542,
    "crime_words": 109,
    "edit_instructions": 8,
    "ethnicity_terms": 68,
    "gender_gensynth": 44,
    "gender_gensynth_paper": 28,
    "gender_masked": 245,
    "gender_pairs": 138,
    "gender_words": 46,
    "group_words_gender": 74,
    "harmful_labels": 7,
    "group_words_skin_tone": 64,
    "label_options": 12,
    "label_prompts": 2,
    "stop_words": 235,
    "topics": 145,
}


def test_names():
    assert wordlists.names() == sorted(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_form(name):
    table = wordlists.wordlist(name)
    assert table.num_rows == SIZES[name]
    assert table.column_names[0] == "term"
    assert table.num_columns == 1 or table.column_names[1] == "class"
    assert all(field.type == pa.string() for field in table.schema)
    assert table["term"].null_count == 0
    assert len({tuple(row.values()) for row in table.to_pylist()}) == table.num_rows


@pytest.mark.parametrize("name", SIZES)
def test_source(name, project_root):
    lines = wordlists.source(name).splitlines()
    assert any(line.startswith("Source: ") for line in lines)
    assert any(line.startswith("Terms: ") for line in lines)
    assert f"| `{name}` |" in (project_root / "udfs" / "data" / "LICENSES.md").read_text(encoding="utf-8")


def classes(name):
    return {row["term"]: row["class"] for row in wordlists.wordlist(name).to_pylist()}


def test_gendered_lists():
    published, paper, words = map(classes, ("gender_gensynth", "gender_gensynth_paper", "gender_words"))
    assert words == published | paper
    for own, size in ((published, 22), (paper, 14), (words, 23)):
        assert sorted(own.values()) == ["female"] * size + ["male"] * size
    assert set(words) - set(published) == {"boyfriend", "girlfriend"}


def test_pairs_go_both_ways():
    rows = wordlists.wordlist("gender_pairs").to_pylist()
    words = {row["term"]: row["class"] for row in rows}
    assert set(classes("gender_words").items()) <= set(words.items()) <= set(classes("gender_masked").items())
    assert all(words[row["counterpart"]] != row["class"] for row in rows)
    back = {(row["counterpart"], row["term"]) for row in rows}
    assert all((row["term"], row["counterpart"]) in back for row in rows)
    assert all(row["neutral"] not in words for row in rows)
    assert {row["term"] for row in rows if row["use"]} == {"his", "her"}


def test_neutral_words_are_the_published_ones():
    published = {row["term"]: row["neutral"] for row in wordlists.wordlist("gender_gensynth").to_pylist()}
    own = {(row["term"], row["neutral"]) for row in wordlists.wordlist("gender_pairs").to_pylist()}
    assert set(published.items()) <= own


def test_six_classes_of_crime():
    assert set(classes("crime_words").values()) == {"violence", "property", "fraud", "cyber", "organized", "general"}


def test_unknown_list():
    with pytest.raises(NotFoundError, match="did you mean 'gender_words'") as error:
        wordlists.wordlist("gender_word")
    assert error.value.code == "E1011"
    with pytest.raises(NotFoundError):
        wordlists.source("../secret")

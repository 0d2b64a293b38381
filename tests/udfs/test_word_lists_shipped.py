"""The shipped word lists: their names, columns, sizes, sources, and what holds between them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest

from counterbalance.engine.errors import NotFoundError
from counterbalance.udfs import wordlists

SIZES = {
    "after_pronouns": 118,
    "coco_categories": 80,
    "countries": 542,
    "crime_words": 71,
    "crime_words_broad": 109,
    "edit_instructions": 8,
    "ethnicity_terms": 68,
    "gelda_attributes": 300,
    "gelda_templates": 5,
    "gender_gensynth": 44,
    "gender_gensynth_paper": 28,
    "gender_masked": 661,
    "gender_context": 1_581,
    "gender_words": 621,
    "group_words_gender": 330,
    "harmful_labels": 7,
    "hirota_objects": 177,
    "group_words_skin_tone": 320,
    "label_options": 12,
    "label_prompts": 2,
    "race_keywords": 280,
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
    lines = wordlists.wordlist(name).schema.metadata[b"source"].decode().splitlines()
    assert any(line.startswith("Source: ") for line in lines)
    assert any(line.startswith("Terms: ") for line in lines)
    assert f"| `{name}` |" in (project_root / "udfs" / "data" / "LICENSES.md").read_text(encoding="utf-8")


def classes(name):
    return {row["term"]: row["class"] for row in wordlists.wordlist(name).to_pylist()}


def test_gendered_lists():
    published, paper, words = map(classes, ("gender_gensynth", "gender_gensynth_paper", "gender_words"))
    assert set((published | paper).items()) <= set(words.items())
    for own, size in ((published, 22), (paper, 14)):
        assert sorted(own.values()) == ["female"] * size + ["male"] * size
    assert set(paper) - set(published) == {"boyfriend", "girlfriend"}


def test_counterparts_are_of_the_other_gender_or_of_none():
    rows = wordlists.wordlist("gender_words").to_pylist()
    words = {row["term"]: row["class"] for row in rows}
    assert all(words.get(row["counterpart"]) != row["class"] for row in rows)
    assert all(row["neutral"] not in words for row in rows)
    assert {row["term"] for row in rows if row["use"]} == {"his", "her"}
    published = wordlists.wordlist("gender_gensynth").to_pylist()
    back = {(row["counterpart"], row["term"]) for row in rows}
    assert all(
        (row["term"], row["counterpart"]) in back for row in rows if row["term"] in {p["term"] for p in published}
    )


def test_every_gendered_word_is_masked():
    assert set(classes("gender_words").items()) <= set(classes("gender_masked").items())


def test_phrases_hold_a_gendered_word():
    words = classes("gender_words")
    rows = wordlists.wordlist("gender_context").to_pylist()
    phrases = [row["term"].split() for row in rows if row["class"] == "phrase"]
    assert all(any(word in words for word in phrase) and len(phrase) > 1 for phrase in phrases)


def test_neutral_words_are_the_published_ones():
    published = {row["term"]: row["neutral"] for row in wordlists.wordlist("gender_gensynth").to_pylist()}
    own = {(row["term"], row["neutral"]) for row in wordlists.wordlist("gender_words").to_pylist()}
    assert set(published.items()) <= own


def test_six_classes_of_crime():
    """Table 2 of Girrbach et al. (2025), as it is printed."""
    sizes = Counter(row["class"] for row in wordlists.wordlist("crime_words").to_pylist())
    assert sizes == {"general": 17, "persons": 12, "property": 7, "financial": 14, "cyber": 5, "legal": 16}
    assert {"gang-related", "battery", "ponzi-scheme", "recidivism"} <= set(classes("crime_words"))


def test_objects_are_those_of_the_categories():
    """Hirota et al. (2024) keep 51 of COCO's 80 and 126 of Open Images."""
    kept = wordlists.wordlist("hirota_objects").to_pylist()
    assert Counter(row["class"] for row in kept) == {"COCO": 51, "OpenImages": 126}
    assert {row["term"] for row in kept if row["class"] == "COCO"} <= set(classes("coco_categories")) - {"person"}


def test_proposals_fit_the_templates():
    """Ten categories of five attributes for six datasets, each with a template that exists or none."""
    rows = wordlists.wordlist("gelda_attributes").to_pylist()
    assert set(Counter((row["dataset"], row["class"]) for row in rows).values()) == {5}
    assert set(Counter(row["dataset"] for row in rows).values()) == {50}
    assert {row["template"] for row in rows if row["template"]} <= set(classes("gelda_templates").values())


def test_unknown_list():
    with pytest.raises(NotFoundError, match="did you mean 'gender_words'") as error:
        wordlists.wordlist("gender_word")
    assert error.value.code == "E1011"
    with pytest.raises(NotFoundError):
        wordlists.wordlist("../secret")

"""Concept relations: words, categories, labels, terms and countries, each once an image."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest


def concepts(lake, call):
    return lake.sql(f"SELECT image_id, concept FROM {call} ORDER BY 1, 2").fetchall()


@pytest.fixture
def texts(empty_lake, build):
    empty_lake.ingest(
        {
            "images": build.images(image_id=[1, 2, 3]),
            "captions": build.captions(
                caption_id=[1, 2, 3, 4],
                image_id=[1, 1, 2, 3],
                text=["A dog's life, a dog", "The DOG_2 na\u00efve", "A thief looting in Germany", None],
            ),
        }
    )
    return empty_lake


def test_words(texts):
    found = concepts(texts, "word_concepts")
    rows = texts.sql("SELECT image_id, text FROM captions WHERE text IS NOT NULL").fetchall()
    assert found == sorted({(i, word) for i, text in rows for word in re.findall(r"\w+", text.lower())})
    assert (1, "na\u00efve") in found


def test_words_of_captions(texts):
    found = concepts(texts, "word_concepts((SELECT caption_id AS image_id, text FROM captions))")
    assert [c for i, c in found if i == 2] == ["dog_2", "na\u00efve", "the"]


def test_terms(texts):
    words = pa.table({"term": ["loot", "thief", "dog", "whale"]})
    with texts.session() as session:
        found = session.sql(
            f"SELECT image_id, concept FROM term_concepts({session.bind('words', words)}) ORDER BY 1, 2"
        )
        assert found.fetchall() == [(1, "dog"), (2, "loot"), (2, "thief")]


def test_countries(texts):
    assert concepts(texts, "country_concepts") == [(2, "Germany")]


def test_categories_and_labels(lake):
    assert concepts(lake, "category_concepts") == [(1, "horse"), (1, "person"), (2, "person"), (4, "person")]
    assert concepts(lake, "label_concepts('scene')") == [(1, "outdoor"), (2, "indoor"), (3, "outdoor"), (4, "indoor")]
    assert concepts(lake, "label_concepts('scene', annotator := 'ann')") == [(1, "outdoor"), (2, "indoor")]

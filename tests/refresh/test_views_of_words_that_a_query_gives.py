"""A materialized view may call a function with a constant that a query gives, such as words; other words make it stale."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.store import tables

TEXTS = ["a thief", "a murder in the park", "two dogs", "a thief and his dog"]


@pytest.fixture
def lake(tmp_path, build):
    made = cb.connect(tmp_path / "words.lake")
    ids = list(range(len(TEXTS)))
    captions = build.captions(caption_id=ids, image_id=ids, text=TEXTS)
    made.ingest({"images": build.images(image_id=ids, key=[str(i) for i in ids]), "captions": captions})
    tables.append(made.location, "words", pa.table({"term": ["thief"]}))
    return made


def rows(lake):
    return lake.sql("SELECT image_id, concept FROM found ORDER BY 1, 2").fetchall()


@pytest.mark.parametrize("words", ["words", "(SELECT term FROM words)"])
def test_words_of_a_table(lake, words):
    lake.create_materialized_view("found", f"SELECT * FROM term_concepts({words})", ["image_id", "concept"])
    assert lake.refresh(executor="inline").stages[0].mode == "rebuild"
    assert rows(lake) == [(0, "thief"), (3, "thief")]
    assert lake.refresh(executor="inline").mode == "no_op"
    tables.append(lake.location, "words", pa.table({"term": ["dog"]}))
    assert [s.target for s in lake.refresh(executor="inline").stages if s.written] == ["found"]
    assert rows(lake) == [(0, "thief"), (2, "dog"), (3, "dog"), (3, "thief")]


def test_words_of_a_list(lake):
    call = "term_concepts((SELECT term FROM lists.crime_words WHERE class = 'general'))"
    lake.create_materialized_view("found", f"SELECT * FROM {call}", ["image_id", "concept"])
    lake.refresh(executor="inline")
    assert rows(lake) == [(0, "thief"), (3, "thief")]
    assert lake.refresh(executor="inline").mode == "no_op"

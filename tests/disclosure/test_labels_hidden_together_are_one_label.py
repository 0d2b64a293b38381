"""What few images of all hidden labels have, or lack, is told of no label: it would be what open tables count, less what is shown."""

from __future__ import annotations

import pytest

import counterbalance as cb

G = "groups := image_labels('perceived_gender')"
CALLS = {
    "cooccurrence": f"cooccurrence({G}, concepts := word_concepts) WHERE concept = 'thief'",
    "keyword_profile": f"keyword_profile({G}) WHERE keyword = 'thief'",
    "concept_ratio": f"concept_ratio({G}, label := 'a', against := 'b', concepts := word_concepts) WHERE concept = 'thief'",
    "spurious_correlations": f"spurious_correlations({G}, top := NULL) WHERE attribute = 'thief'",
    "crime_words": f"crime_words({G}) WHERE term = 'thief'",
    "geography": f"geography({G}) WHERE level = 'label'",
}
SHOWN = {"a": 80, "b": 60}
HIDDEN = {"c": 15, "d": 9}


@pytest.fixture(scope="module")
def lake_of(build, tmp_path_factory):
    """A lake in which half of the images of each shown label, and so many of those of hidden ones, have a word and lack a vector."""
    made = {}

    def make(few):
        if few not in made:
            values = [v for v, n in (SHOWN | HIDDEN).items() for _ in range(n)]
            ids, hidden = [*range(len(values))], [i for i, v in enumerate(values) if v in HIDDEN]
            has = {*hidden[:few], *(i for i in ids if i not in hidden and i % 2)}
            texts = ["a thief in france" if i in has else "a person" for i in ids]
            lake = made[few] = cb.connect(str(tmp_path_factory.mktemp("few") / "a.lake"))
            labels = {"label_id": ids, "image_id": ids, "attribute": ["perceived_gender"] * len(ids), "value": values}
            lake.ingest(
                {
                    "images": build.images(image_id=ids),
                    "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
                    "labels": build.labels(**labels),
                }
            )
            vectors = (
                "SELECT image_id, [image_id % 7, 1, image_id % 3]::FLOAT[3] AS embedding FROM images "
                "WHERE image_id NOT IN (SELECT image_id FROM captions WHERE text LIKE '%thief%')"
            )
            prompts = "SELECT c::VARCHAR AS category, [c, 1, 2]::FLOAT[3] AS embedding FROM range(2) AS r(c)"
            lake.create_materialized_view("vectors", vectors, "image_id")
            lake.create_materialized_view("prompts", prompts, "category")
            lake.refresh(executor="inline")
        return made[few]

    return make


@pytest.mark.parametrize(("few", "told"), [(0, True), (3, False), (12, True), (21, False), (24, True)])
@pytest.mark.parametrize("audit", CALLS)
def test_few_that_have_or_lack_a_word(lake_of, audit, few, told):
    rows = lake_of(few).sql(f"FROM {CALLS[audit]}").to_arrow().to_pylist()
    assert bool([row for row in rows if row["count"] is not None]) == told
    assert not [row for row in rows if row.get("label") in HIDDEN and row["count"] is not None]


@pytest.mark.parametrize(("few", "told"), [(0, True), (3, False), (12, True)])
def test_few_that_have_no_vector(lake_of, few, told):
    """``casc`` counts the images of shown labels that have none; anybody can count all that have none."""
    lake = lake_of(few)
    rows = lake.sql(f"FROM casc(vectors, prompts, {G})").to_arrow().to_pylist()
    assert bool([row for row in rows if row["missing"] is not None]) == told


def test_what_is_shown_is_the_same(lake_of):
    """The labels that are hidden are counted as one beside the audit, and not in it."""
    closed, opened = (
        lake_of(12).sql(f"SELECT label, count, n_label, n_concept, n FROM {CALLS['cooccurrence']}", **how).fetchall()
        for how in ({}, {"sensitive": "a test of what is shown"})
    )
    assert [row for row in opened if row[0] in SHOWN] == closed


def test_many_of_two_hidden_labels_are_not_told_apart(lake_of):
    rows = lake_of(12).sql(f"SELECT label FROM crime_words({G}) WHERE count IS NOT NULL").fetchall()
    assert {label for (label,) in rows} == {*SHOWN}

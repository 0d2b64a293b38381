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


SCENES = {"sea": 14, "city": 12, "hill": 4, "moor": 0}


@pytest.mark.parametrize(
    "call",
    [
        "cooccurrence({}, concepts := label_concepts('scene'))",
        "keyword_profile({}, concepts := label_concepts('scene'))",
        "crime_words({}) WHERE term IS NOT NULL",
    ],
)
def test_few_of_all_concepts_that_are_hidden(build, tmp_path, call):
    """Each image has one scene, and its caption one word for it: those of hidden labels in scenes that are shown, less these labels."""
    words = dict(zip(SCENES, ("thief", "arson", "felon", "burglar"), strict=True))
    values, scenes = [], []
    for label, counts in {"a": dict.fromkeys(SCENES, 30), "b": dict.fromkeys(SCENES, 20)}.items():
        values += [label] * sum(counts.values())
        scenes += [scene for scene, n in counts.items() for _ in range(n)]
    scenes += [scene for scene, n in SCENES.items() for _ in range(n)]
    values += ["c"] * 24 + ["d"] * 6
    ids = [*range(len(values))]
    lake = cb.connect(str(tmp_path / "a.lake"))
    labels = {"attribute": ["perceived_gender"] * len(ids) + ["scene"] * len(ids), "value": values + scenes}
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"a {words[scene]}" for scene in scenes]),
            "labels": build.labels(label_id=range(2 * len(ids)), image_id=ids * 2, **labels),
        }
    )
    rows = lake.sql(f"FROM {call.format(G)}").to_arrow().to_pylist()
    named = {row.get("concept") or row.get("keyword") or row["term"] for row in rows if row["count"] is not None}
    left = sum(n for scene, n in SCENES.items() if not {scene, words[scene]} & named)
    assert left >= 10


def test_no_label_is_called_as_they_are(lake_of):
    """The name under which they are one is made anew, and stands in no row."""
    rows = lake_of(12).sql(f"FROM crime_words({G})").to_arrow().to_pylist()
    assert not [value for row in rows for value in row.values() if isinstance(value, str) and "are hidden" in value]


def test_few_unknown_ones_are_hidden_with_others(build):
    """Every image names a country, and anybody counts them: of Norway the labels that are hidden have three."""
    countries = ("Norway", "Japan", "Peru")
    counts = {"a": (0, 30, 30), "b": (30, 40, 60), "c": (0, 3, 2), "unknown": (3, 2, 2)}
    rows = [
        (label, of) for label, each in counts.items() for of, n in zip(countries, each, strict=True) for _ in range(n)
    ]
    ids = [*range(len(rows))]
    lake = cb.connect("memory://unknown")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[f"a walk in {of}" for _, of in rows]),
            "labels": build.labels(
                label_id=ids,
                image_id=ids,
                attribute=["perceived_gender"] * len(ids),
                value=[label for label, _ in rows],
            ),
        }
    )
    shown = lake.sql(f"SELECT country FROM geography({G}) WHERE level = 'label' AND count IS NOT NULL").fetchall()
    assert ("Norway",) not in shown
    assert ("Peru",) in shown


@pytest.mark.parametrize("unclear", [0, 3, 12])
def test_few_unclear_images_hide_no_large_label(build, unclear):
    """How many are mixed is no secret: they are hidden with the small labels, and hide no other one."""
    counts = SHOWN | {"c": 8, "d": 5} | ({"mixed": unclear} if unclear else {})
    values = [v for v, n in counts.items() for _ in range(n)]
    ids = [*range(len(values))]
    lake = cb.connect(f"memory://unclear-{unclear}")
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels})
    rows = lake.sql(f"FROM demographics({G})").to_arrow().to_pylist()
    shown = {row["label"]: row["count"] for row in rows if row["count"] is not None}
    assert shown == SHOWN | ({"mixed": 12} if unclear == 12 else {})

"""A preset of an audit gives the rows that its values give, and of these what a call says itself wins."""

from __future__ import annotations

import itertools

import pytest

PEOPLE = {"man": "tie", "woman": "scarf", "boy": "kite", "girl": "doll"}
SCENES = ("a terrible assault", "in france", "a happy day", "a sad fraud", "near a dog", "in brazil")
GROUPS = "caption_gender(lists.gender_gensynth_paper, 'gensynth')"
SPOKEN = "(SELECT term FROM lists.gender_gensynth_paper)"
CONCEPTS = "concept_ratio(definition := 'share', label := 'female', against := 'male', min_count := 100)"
IMAGES = "image_labels('perceived_gender', min_side := 30)"
PERSONS = "person_units('perceived_gender', min_side := 30)"
CLUSTERS = "(SELECT image_id, image_id % 3 AS cluster FROM images)"
ATTRIBUTES = """(SELECT image_id, 'sex' AS category, label AS attribute FROM caption_gender
    UNION ALL SELECT image_id, 'third', CAST(image_id % 3 AS VARCHAR) FROM images)"""
KEPT = "concept IN (SELECT term FROM lists.hirota_objects WHERE class = 'COCO')"
CASES = {
    "crime_words": ("paper", {}, {"terms": "lists.crime_words", "unit": "image"}),
    "geography": ("paper", {}, {"unit": "image"}),
    "compare_crime_words": (
        "paper",
        {"others": "caption_gender", "other_texts": "captions"},
        {"terms": "lists.crime_words", "unit": "image"},
    ),
    "compare_sentiment": ("paper", {"others": "caption_gender", "other_texts": "captions"}, {"rules": "nltk"}),
    "bias_transfer": (
        "paper",
        {"model_bias": "(SELECT concept AS category, value - 0.5 AS value FROM concept_ratio())", "show": "all"},
        {"dataset_bias": CONCEPTS, "degree": 1, "data_zero": 0.5, "model_zero": 0},
    ),
    "spurious_probe": (
        "paper",
        {"attacker": "logistic", "seeds": 2},
        {"groups": GROUPS, "words": SPOKEN, "model": "google-bert/bert-base-uncased"},
    ),
    "demographics": ("paper", {}, {"groups": IMAGES}),
    "compare_demographics": ("paper_persons", {"others": "caption_gender"}, {"groups": PERSONS}),
    "hate_content_rate": ("paper_targeted", {}, {"attribute": "targeted", "groups": IMAGES}),
    "score_distribution": ("paper_negative", {}, {"attribute": "negative", "groups": IMAGES}),
    "concept_ratio": ("paper_words", {"top": 5}, {"definition": "rate_difference", "min_count": 100}),
    "balance": ("paper", {}, {"groups": GROUPS}),
    "cluster_representation": ("paper", {"clusters": CLUSTERS}, {"groups": GROUPS}),
    "attribute_frequencies": ("paper", {"attributes": ATTRIBUTES}, {}),
    "attribute_matrix": ("paper", {"attributes": ATTRIBUTES, "category": "sex", "other": "third"}, {}),
    "ratio": ("paper", {"texts": "captions"}, {}),
    "ratio_shift": ("paper", {"original": "captions", "inpainted": "captions"}, {}),
    "leakage": ("paper", {"seeds": 2}, {"data": f"(SELECT image_id, concept FROM category_concepts WHERE {KEPT})"}),
    "lic": (
        "code",
        {"human": "captions", "generated": "captions", "attacker": "logistic", "seeds": 2},
        {"captions_each": 5, "align": True, "test_share": 0.1, "epochs": 20, "learning_rate": 5e-5},
    ),
}
"""By audit: the preset, what a call gives itself, and the rest of what the preset says."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory, build):
    import counterbalance as cb

    texts = [f"A {p} with a {PEOPLE[p]}, {s}" for p, s in itertools.product(PEOPLE, SCENES) for _ in range(40)]
    texts += [f"A man {s}" for s in SCENES for _ in range(60)]
    ids = list(range(len(texts)))
    lake = cb.connect(tmp_path_factory.mktemp("presets") / "own.lake")
    images = build.images(image_id=ids, key=[str(i) for i in ids])
    male = [" man" in text or " boy" in text for text in texts]
    box = {"x": 0.0, "y": 0.0, "height": 90.0}
    seen = [("person", 20.0 if i % 5 == 0 else 90.0) for i in ids] + [(("tie", "person")[i % 2], 90.0) for i in ids]
    boxes = build.detections(
        detection_id=list(range(2 * len(ids))), image_id=ids * 2, category=[c for c, _ in seen], width=[w for _, w in seen],
        **{name: [value] * 2 * len(ids) for name, value in box.items()},
    )  # fmt: skip
    said = [(i, i, "perceived_gender", "male" if male[i] else "female", None) for i in ids]
    said += [
        (i, None, name, name, (i % 10) / 10) for name in ("hateful", "targeted", "positive", "negative") for i in ids
    ]
    images_of, boxes_of, attributes, values, scores = map(list, zip(*said, strict=True))
    labels = build.labels(
        label_id=list(range(len(said))), image_id=images_of, detection_id=boxes_of, attribute=attributes, value=values,
        score=scores,
    )  # fmt: skip
    captions = build.captions(caption_id=ids, image_id=ids, text=texts)
    lake.ingest({"images": images, "captions": captions, "detections": boxes, "labels": labels})
    return lake


@pytest.mark.parametrize("audit", CASES)
def test_it_gives_what_its_values_give(filled, audit):
    preset, given, values = CASES[audit]
    found = filled.audit(audit, preset=preset, **given).to_arrow()
    wanted = filled.audit(audit, **given, **values).to_arrow()
    assert found.num_rows > 0
    assert found.drop_columns("params").equals(wanted.drop_columns("params"))


def test_what_is_asked_of_edits(filled):
    edits = (
        "(SELECT image_id AS edit_id, image_id, CASE WHEN image_id % 2 = 0 THEN 'male' ELSE 'female' END AS label, 'x' AS template, "
        "true AS accepted, 'male' AS predicted, 0 AS background FROM images)"
    )
    hits = "(SELECT image_id AS query_id, image_id AS item_id, 1 + image_id % 12 AS rank, 1.0 AS score FROM images)"
    found = filled.audit("edit_quality", edits=edits, hits=hits, preset="paper").to_arrow().to_pylist()
    assert {row["k"] for row in found if row["metric"] == "recall"} == {1, 5, 10}

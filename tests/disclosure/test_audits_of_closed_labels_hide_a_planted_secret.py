"""Three women among the assassins, in Kenya, of one race: no audit shows the 3, and no sum of what it shows has it."""

from __future__ import annotations

import os

import pytest

import counterbalance as cb

GENDER, RACE = "image_labels('perceived_gender')", "image_labels('perceived_race')"
CALLS = {
    f"crime_words({GENDER})": ({"class": "persons", "label": "female"}, ("level", "class", "term")),
    f"geography({GENDER})": ({"country": "Kenya", "label": "female"}, ("level", "country")),
    f"sentiment({GENDER})": ({"label": "female"}, None),
    f"intersections({GENDER}, {RACE})": ({"label": "female", "other": "x"}, ("label",)),
    f"balance({RACE})": ({"label": "z"}, ()),
    f"demographics({RACE})": ({"label": "z"}, ()),
    f"compare_crime_words({GENDER}, caption_gender, other_texts := captions)": (
        {"class": "persons", "label": "female"},
        ("item",),
    ),
    f"compare_demographics({RACE}, caption_gender)": ({"label": "z"}, ("item",)),
    f"compare_intersections({GENDER}, caption_gender, crossed := {RACE}, others_crossed := caption_gender)": (
        {"item": "female", "label": "x"},
        ("item",),
    ),
    f"compare_sentiment({GENDER}, caption_gender, other_texts := captions)": ({"label": "female"}, None),
}
COUNTS = ("count", "count_a", "count_b", "negative", "n", "n_a", "n_b", "texts", "edits")


@pytest.fixture(scope="module")
def lake(build):
    people = [("female", "an assassin in a bank in Kenya, a terrible homicide", "x")] * 3
    people += [("female", "a lovely and happy fraud in France", "y")] * 60
    people += [("male", "an assassin in a bank in Kenya, a terrible homicide", "x")] * 30
    people += [("male", "a lovely and happy fraud in France", "y")] * 60
    people += [("male", "a happy day", "w")] * 20 + [("female", "a happy day", "w")] * 20
    people += [("male", "a happy table", "z")] * 3
    ids = list(range(1, len(people) + 1))
    lake = cb.connect(f"memory://planted-{os.getpid()}")
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[p[1] for p in people]),
            "labels": build.labels(
                label_id=list(range(1, 2 * len(ids) + 1)),
                image_id=ids * 2,
                attribute=["perceived_gender"] * len(ids) + ["perceived_race"] * len(ids),
                value=[p[0] for p in people] + [p[2] for p in people],
                annotator=["x"] * 2 * len(ids),
            ),
        }
    )
    return lake


@pytest.mark.parametrize("call", CALLS)
def test_planted(lake, call):
    secret, siblings = CALLS[call]
    rows = lake.sql(f"SELECT * FROM {call}").to_arrow().to_pylist()
    found = [r for r in rows if all(r[c] == v for c, v in secret.items())]
    assert found or "intersections" in call or "compare_sentiment" in call  # rows of few go with those of another label
    for row in found:
        assert row["suppressed"]
        assert all(row.get(c) is None for c in COUNTS)
        if siblings is not None:
            family = [r for r in rows if all(r[c] == row[c] for c in siblings)]
            assert sum(r["suppressed"] for r in family) >= 2
    assert not [(r, c) for r in rows for c in COUNTS if 0 < (r.get(c) or 0) < 10]

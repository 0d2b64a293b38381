"""Tables in which all labels together have few images have no rows: which of them had any would tell whose they are."""

from __future__ import annotations

import pyarrow as pa
import pytest

import counterbalance as cb
from counterbalance.engine.errors import SensitiveError
from counterbalance.engine.store import tables

G = "image_labels('perceived_gender')"
CALLS = {
    "hate_content_rate": f"hate_content_rate(groups := {G})",
    "score_distribution": f"score_distribution('hateful', groups := {G})",
    "intersections": f"intersections({G}, image_labels('scene', annotator := 'z'))",
    "compare_intersections": f"compare_intersections({G}, image_labels('scene', annotator := 'z'), image_labels('scene', annotator := 'z'), image_labels('scene', annotator := 'z'))",
    "harmful_zero_shot": f"harmful_zero_shot(predicted, {G})",
    "detection_recall": f"detection_recall(boxes, boxes, {G})",
    "crime_words": f"crime_words({G})",
    "geography": f"geography({G})",
    "cluster_representation": f"cluster_representation(clusters, {G})",
    "cooccurrence": f"cooccurrence({G}, word_concepts)",
}
"""Each of them is also about one image in a way that anybody may read: a word, a country, a cluster, an annotator."""


def made(build, folder, one):
    """60 images of each of two labels; what is about a single image is about this one."""
    ids = list(range(120))
    values = ["female" if i % 2 else "male" for i in ids]
    texts = ["a walk" if i != one else "a murderer in France" for i in ids]
    lake = cb.connect(str(folder / f"{one}.lake"))
    lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
            "labels": build.labels(
                label_id=list(range(242)), image_id=[*ids, *ids, one, one],
                attribute=["perceived_gender"] * 120 + ["hateful"] * 121 + ["scene"], value=[*values, *["yes"] * 121, "sea"],
                score=[None] * 120 + [0.2] * 122, annotator=["m"] * 240 + ["z"] * 2,
            ),
        }
    )  # fmt: skip
    stored = {
        "predicted": {"image_id": [one], "predicted": ["thief"]},
        "clusters": {"image_id": ids, "cluster": [1 if i == one else 2 for i in ids]},
        "boxes": {
            "image_id": [one], "category": ["dog"], "x": [0.0], "y": [0.0], "width": [9.0], "height": [9.0], "score": [0.5],
            "is_crowd": [False],
        },
    }  # fmt: skip
    for name, columns in stored.items():
        tables.append(lake.location, name, pa.table(columns))
    return lake


@pytest.fixture(scope="module")
def both(build, tmp_path_factory):
    """The one image is female in the first lake, and male in the second."""
    folder = tmp_path_factory.mktemp("few")
    return made(build, folder, 5), made(build, folder, 6)


@pytest.mark.cases(5)
@pytest.mark.parametrize("audit", CALLS)
def test_which_rows_there_are_is_the_same(both, audit):
    shown = [lake.sql(f"SELECT * EXCLUDE (params) FROM {CALLS[audit]}").to_arrow().to_pylist() for lake in both]
    texts = [[{k: v for k, v in row.items() if isinstance(v, str)} for row in rows] for rows in shown]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("audit", ["demographics", "balance", "sentiment"])
def test_a_view_about_single_images_is_rows_of_ones_own(both, audit):
    with pytest.raises(SensitiveError) as caught:
        both[0].sql(f"FROM {audit}(images_behind('word', 'murderer', groups := {G}))").fetchall()
    assert caught.value.code == "E3306"
    with pytest.raises(SensitiveError):
        both[0].sql(f"FROM intersections({G}, images_behind('word', 'murderer'))").fetchall()


def test_a_purpose_shows_them(both):
    rows = (
        both[0].sql(f"SELECT label FROM {CALLS['geography']} WHERE country = 'France'", sensitive="a test").fetchall()
    )
    assert rows

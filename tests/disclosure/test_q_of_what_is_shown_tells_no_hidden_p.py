"""The q that stand beside hidden and left out rows are the same whatever these count."""

from __future__ import annotations

import os

import pytest

import counterbalance as cb

G = "image_labels('perceived_gender')"


def made(build, name, labels, texts, scenes):
    """``scenes``: images that have each."""
    ids = list(range(len(labels)))
    lake = cb.connect(f"memory://q-{os.getpid()}-{name}")
    values = [*labels, *(scene for scene, own in scenes.items() for _ in own)]
    rows = build.labels(
        label_id=list(range(len(values))), image_id=[*ids, *(i for own in scenes.values() for i in own)],
        attribute=["perceived_gender"] * len(ids) + ["scene"] * (len(values) - len(ids)), value=values,
        annotator=["m"] * len(values),
    )  # fmt: skip
    captions = build.captions(caption_id=ids, image_id=ids, text=texts)
    lake.ingest({"images": build.images(image_id=ids), "captions": captions, "labels": rows})
    return lake


@pytest.mark.parametrize("one", ["female", "male"])
def test_a_row_that_is_left_out(build, one):
    """One image alone names Iceland. The q are those of the p that are shown, in a family of as many places as there are."""
    texts = (
        ["a day in " + ("France" if i < 60 else "Japan") for i in range(120)] + ["a day in Iceland"] + ["a day"] * 40
    )
    labels = ["female" if (i % 3 > 0) == (i < 60) else "male" for i in range(120)] + [one] + ["female", "male"] * 20
    lake = made(build, one, labels, texts, {})
    rows = lake.sql(f"SELECT country, p, q FROM geography({G}) WHERE p IS NOT NULL").fetchall()
    assert {country for country, *_ in rows} == {"France", "Japan"}
    ranked = sorted(p for _, p, _ in rows)
    for _, p, q in rows:
        assert q == pytest.approx(min(*(x * 4 / (i + 1) for i, x in enumerate(ranked) if x >= p), 1))


def test_a_hidden_count_that_is_0_or_1(build):
    """Twelve images have a tie: 6 and 5 of two labels, and one of the second or of a third."""
    labels = ["female"] * 100 + ["male"] * 100 + ["nonbinary"] * 50
    hat = [*range(20, 60), *range(120, 140), *range(210, 230)]
    found = []
    for third in (150, 203):
        tie = [*range(6), *range(100, 105), third]
        lake = made(build, third, labels, ["a day"] * 250, {"tie": tie, "hat": hat})
        call = f"cooccurrence({G}, label_concepts('scene'))"
        found.append(lake.sql(f"SELECT label, concept, p, q FROM {call} ORDER BY ALL").fetchall())
    assert found[0] == found[1]
    assert {concept for _, concept, *_ in found[0]} == {"hat"}

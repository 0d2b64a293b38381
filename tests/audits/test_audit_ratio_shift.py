"""ratio_shift: the change of the ratio of men to women that a model names, by hand, by a sum over images, as Table 3 has it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

SAYS = {"m": "A man rides.", "f": "the lady's dog", "b": "a man and a woman", "n": "a dog"}


def table(said):
    """Texts of (image, letter)."""
    ids = pa.array([i for i, _ in said], pa.int64())
    return pa.table({"image_id": ids, "text": pa.array([SAYS.get(k) for _, k in said], pa.string())})


def run(session, original, inpainted, **options):
    given = {"original": table(original), "inpainted": table(inpainted), **options}
    (row,) = session.audit("ratio_shift", **given).to_arrow().to_pylist()
    return row


def in_turn(letters):
    return list(enumerate(letters))


def by_images(original, inpainted):
    """Value and interval with numpy: an image's residuals, and half an image that turns either way."""
    images = sorted({i for i, _ in original} & {i for i, _ in inpainted})
    place = {image: n for n, image in enumerate(images)}
    counts = np.zeros((4, len(images)))
    for side, said in enumerate((original, inpainted)):
        for image, letter in said:
            if image in place and letter in "mf":
                counts[2 * side + (letter == "f"), place[image]] += 1
    m0, f0, m1, f1 = counts.sum(1)
    residuals = counts[2] / m1 - counts[3] / f1 - counts[0] / m0 + counts[1] / f0
    variance = (residuals**2).sum() * len(images) / (len(images) - 1)
    variance += 0.5 * (1 / m0 + 1 / f1) ** 2 + 0.5 * (1 / f0 + 1 / m1) ** 2
    value = m1 / f1 / (m0 / f0)
    half = 1.959963984540054 * math.sqrt(variance)
    return value, value * math.exp(-half), value * math.exp(half)


def test_by_hand(session):
    original = in_turn("m" * 60 + "f" * 20 + "b" * 15 + "n" * 15)
    inpainted = in_turn("m" * 40 + "f" * 40 + "n" * 15 + "b" * 15)
    row = run(session, original, inpainted)
    assert (row["r_original"], row["r_inpainted"], row["value"]) == (3.0, 1.0, pytest.approx(1 / 3))
    assert row["delta"] == pytest.approx(100 * abs(3 - 1) / 3)  # as in Table 3
    assert (row["male_original"], row["female_original"], row["n_a"], row["images"]) == (60, 20, 80, 110)
    assert (row["male_inpainted"], row["female_inpainted"], row["n_b"]) == (40, 40, 80)
    assert (row["value"], row["low"], row["high"]) == pytest.approx(by_images(original, inpainted), rel=1e-9)
    assert (row["delta_low"], row["delta_high"]) == pytest.approx((100 * (1 - row["high"]), 100 * (1 - row["low"])))


def test_several_texts_of_an_image_and_images_of_one_side(session):
    draw = np.random.default_rng(5)
    original, inpainted = ([(int(draw.integers(70)), str(draw.choice(list("mfbn")))) for _ in range(300)] for _ in "oi")
    original += [(900, "m")] * 30
    row = run(session, original, inpainted)
    assert (row["value"], row["low"], row["high"]) == pytest.approx(by_images(original, inpainted), rel=1e-9)
    assert (row["low"] < 1 < row["high"], row["delta_low"]) == (True, 0.0)


def test_the_same_predictions_do_not_shift(session):
    said = in_turn("m" * 30 + "f" * 20)
    row = run(session, said, said)
    assert (row["value"], row["delta"], row["delta_low"]) == (1.0, 0.0, 0.0)
    assert row["low"] < 1 < row["high"], "fifty images that stay do not say that none would change"


@pytest.mark.parametrize(
    ("original", "inpainted", "note"),
    [
        ("m" * 20, "f" * 20, "no text of a side names men only"),
        ("m" * 20 + "f" * 20, "m" * 40, "no text of a side names women only"),
        ("", "", "no image has texts on both sides"),
    ],
)
def test_a_class_that_is_never_named_gives_no_value(session, original, inpainted, note):
    row = run(session, in_turn(original), in_turn(inpainted), min_count=0)
    assert {row[c] for c in ("value", "low", "high", "delta", "delta_low", "delta_high")} == {None}
    assert row["note"] == note


def test_few_are_hidden(session):
    row = run(session, in_turn("m" * 30 + "f" * 20), in_turn("m" * 47 + "f" * 3))
    assert row.pop("suppressed")
    assert {k for k, v in row.items() if v is not None} == {"params", "reason"}

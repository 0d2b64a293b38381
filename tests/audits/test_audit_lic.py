"""lic: what generated captions tell beyond human ones; masks, letter case, vocabulary; one classifier a caption number."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.udfs import attackers

IMAGES = 400
LABELS = ["male", "female"] * (IMAGES // 2)
WORDS = "cat dog tree car park ball red blue green table".split()  # noqa: SIM905


def captions(tells, seed, each=2, words=("tie", "scarf"), labels=LABELS):
    draw = np.random.default_rng(seed)
    rows = []
    for image, own in enumerate(labels):
        for _ in range(each):
            told = words[int((own == "male") != (draw.random() < tells))]
            rows.append(
                (len(rows), image, f"A {'man' if own == 'male' else 'Woman'} {told} {' '.join(draw.choice(WORDS, 3))}")
            )
    return pa.table(dict(zip(("caption_id", "image_id", "text"), map(list, zip(*rows, strict=True)), strict=True)))


def run(session, labels=LABELS, **given):
    groups = pa.table({"image_id": list(range(len(labels))), "label": labels})
    options = {"seeds": 6, "test_share": 0.2, "captions_each": 2, **given}
    rows = session.audit("lic", groups=groups, **options).to_arrow().to_pylist()
    return {r["metric"]: r for r in rows}


def test_amplification_that_is_planted(session):
    rows = run(session, human=captions(0.7, 1), generated=captions(0.95, 2, each=1))
    assert rows["lic"]["low"] > 15  # true: 0.95² - 0.7² = 0.41
    assert rows["lic"]["value"] == pytest.approx(rows["lic_m"]["value"] - rows["lic_d"]["value"], rel=1e-9)
    assert rows["lic_m"]["value"] > 75
    assert {(r["n"], r["n_test"], r["seeds"], r["suppressed"]) for r in rows.values()} == {(IMAGES, 80, 6, False)}


def test_no_bias_is_near_chance(session):
    rows = run(session, human=captions(0.5, 3), generated=captions(0.5, 4, each=1))
    assert rows["lic"]["low"] < 0 < rows["lic"]["high"]
    assert 20 < rows["lic_d"]["value"] < 35


def test_the_same_captions_amplify_nothing(session):
    same = captions(0.8, 5, each=1)
    row = run(session, human=same, generated=same, captions_each=1)["lic"]
    assert (row["value"], row["low"], row["high"]) == (0.0, 0.0, 0.0)


def test_one_classifier_for_each_caption_number(session):
    """lic_d is the mean of the runs over first captions and over second ones, of the functions called directly."""
    human = captions(0.8, 6)
    rows = run(session, human=human, generated=captions(0.8, 7, each=1), align=False, seeds=3)
    masks = pa.array([["man", "woman"]])
    scores = []
    for place in (0, 1):
        texts = human["text"].to_pylist()[place::2]
        given = [pa.array([list(range(IMAGES))]), pa.array([texts]), pa.array([LABELS]), masks, pa.nulls(1)]
        runs = attackers.attack_texts(*given, seeds=3).to_pylist()[0]
        scores.append([100 * r["confidence"] for r in runs])
    per_seed = np.mean(scores, axis=0)
    assert rows["lic_d"]["value"] == pytest.approx(per_seed.mean(), rel=1e-9)
    error = np.sqrt(per_seed.var(ddof=1) * (1 / 3 + 1))
    assert rows["lic_d"]["high"] - rows["lic_d"]["value"] == pytest.approx(4.302652729749464 * error, rel=1e-6)


def test_caption_numbers_that_few_images_have_are_left_out(session):
    human, generated = captions(0.8, 6, each=1), captions(0.8, 7, each=1)
    more = captions(0.8, 8, each=1).slice(0, 18)  # nine images of either label have a second caption
    more = more.set_column(0, "caption_id", pa.array(range(IMAGES, IMAGES + 18)))
    alone = run(session, human=human, generated=generated)
    both = run(session, human=pa.concat_tables([human, more]), generated=generated)
    assert [r["value"] for r in both.values()] == [r["value"] for r in alone.values()]
    many = run(session, human=pa.concat_tables([human, more]), generated=generated, min_count=9)
    assert many["lic_d"]["value"] != alone["lic_d"]["value"]
    sizes = {metric: (r["n"], r["n_test"]) for metric, r in many.items()}
    assert sizes == {"lic": (18, 4), "lic_d": (18, 4), "lic_m": (IMAGES, 80)}  # the smallest of what counts


def test_words_that_no_generated_caption_has_are_unknown(session):
    given = {"human": captions(1.0, 8), "generated": captions(1.0, 9, each=1, words=("hat", "hat"))}
    assert run(session, **given)["lic_d"]["value"] < 40
    assert run(session, **given, align=False)["lic_d"]["value"] > 80


def test_letter_case_tells_nothing(session):
    shouted = captions(0.5, 10, each=1)
    texts = [t.upper() if i % 2 else t.lower() for i, t in enumerate(shouted["text"].to_pylist())]
    shouted = shouted.set_column(2, "text", pa.array(texts))
    assert run(session, human=captions(0.5, 11), generated=shouted)["lic_m"]["value"] < 36


def test_only_images_with_both_kinds_count(session):
    generated = captions(0.8, 12, each=1).slice(0, 100)
    rows = run(session, human=captions(0.8, 13).slice(100), generated=generated)
    assert {r["n"] for r in rows.values()} == {50}


def test_small_groups_are_hidden(session):
    labels = ["male"] * 60 + ["female"] * 9
    given = {"human": captions(1.0, 1, labels=labels), "generated": captions(1.0, 2, each=1, labels=labels)}
    rows = run(session, labels, **given)
    hidden = {(r["reason"], *(r[c] for c in ("value", "n", "seeds", "n_label", "n_against"))) for r in rows.values()}
    assert hidden == {("small", *[None] * 5)}
    rows = run(session, ["male"] * 69, **given, min_count=0)
    assert {(r["note"], r["value"]) for r in rows.values()} == {("only one label: male", None)}


def test_a_label_of_three_images_does_not_follow_from_the_others(session):
    labels = ["male"] * 60 + ["female"] * 20 + ["rare"] * 3
    given = {"human": captions(1.0, 1, labels=labels), "generated": captions(1.0, 2, each=1, labels=labels)}
    rows = run(session, labels, **given)
    assert {(r["reason"], r["value"], r["n_label"], r["n_against"]) for r in rows.values()} == {
        ("complementary", None, None, None)
    }


def test_captions_of_a_lake(empty_lake, build):
    """By default people's captions against those with origin 'generated'; labels from people's words and the model's."""
    human, made = captions(0.8, 1), captions(0.8, 2, each=1)
    rows = {
        "caption_id": list(range(IMAGES * 3)),
        "image_id": human["image_id"].to_pylist() + made["image_id"].to_pylist(),
        "text": human["text"].to_pylist() + made["text"].to_pylist(),
        "origin": ["human"] * (2 * IMAGES) + ["generated"] * IMAGES,
    }
    empty_lake.ingest({"images": build.images(image_id=list(range(IMAGES))), "captions": build.captions(**rows)})
    found = {r["metric"]: r for r in empty_lake.audit("lic", seeds=2).to_arrow().to_pylist()}
    assert found["lic"]["n"] == IMAGES
    assert found["lic_m"]["value"] > 45


def test_edits_of_one_image_are_on_one_side_of_a_cut(session):
    """Captions of two edits of an image share a word that no other image has."""
    source = np.repeat(np.arange(100), 4)
    labels = np.where(np.random.default_rng(8).permutation(100) % 2, "male", "female")[source].tolist()
    texts = [f"A thing{s}" for s in source]
    said = pa.table({"caption_id": np.arange(400), "image_id": np.arange(400), "text": texts})
    made_of = pa.table({"image_id": np.arange(400), "source_id": source})
    given = {"labels": labels, "human": said, "generated": said, "captions_each": 1}
    seen, apart = run(session, **given)["lic_d"], run(session, **given, sources=made_of)["lic_d"]
    assert apart["n_label"] == seen["n_label"]
    assert (seen["value"] > 55, apart["value"] < 50) == (True, True)

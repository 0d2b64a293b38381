"""GenSynth (Smith et al. 2023), Table 1, TF-IDF on COCO val2017 captions, to the two digits that are printed."""

from __future__ import annotations

import pytest

import counterbalance as cb

ARGUMENTS = {"groups": "caption_gender_gensynth", "k": [5, 10], "skew_k": [25, 100]}


@pytest.fixture(scope="module")
def coco(data_dir, tmp_path_factory):
    lake = cb.connect(tmp_path_factory.mktemp("coco") / "coco.lake")
    lake.ingest(str(data_dir / "coco" / "captions_val2017.json"), format="coco")
    return lake


def row(lake, **arguments):
    rows = lake.audit("retrieval_bias", **ARGUMENTS, **arguments).to_arrow().to_pylist()
    found = {(r["metric"], r["k"]): r["value"] for r in rows}
    return [found["bias", 5], found["bias", 10], found["maxskew", 25], found["maxskew", 100]]


def test_the_tfidf_row(coco):
    assert [round(v, 2) for v in row(coco)] == [0.22, 0.24, 0.29, 0.22]


@pytest.mark.thorough
def test_the_balanced_row_over_five_seeds(coco):
    """The paper prints -.06, -.08, .25, .18 with deviations over its seeds; ours are other draws of the same kind."""
    drawn = "balanced_subset(caption_gender_gensynth, seed := {}, rest := 'proportional')"
    items = "(SELECT c.* FROM captions AS c SEMI JOIN " + drawn + " AS b USING (image_id))"
    rows = [row(coco, items=items.format(seed)) for seed in range(5)]
    means = [sum(column) / 5 for column in zip(*rows, strict=True)]
    assert means == pytest.approx([-0.06, -0.08, 0.25, 0.18], abs=0.006)
    assert max(max(column) - min(column) for column in zip(*rows, strict=True)) < 0.06


def test_images_by_label(coco):
    counts = dict(coco.sql("SELECT label, count(*) FROM caption_gender_gensynth GROUP BY label").fetchall())
    assert (counts["male"], counts["female"]) == (1205, 513)
    assert counts["unclear"] + counts["mixed"] == 3282


def test_random_ranking_is_near_the_printed_draw(coco):
    """.37 .40 .15 .06 in the paper is one draw; over seeds it is .36, .40, .15, .08, give or take .03, .03, .01, .01."""
    found = row(coco, ranker="random", items="(SELECT * FROM captions WHERE caption_id % 5 = 0)")
    assert found == pytest.approx([0.36, 0.40, 0.15, 0.08], abs=0.06)

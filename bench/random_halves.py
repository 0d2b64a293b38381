"""Show how often audits find a difference where there is none: p < .05 between random halves of one dataset; 5 % is asked.

    python bench/random_halves.py shared/data/coco/captions_val2017.json --splits 500 > docs/random-halves.md

The images of COCO val2017 are split into two halves at random, so often; each audit with a p-value is asked in its own way what
goes with a half, or how the halves differ. Tests of one split are not independent of each other, so that the share of
splits with any q < .05 is shown beside the share of tests with p < .05; it is at most 5 % where q does what it says.
Audits with more than MANY tests a split, which are slow, have a third of the splits.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

import counterbalance as cb

if TYPE_CHECKING:
    from typing import Any

SCENES = ("street", "kitchen", "beach", "table", "field", "bed", "snow", "room")
"""Words of captions that stand for what is in a picture: the first that one of them has."""
HALF = "(SELECT * FROM {source} SEMI JOIN halves ON halves.image_id = {source}.image_id AND halves.label = '{half}')"
GROUPS = {half: HALF.format(source="caption_gender", half=half) for half in "ab"}
TEXTS = {half: HALF.format(source="captions", half=half) for half in "ab"}
PLACES = {half: HALF.format(source="places", half=half) for half in "ab"}
ATTRIBUTES = {half: f"(SELECT image_id, 'scene' AS category, label AS attribute FROM {PLACES[half]})" for half in "ab"}
BOTH = (
    "(SELECT image_id, 'half' AS category, label AS attribute FROM halves "
    "UNION ALL SELECT image_id, 'scene' AS category, label AS attribute FROM places)"
)
LEVEL = 0.05
MANY = 100
"""Tests a split above which a third of the splits will do."""
ABOUT = """# How often a difference is found where there is none

Made by `python bench/random_halves.py captions_val2017.json --splits {splits} > docs/random-halves.md`: the images of COCO
val2017 in two random halves, so many times; a third of them where an audit has more than {many} tests a split. Of the tests of a
split p < .05 is asked to be right 5 times in 100, *give or take* what splits differ by (95 %); *any q < .05* is the share of
splits in which an audit would have reported something. Words are those that at least 100 images have; the judge of `win_rates`
throws coins. Rows with fewer splits are of shorter runs of the same command (`--splits`, `--audits`), some of them made before
there was a column of how far off they may be.

| audit | splits | tests | p < .05 | give or take | any q < .05 |
|---|---|---|---|---|---|"""
OF_CAPTIONS = "(SELECT caption_id AS image_id, text FROM captions)"
COMMON = "(SELECT * FROM {words} SEMI JOIN common USING (concept))"
COMMON_WORDS = COMMON.format(words=f"word_concepts({OF_CAPTIONS})")
HALVES = "(SELECT caption_id AS image_id, label FROM captions JOIN halves USING (image_id))"
SOURCES = "(SELECT caption_id AS image_id, image_id AS source_id FROM captions)"
CAPTIONS = {half: HALF.format(source="caption_labels", half=half) for half in "ab"}
LABELS = {half: f"(SELECT caption_id AS image_id, label FROM {CAPTIONS[half]})" for half in "ab"}
OF_PLACES = "(SELECT caption_id AS image_id, label FROM captions JOIN places USING (image_id))"
CALLS = {
    "association": "association(vectors, prompts, halves, label := 'a', against := 'b')",
    "attribute_auc": "attribute_auc(scored, (SELECT image_id, 'half' AS category, label AS attribute FROM halves))",
    "attribute_confounding": f"attribute_confounding({BOTH})",
    "attribute_matrix": f"attribute_matrix({BOTH}, 'half', 'scene')",
    "casc": "casc(vectors, prompts, halves)",
    "cluster_representation": "cluster_representation((SELECT image_id, label AS cluster FROM places), halves, min_count := 0)",
    "compare_attributes": f"compare_attributes({ATTRIBUTES['a']}, {ATTRIBUTES['b']})",
    "compare_crime_words": f"compare_crime_words({GROUPS['a']}, {GROUPS['b']}, {TEXTS['a']}, {TEXTS['b']}, terms)",
    "compare_demographics": f"compare_demographics({GROUPS['a']}, {GROUPS['b']})",
    "compare_demographics of captions": f"compare_demographics({LABELS['a']}, {LABELS['b']}, 10, {SOURCES}, {SOURCES})",
    "compare_demographics of captions, without their images": f"compare_demographics({LABELS['a']}, {LABELS['b']})",
    "compare_intersections": f"compare_intersections({GROUPS['a']}, {GROUPS['b']}, {PLACES['a']}, {PLACES['b']})",
    "compare_intersections of captions": (
        f"compare_intersections({LABELS['a']}, {LABELS['b']}, {OF_PLACES}, {OF_PLACES}, 10, {SOURCES}, {SOURCES})"
    ),
    "compare_intersections of captions, without their images": (
        f"compare_intersections({LABELS['a']}, {LABELS['b']}, {OF_PLACES}, {OF_PLACES})"
    ),
    "compare_sentiment": f"compare_sentiment({GROUPS['a']}, {GROUPS['b']}, {TEXTS['a']}, {TEXTS['b']})",
    "concept_ratio": f"concept_ratio(halves, {COMMON.format(words='word_concepts')}, 'share', 'a', 'b')",
    "cooccurrence": f"cooccurrence(halves, {COMMON.format(words='word_concepts')}, min_count := 0)",
    "cooccurrence of captions": f"cooccurrence({HALVES}, {COMMON_WORDS}, {SOURCES}, min_count := 0)",
    "cooccurrence of captions, without their images": f"cooccurrence({HALVES}, {COMMON_WORDS}, min_count := 0)",
    "crime_words": "crime_words(halves, captions, terms, min_count := 0)",
    "directional_amplification": (
        "directional_amplification((SELECT image_id, label AS concept FROM guessed), groups := halves, "
        "concepts := (SELECT image_id, label AS concept FROM places), show := 'pairs', min_count := 0)"
    ),
    "generated_ratio": (
        "generated_ratio((SELECT image_id, label AS category, image_id AS place FROM places), halves, 'a', 10000, min_count := 0)"
    ),
    "geography": "geography(halves, captions, min_count := 0)",
    "harmful_zero_shot": (
        "harmful_zero_shot((SELECT image_id, label AS predicted FROM places), halves, "
        "(SELECT DISTINCT label AS term, label AS class FROM places), min_count := 0)"
    ),
    "ieat": "ieat(vectors, places, halves, 'street', 'kitchen', 'a', 'b', permutations := 1000, seed := {split})",
    "intersections": "intersections(halves, places, min_count := 0)",
    "intersections of captions": f"intersections({HALVES}, {OF_PLACES}, 0, {SOURCES})",
    "intersections of captions, without their images": f"intersections({HALVES}, {OF_PLACES}, min_count := 0)",
    "keyword_profile": f"keyword_profile(halves, {COMMON.format(words='word_concepts')}, top := 10000)",
    "similarity_bias": "similarity_bias(vectors, prompts, halves, label := 'a', against := 'b')",
    "so_b_it": "so_b_it(vectors, prompts, halves, min_count := 0)",
    "spurious_correlations": (
        "spurious_correlations(halves, (SELECT image_id, 'word' AS kind, concept AS attribute, 'image' AS scope "
        f"FROM {COMMON.format(words='word_concepts')}), top := NULL)"
    ),
    "weat": "weat(words, permutations := 1000, seed := {split})",
    "win_rates": "win_rates(judged, 'excluded')",
}  # fmt: skip


def lake_of(captions: Path) -> cb.Lake:
    """Return a lake of the images and captions of a file in COCO's format."""
    given = json.loads(captions.read_text(encoding="utf-8"))
    lake = cb.connect("memory://random-halves")
    images, texts = given["images"], given["annotations"]
    of_texts = {"caption_id": "id", "image_id": "image_id", "text": "caption"}
    lake.ingest(
        {
            "images": pa.table({"image_id": [i["id"] for i in images], "key": [i["file_name"] for i in images]}),
            "captions": pa.table({column: [t[field] for t in texts] for column, field in of_texts.items()}),
        }
    )
    return lake


def tables_of(lake: cb.Lake, draw: np.random.Generator) -> dict[str, pa.Table]:
    """Return a scene of each image whose captions name one, and vectors that mean nothing."""
    words = ", ".join(f"'{word}'" for word in SCENES)
    places = lake.sql(
        f"SELECT image_id, min(concept) AS label FROM word_concepts WHERE concept IN ({words}) GROUP BY image_id ORDER BY image_id"
    )
    ids = lake.sql("SELECT image_id FROM images ORDER BY image_id").to_arrow()["image_id"]
    common = lake.sql("SELECT concept FROM word_concepts GROUP BY concept HAVING count(*) >= 100 ORDER BY concept")
    return {
        "places": places.to_arrow(),
        "vectors": vectors(draw, image_id=ids),
        "prompts": vectors(draw, category=[f"c{i}" for i in range(20)]),
        "common": common.to_arrow(),
        "terms": pa.table({"term": SCENES, "class": SCENES}),
    }


def vectors(draw: np.random.Generator, **columns: Any) -> pa.Table:
    """Return a table with a random embedding a row."""
    (rows,) = {len(column) for column in columns.values()}
    found = pa.array(draw.normal(size=(rows, 8)).astype(np.float32).tolist(), pa.list_(pa.float32()))
    return pa.table({**columns, "embedding": found})


def scored(draw: np.random.Generator, ids: pa.ChunkedArray) -> pa.Table:
    """Return random scores of both halves for each image, some of them equal."""
    given = {"category": ["half"] * len(ids), "score": np.round(draw.normal(size=len(ids)), 1)}
    return pa.concat_tables(pa.table({"image_id": ids, "attribute": [half] * len(ids), **given}) for half in "ab")


def guessed(draw: np.random.Generator, places: pa.Table) -> pa.Table:
    """Return the scenes of images with three in ten drawn anew from all scenes: a model that errs, and amplifies nothing."""
    own = np.array(places["label"].to_pylist())
    errs = draw.random(len(own)) < 0.3
    return pa.table({"image_id": places["image_id"], "label": np.where(errs, draw.choice(own, len(own)), own)})


def judged(draw: np.random.Generator, ids: pa.ChunkedArray) -> pa.Table:
    """Return judgements of two models in both orders, that differ by chance alone, those of an image being alike to a degree."""
    images = np.repeat(ids.to_numpy(), 2)
    own, whole = draw.random(len(images)) < 0.5, np.repeat(draw.random(len(ids)) < 0.5, 2)
    chosen = np.where(draw.random(len(images)) < 0.7, whole, own)
    first = np.resize(["x", "y"], len(images))
    names = {"first": first, "second": np.where(first == "x", "y", "x"), "winner": np.where(chosen, "x", "y")}
    return pa.table({"image_id": images, **names})


def tests_of(session: cb.Session, text: str, tables: dict[str, pa.Table]) -> tuple[int, int, bool]:
    """Return how many tests an audit makes, how many p are small, and whether any q is."""
    rows = session.sql(text, **{n: t for n, t in tables.items() if re.search(rf"\b{n}\b", text)}).to_arrow()
    p = [v for v in rows["p"].to_pylist() if v is not None]
    q = [v for v in (rows["q"] if "q" in rows.column_names else rows["p"]).to_pylist() if v is not None]
    return len(p), sum(v < LEVEL for v in p), min(q, default=1) < LEVEL


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("captions", type=Path, help="captions_val2017.json")
    parser.add_argument("--splits", type=int, default=500, help="of audits with few tests; the others have a third")
    parser.add_argument("--audits", nargs="*", default=list(CALLS), choices=list(CALLS), metavar="AUDIT")
    given = parser.parse_args()
    lake = lake_of(given.captions)
    print(ABOUT.format(splits=given.splits, many=MANY))
    with lake.session() as session:
        tables = tables_of(lake, np.random.default_rng(20))
        ids = tables["vectors"]["image_id"]
        found: dict[str, list[tuple[int, int, bool]]] = {audit: [] for audit in given.audits}
        seconds = dict.fromkeys(given.audits, 0.0)
        for split in range(given.splits):
            draw = np.random.default_rng([20, split])
            tables["halves"] = pa.table({"image_id": ids, "label": draw.permutation(np.resize(["a", "b"], len(ids)))})
            tables["words"] = vectors(draw, **{"class": np.resize(list("xyab"), 32)})
            tables["judged"] = judged(draw, ids)
            tables["scored"], tables["guessed"] = scored(draw, ids), guessed(draw, tables["places"])
            for audit in given.audits:
                if not found[audit] or split < given.splits // 3 or found[audit][0][0] <= MANY:
                    began = time.process_time()
                    found[audit].append(tests_of(session, f"FROM {CALLS[audit].format(split=split)}", tables))
                    seconds[audit] += time.process_time() - began
    for audit, splits in found.items():
        tests, small, any_q = np.array(splits, float).T
        share = small.sum() / tests.sum()
        spread = 1.96 * np.sqrt(((small - share * tests) ** 2).sum()) / tests.sum()
        print(f"| `{audit}` | {len(splits)} | {tests.sum():,.0f} | {share:.1%} | {spread:.1%} | {any_q.mean():.1%} |")
        print(f"{audit}: {seconds[audit] / len(splits):.2f} s a split", file=sys.stderr)


if __name__ == "__main__":
    main()

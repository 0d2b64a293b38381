"""crime_words: pooled, by class and by word, images against the baseline of labelled images; small counts are hidden."""

from __future__ import annotations

import pyarrow as pa
import pytest

TERMS = pa.table({"term": ["robber", "theft", "fraud"], "class": ["property", "property", "deceit"]})


@pytest.fixture
def crimes(empty_lake, build):
    """100 images: 60 say man, 40 say woman; 10 more say neither. Robbers are men, fraud is even."""
    texts = ["a man"] * 30 + ["a man and a robber"] * 20 + ["a man of fraud"] * 10
    texts += ["a woman"] * 20 + ["the theft of a woman's bag"] * 10 + ["a fraud by a woman"] * 10
    texts += ["robbers in the night"] * 10
    ids = list(range(len(texts)))
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=texts),
        }
    )
    return empty_lake


def run(lake, **options):
    rows = lake.audit("crime_words", terms=TERMS, **options).to_arrow().to_pylist()
    return {(r["level"], r["class"], r["term"], r["label"]): r for r in rows}


def test_levels(crimes):
    rows = run(crimes, min_count=10)
    counts = {k: (r["count"], r["n"]) for k, r in rows.items()}
    assert counts == {
        ("pooled", None, None, "female"): (20, 50),
        ("pooled", None, None, "male"): (30, 50),
        ("class", "property", None, "female"): (10, 30),
        ("class", "property", None, "male"): (20, 30),
        ("class", "deceit", None, "female"): (10, 20),
        ("class", "deceit", None, "male"): (10, 20),
        ("term", "property", "robber", "female"): (0, 20),
        ("term", "property", "robber", "male"): (20, 20),
        ("term", "property", "theft", "female"): (10, 10),
        ("term", "property", "theft", "male"): (0, 10),
        ("term", "deceit", "fraud", "female"): (10, 20),
        ("term", "deceit", "fraud", "male"): (10, 20),
    }
    assert not any(r["suppressed"] for r in rows.values())


def test_delta(crimes):
    rows = run(crimes)
    assert rows["pooled", None, None, "female"]["delta"] == pytest.approx(0, abs=1e-12)
    assert rows["term", "property", "robber", "male"]["delta"] == pytest.approx(1 / 0.6 - 1, rel=1e-12)
    assert rows["term", "property", "robber", "female"]["delta"] == -1
    row = rows["term", "deceit", "fraud", "female"]
    assert (row["base_share"], row["base_n"], row["delta"]) == (0.4, 100, pytest.approx(0.25, rel=1e-12))
    assert row["delta_low"] < 0.25 < row["delta_high"]


def test_unclear_and_mixed_images_are_left_out(crimes, build):
    crimes.ingest({"captions": build.captions(caption_id=[900], image_id=[0], text=["a woman and a robber"])})
    rows = run(crimes)
    assert rows["term", "property", "robber", "male"]["n"] == 20
    assert rows["pooled", None, None, "male"]["base_n"] == 99


def test_small_counts_hide_their_neighbour(crimes):
    rows = run(crimes, min_count=11)
    assert all(rows["term", "deceit", "fraud", g]["suppressed"] for g in ("female", "male"))
    assert all(rows["term", "property", "theft", g]["suppressed"] for g in ("female", "male"))
    assert {rows["term", "deceit", "fraud", "male"][k] for k in ("count", "n", "share", "delta", "base_share")} == {
        None
    }
    assert not any(rows["pooled", None, None, g]["suppressed"] for g in ("female", "male"))


def test_persons(crimes):
    groups = pa.table({"image_id": pa.array([0, 30, 30, 30, 50], pa.int64()), "label": ["m", "m", "m", "f", "f"]})
    rows = run(crimes, groups=groups, unit="person", min_count=1)
    assert {k[3]: (r["count"], r["n"], r["base_n"]) for k, r in rows.items() if k[2] == "robber"} == {
        "m": (2, 3, 5),
        "f": (1, 3, 5),
    }


def test_terms_that_match_nothing_have_no_rows(crimes):
    words = pa.table({"term": ["arson"], "class": ["violence"]})
    assert crimes.audit("crime_words", terms=words).fetchall() == []


def test_the_shipped_list_on_alt_texts(data_dir, empty_lake, build):
    lines = (data_dir / "gcc" / "validation-8000.tsv").read_text(encoding="utf-8").splitlines()
    ids = list(range(len(lines)))
    empty_lake.ingest(
        {
            "images": build.images(image_id=ids),
            "captions": build.captions(caption_id=ids, image_id=ids, text=[line.split("\t")[0] for line in lines]),
        }
    )
    rows = empty_lake.audit("crime_words", min_count=1).to_arrow().to_pylist()
    pooled = {r["label"]: r for r in rows if r["level"] == "pooled"}
    texts = empty_lake.sql(
        "SELECT g.label, count(*) FROM captions AS c JOIN caption_gender AS g USING (image_id) "
        "WHERE matches(text, (SELECT list(term ORDER BY term) FROM lists.crime_words)) GROUP BY g.label"
    ).fetchall()
    assert {label: r["count"] for label, r in pooled.items() if r["count"]} == {
        label: n for label, n in texts if label in {"male", "female"}
    }
    assert sum(r["count"] for r in pooled.values()) >= 3


def test_a_term_that_is_listed_twice_has_one_row_a_label(crimes):
    terms = pa.table({"term": ["robber", "robber", "theft"], "class": pa.array(["theft", "theft", None])})
    rows = crimes.audit("crime_words", terms=terms, min_count=1).to_arrow().to_pylist()
    places = [(r["level"], r["class"], r["term"], r["label"]) for r in rows]
    assert len(places) == len(set(places))
    assert {p[1:3] for p in places if p[0] == "class"} == {("theft", None)}  # a term without a class is of none
    assert {p[1:3] for p in places if p[0] == "term"} == {("theft", "robber"), (None, "theft")}

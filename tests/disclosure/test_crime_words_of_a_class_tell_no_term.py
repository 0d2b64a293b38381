"""A term of 3 women in a class of 15, with another term of 12: the class less that term would tell the 3."""

from __future__ import annotations

import os

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import linprog

import counterbalance as cb

TERMS = pa.table({"term": ["robber", "theft", "fraud"], "class": ["property", "property", "deceit"]})


@pytest.fixture(scope="module")
def rows(build):
    texts = ["a woman and a robber"] * 3 + ["the theft of a woman's bag"] * 12 + ["a fraud by a woman"] * 40
    texts += ["a man and a robber"] * 30 + ["the theft of a man's bag"] * 30 + ["a fraud by a man"] * 50
    texts += ["a woman"] * 100 + ["a man"] * 100
    lake = cb.connect(f"memory://hierarchy-{os.getpid()}")
    ids = list(range(len(texts)))
    lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    return lake.audit("crime_words", terms=TERMS).to_arrow().to_pylist()


def test_the_difference_of_class_and_term_is_not_shown(rows):
    found = {(r["class"], r["term"], r["label"]): r for r in rows}
    small = found["property", "robber", "female"]
    assert (small["count"], small["suppressed"], small["reason"]) == (None, True, "small")
    both = [found["property", None, "female"]["count"], found["property", "theft", "female"]["count"]]
    assert None in both, "15 - 12 is the 3"


def test_linear_programming_finds_no_small_count(rows):
    """Each image has one term here, so that levels add up: even who knows this narrows the 3 down to no less than 10 values."""
    at = {(r["class"], r["term"], r["label"]): i for i, r in enumerate(rows)}
    facts, sums = [], []
    for (kind, term, label), place in at.items():
        if rows[place]["count"] is not None:
            facts.append(({place: 1}, rows[place]["count"]))
            whole = {i: 1 for (c, t, _), i in at.items() if (c, t) == (kind, term)}
            facts.append((whole, rows[place]["n"]))
        if term is None:
            parts = [
                i
                for (c, t, g), i in at.items()
                if g == label and ((kind is None and c is not None and t is None) or (kind == c and t and kind))
            ]
            sums.append((place, parts))
    upper = [({place: 1, **dict.fromkeys(parts, -1)}, 0) for place, parts in sums]
    upper += [({part: 1, place: -1}, 0) for place, parts in sums for part in parts]

    def matrix(rows_of):
        return np.array([[own.get(i, 0) for i in range(len(rows))] for own, _ in rows_of]), [b for _, b in rows_of]

    (a, b), (a_ub, b_ub) = matrix(facts), matrix(upper)
    aim = np.zeros(len(rows))
    aim[at["property", "robber", "female"]] = 1
    ends = [linprog(s * aim, A_ub, b_ub, a, b, bounds=(0, 1000)).fun * s for s, A_ub in ((1, a_ub), (-1, a_ub))]
    assert ends[1] - ends[0] >= 10


def test_a_rare_term_hides_no_other(build):
    """7 images of a robber hide themselves and not the other words of their class: their total is not shown."""
    texts = ["a woman and a robber"] * 3 + ["a man and a robber"] * 4
    texts += ["the theft of a woman's bag"] * 40 + ["the theft of a man's bag"] * 30
    texts += ["a fraud by a woman"] * 40 + ["a fraud by a man"] * 50 + ["a woman"] * 100 + ["a man"] * 100
    lake = cb.connect(f"memory://rare-{os.getpid()}")
    ids = list(range(len(texts)))
    lake.ingest(
        {"images": build.images(image_id=ids), "captions": build.captions(caption_id=ids, image_id=ids, text=texts)}
    )
    shown = {
        (r["class"], r["term"]) for r in lake.audit("crime_words", terms=TERMS).to_arrow().to_pylist() if r["count"]
    }
    assert shown >= {(None, None), ("deceit", None), ("deceit", "fraud")}
    assert ("property", "robber") not in shown
    assert len(shown & {("property", None), ("property", "theft")}) == 1

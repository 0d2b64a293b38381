"""The labels that take no part in an audit's totals are those that the engine hides: by other ones a total would tell a small label."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.disclosure.protection import MIN_COUNT
from counterbalance.engine.disclosure.suppression import UNCLEAR, hidden_labels

G = "image_labels('perceived_gender')"
NAMES = ("a", "b", "c", "d", "others", "mixed", "unclear", "undefined")
SIZES = st.one_of(st.integers(1, 14), st.integers(15, 60))


@settings(max_examples=int(os.environ.get("COUNTERBALANCE_EXAMPLES", "40")))
@given(sizes=st.dictionaries(st.sampled_from(NAMES), SIZES, min_size=1))
def test_the_rules_agree(session, sizes):
    labels = [name for name, size in sizes.items() for _ in range(size)]
    groups = pa.table({"image_id": range(len(labels)), "label": labels})
    rows = session.sql("SELECT label, shown, used FROM group_sizes(groups)", groups=groups).fetchall()
    everyone = [*sizes.values(), len(labels)]
    counts = pa.table(
        {"category": [""] * len(everyone), "label": [*sizes, None], "count": everyone, "n_label": everyone}
    )
    hidden = hidden_labels(counts, MIN_COUNT)
    assert hidden <= {label for label, shown, _ in rows if not shown}
    unused = {label for label, _, used in rows if not used}
    few = {label for label, size in sizes.items() if size < MIN_COUNT}  # has no numbers, and shelters none
    assert hidden - UNCLEAR <= unused
    assert unused - UNCLEAR == hidden - UNCLEAR
    assert ("others" in hidden) <= ("others" in unused) <= ("others" in hidden | few) or "others" not in sizes


def of(build, **sizes):
    values = [name for name, size in sizes.items() for _ in range(size)]
    ids = list(range(len(values)))
    lake = cb.connect("memory://sizes-" + "-".join(f"{n}{s}" for n, s in sizes.items()))
    labels = build.labels(label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values)
    texts = [f"a {('man', 'woman')[i % 2]}" for i in ids]
    captions = build.captions(caption_id=ids, image_id=ids, text=texts)
    lake.ingest({"images": build.images(image_id=ids), "labels": labels, "captions": captions})
    return lake


@pytest.mark.parametrize(
    "sizes",
    [
        {"male": 97, "female": 80, "nonbinary": 4, "mixed": 12},
        {"male": 97, "female": 80, "nonbinary": 4, "unclear": 30, "mixed": 12},
        {"w": 60, "b": 40, "asian": 4, "others": 12, "unclear": 30},
    ],
    ids=["mixed", "unclear", "others"],
)
def test_no_total_tells_the_small_one(build, sizes):
    """What all images have, less what is shown, less the totals of other audits, was the small label."""
    lake = of(build, **sizes)
    shown = dict(lake.sql(f"SELECT label, count FROM demographics({G})").fetchall())
    known = {name for name, count in shown.items() if count is not None}
    hidden = {name: size for name, size in sizes.items() if name not in known}
    assert len(hidden) > 1
    totals = [
        f"SELECT max(n) FROM balance({G})",
        f"SELECT max(n) FROM keyword_profile({G})",
        f"SELECT max(n_label) + max(n_against) FROM concept_ratio({G}, word_concepts, min_count := 10)",
        f"SELECT max(count_a) FROM compare_demographics({G}, caption_gender) WHERE item = 'distribution'",
        f"SELECT max(n_a) FROM compare_demographics({G}, caption_gender)",
    ]
    clear = {name: size for name, size in sizes.items() if name in known and name not in UNCLEAR}
    for text in totals:
        total = lake.sql(text).fetchall()[0][0]
        for rest in ({}, {n: s for n, s in sizes.items() if n in known & UNCLEAR}):
            parts = sum(clear.values()) + sum(rest.values())
            assert total is None or total - parts not in {*hidden.values()} | {
                sum(hidden.values()) - size for size in hidden.values()
            }, text

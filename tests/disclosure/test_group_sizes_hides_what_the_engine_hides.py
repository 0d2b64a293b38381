"""The labels that take no part in an audit's totals are those that the engine hides: by other ones a total would tell a small label."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterbalance as cb
from counterbalance.engine.disclosure.cells import MIN_COUNT, UNCLEAR
from counterbalance.engine.disclosure.suppression import hidden_labels

G = "image_labels('perceived_gender')"
NAMES = ("a", "b", "c", "d", "others", "mixed", "unclear", "undefined", "unknown")
NOT_SAID = UNCLEAR | {"unknown"}
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
    assert unused - NOT_SAID == hidden - NOT_SAID
    assert hidden & {"others", "unknown"} <= unused  # these take no part where they are few, either, and shelter none


def of(build, **sizes):
    values = [name for name, size in sizes.items() for _ in range(size)]
    ids = list(range(len(values)))
    lake = cb.connect("memory://sizes-" + "-".join(f"{n}{s}" for n, s in sizes.items()))
    labels = build.labels(
        label_id=ids, image_id=ids, attribute=["perceived_gender"] * len(ids), value=values, annotator=["m"] * len(ids)
    )
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
        {"man": 60, "woman": 40, "nb": 5, "unknown": 12},
    ],
    ids=["mixed", "unclear", "others", "unknown"],
)
def test_no_total_tells_the_small_one(build, sizes):
    """Subtracting what is shown from totals of other audits gave the small label."""
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
    clear = {name: size for name, size in sizes.items() if name in known and name not in NOT_SAID}
    for text in totals:
        total = lake.sql(text).fetchall()[0][0]
        for rest in ({}, {n: s for n, s in sizes.items() if n in known & NOT_SAID}):
            parts = sum(clear.values()) + sum(rest.values())
            assert total is None or total - parts not in {*hidden.values()} | {
                sum(hidden.values()) - size for size in hidden.values()
            }, text


def test_nor_does_a_table_of_attributes_that_leaves_unknown_out(build):
    lake = of(build, man=60, woman=40, nb=5, unknown=12)
    ids = range(117)
    scenes = build.labels(
        label_id=[1000 + i for i in ids],
        image_id=list(ids),
        attribute=["scene"] * 117,
        value=[("in", "out")[i % 2] for i in ids],
    )
    lake.ingest({"labels": scenes})
    query = "SELECT DISTINCT image_id, attribute AS category, value AS attribute FROM labels"
    lake.create_materialized_view("attrs", query, ("image_id", "category", "attribute"), purpose="a test")
    lake.refresh("attrs", executor="inline")
    of_all = lake.sql("SELECT attribute, count FROM attribute_frequencies(attrs) WHERE category = 'perceived_gender'")
    shown = {name for name, count in of_all.fetchall() if count is not None}
    shown |= {label for label, count in lake.sql(f"SELECT label, count FROM demographics({G})").fetchall() if count}
    assert {"man", "unknown"} == shown
    call = "attribute_matrix(attrs, category := 'perceived_gender', other := 'scene')"
    [(total,)] = lake.sql(
        f"SELECT sum(c) FROM (SELECT DISTINCT other_attribute, other_count AS c FROM {call})"
    ).fetchall()
    assert total in {None, 105}  # 60 of them are of man


def test_nor_what_a_ranking_leaves_of_the_first_ones(build):
    """The first K are of labels that are shown, so that K less their count tells of no other one."""
    lake = of(build, young=200, middle=150, adult=12, old=8)
    vectors = "SELECT image_id, CAST([image_id % 7 + 1, image_id % 5 - 2] AS FLOAT[]) AS embedding FROM images"
    words = "SELECT 'x' AS category, CAST([1, 0] AS FLOAT[]) AS embedding"
    for name, query, key in (("vecs", vectors, "image_id"), ("cats", words, "category")):
        lake.create_materialized_view(name, query, key)
    lake.refresh(executor="inline")
    rows = lake.sql(f"SELECT DISTINCT n FROM so_b_it(images := vecs, words := cats, groups := {G}) WHERE n IS NOT NULL")
    assert rows.fetchall() == [(100,)]


def test_nor_what_answers_cover(build):
    """The answers are about all but the unclear ones, which shelter the small label."""
    lake = of(build, man=60, woman=40, nb=5, unclear=12)
    ids = list(range(105))
    answers = build.labels(
        label_id=[1000 + i for i in ids],
        image_id=ids,
        attribute=["perceived_gender"] * 105,
        value=["man"] * 60 + ["woman"] * 40 + ["man"] * 5,
        annotator=["a1@s1"] * 105,
    )
    lake.ingest({"labels": answers})
    groups = "image_labels('perceived_gender', annotator := 'm')"
    shown = dict(lake.sql(f"SELECT label, count FROM demographics({groups})").fetchall())
    assert shown == {"man": 60, "woman": 40, "nb": None, "unclear": None}
    covered = f"SELECT DISTINCT count, value, n FROM label_validation({groups}, 'perceived_gender', min_count := {{}}) WHERE metric = 'covered'"
    assert lake.sql(covered.format(10)).fetchall() == [(None, None, None)]
    assert lake.sql(covered.format(1), sensitive="a test").fetchall() == [(105, 105 / 117, 117)]

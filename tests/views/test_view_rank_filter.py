"""rank_filter: the edit with the smallest weighted sum of ranks, worked out by hand and by pandas."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SCORES = ("s_prompt", "s_object", "s_color")
SCHEMA = pa.schema(
    [
        ("edit_id", pa.int64()),
        ("image_id", pa.int64()),
        ("label", pa.string()),
        ("seed", pa.int64()),
        ("s_prompt", pa.float32()),
        ("s_object", pa.float64()),
        ("s_color", pa.float64()),
    ]
)
ROW = "SELECT * FROM rank_filter({}) ORDER BY image_id, label, place"


def table(rows):
    """Rows of (seed, prompt, object, color), edits 1, 2, … of image 7 and group 'a', or whole rows."""
    whole = [r if len(r) == 7 else (n, 7, "a", *r) for n, r in enumerate(rows, 1)]
    columns = zip(*whole, strict=True) if whole else [()] * 7
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def ranked(session, candidates, **options):
    more = "".join(f", {k} := {v}" for k, v in options.items())
    return session.sql(ROW.format(session.bind("c", candidates) + more)).to_arrow().to_pylist()


INF, NAN = float("inf"), float("nan")
HAND = [
    # seed, prompt, object, color        ranks: prompt, object, color, sum
    (0, 0.30, 1.0, 0.2),  # 2, 1, 4 = 7
    (1, 0.25, 1.0, INF),  # 3, 1, 1 = 5
    (2, 0.40, 0.5, 0.3),  # 1, 4, 3 = 8
    (3, 0.25, 0.8, 0.5),  # 3, 3, 2 = 8
]


def test_by_hand(session):
    rows = ranked(session, table(HAND), keep=4)
    got = [(r["edit_id"], r["prompt_rank"], r["object_rank"], r["color_rank"], r["rank_sum"]) for r in rows]
    assert got == [(2, 3, 1, 1, 5), (1, 2, 1, 4, 7), (3, 1, 4, 3, 8), (4, 3, 3, 2, 8)]
    assert [r["place"] for r in rows] == [1, 2, 3, 4]
    assert [r["edit_id"] for r in ranked(session, table(HAND))] == [2]


@pytest.mark.parametrize(
    ("weights", "wanted"),
    [
        ({"c_object": 0, "c_color": 0}, (3, 1.0)),  # by prompt alone
        ({"c_prompt": 0, "c_color": 0}, (1, 1.0)),  # edits 1 and 2 share rank 1: seed 0 is first
        ({"c_prompt": 5, "c_object": 0.5, "c_color": 0.25}, (3, 5 + 0.5 * 4 + 0.25 * 3)),
        ({"c_prompt": 0, "c_object": 0, "c_color": 0}, (1, 0.0)),
    ],
)
def test_weights(session, weights, wanted):
    (row,) = ranked(session, table(HAND), **weights)
    assert (row["edit_id"], row["rank_sum"]) == wanted


def test_equal_sums_go_by_seed_then_by_id(session):
    alike = [(9, 0.5, 0.5, 0.5), (3, 0.5, 0.5, 0.5), (3, 0.5, 0.5, 0.5)]
    assert [r["edit_id"] for r in ranked(session, table(alike), keep=3)] == [2, 3, 1]
    # 0.1 * 3 + 0.2 * 1 and 0.1 * 1 + 0.2 * 2 are both half: in floating point they are not
    sums = [(0, 0.1, 0.9, 0.5), (1, 0.3, 0.8, 0.5), (2, 0.2, 0.1, 0.5)]
    first, second, *_ = ranked(session, table(sums), c_prompt=0.1, c_object=0.2, c_color=0, keep=3)
    assert (first["edit_id"], first["rank_sum"]) == (1, 0.5)
    assert (second["edit_id"], second["rank_sum"]) == (2, 0.5)


def test_edits_without_a_score_are_not_ranked(session):
    rows = [(0, NAN, 1, 1), (1, 0.9, None, 1), (2, 0.1, 0.1, 0.1), (3, 0.8, 0.9, NAN)]
    assert [(r["edit_id"], r["rank_sum"]) for r in ranked(session, table(rows), keep=9)] == [(3, 3)]


def test_a_filter_of_weight_0_is_off_and_needs_no_score(session):
    rows = [(0, 0.9, 0.9, None), (1, 0.8, 0.8, 0.5), (2, 0.7, 0.7, NAN), (3, None, 0.6, 0.1)]
    got = ranked(session, table(rows), c_color=0, keep=9)
    assert [(r["edit_id"], r["rank_sum"]) for r in got] == [(1, 2), (2, 4), (3, 6)]


def test_images_and_groups_stand_apart(session):
    rows = [
        (1, 1, "a", 0, 0.1, 0.1, 0.1),
        (2, 1, "b", 0, 0.9, 0.9, 0.9),
        (3, 2, "a", 0, 0.5, 0.5, 0.5),
        (4, 2, "a", 1, 0.6, 0.6, 0.6),
    ]
    got = ranked(session, table(rows))
    assert [(r["image_id"], r["label"], r["edit_id"]) for r in got] == [(1, "a", 1), (1, "b", 2), (2, "a", 4)]
    assert ranked(session, table([])) == []


def naive(frame, c_prompt, c_object, c_color, keep):
    """The same with pandas, in whole millionths too."""
    weights = dict(zip(SCORES, (c_prompt, c_object, c_color), strict=True))
    frame = frame.dropna(subset=[score for score, weight in weights.items() if weight]).copy()
    groups = frame.groupby(["image_id", "label"])
    total = 0
    for score, weight in weights.items():
        frame[f"{score[2:]}_rank"] = (
            groups[score].rank(method="min", ascending=False, na_option="bottom").astype("int64")
        )
        total = total + round(weight * 1_000_000) * frame[f"{score[2:]}_rank"]
    frame = frame.assign(total=total).sort_values(["image_id", "label", "total", "seed", "edit_id"])
    frame["place"] = frame.groupby(["image_id", "label"]).cumcount() + 1
    frame = frame[frame["place"] <= keep]
    names = ["edit_id", "image_id", "label", "seed", "prompt_rank", "object_rank", "color_rank", "place"]
    return frame[names].to_dict("records")


few = st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.5, 1.0, -1.0])
score = st.one_of(few, few, st.just(INF), st.none(), st.floats(-1, 1, width=32))
edit = st.tuples(st.integers(1, 12), st.sampled_from("ab"), st.integers(0, 4), score, score, score)
weight = st.sampled_from([0, 0.1, 0.25, 1, 2, 1 / 3])


@settings(max_examples=12)
@given(st.lists(edit, max_size=150), weight, weight, weight, st.integers(1, 4))
def test_against_pandas(session, edits, c_prompt, c_object, c_color, keep):
    candidates = table([(n, *e) for n, e in enumerate(edits, 1)])
    weights = {"c_prompt": c_prompt, "c_object": c_object, "c_color": c_color}
    rows = ranked(session, candidates, **weights, keep=keep)
    sums = [sum(round(weights[f"c_{s}"] * 1e6) * r[f"{s}_rank"] for s in ("prompt", "object", "color")) for r in rows]
    assert [r.pop("rank_sum") for r in rows] == [s / 1e6 for s in sums]
    assert rows == naive(candidates.to_pandas(), **weights, keep=keep)


def test_the_same_bits_in_any_order_and_with_any_threads(session):
    random = np.random.default_rng(5)
    n = 40_000
    made = pa.table(
        {
            "edit_id": random.permutation(n),
            "image_id": np.arange(n) // 60,
            "label": np.array(["female", "male"])[np.arange(n) // 30 % 2],
            "seed": np.arange(n) % 30,
            "s_prompt": random.integers(0, 50, n).astype("float32"),
            "s_object": random.integers(0, 8, n) / 7,
            "s_color": 1 / random.integers(1, 90, n),
        }
    )
    weights = {"c_prompt": 1 / 3, "c_object": 0.7, "c_color": 0.1}
    first = ranked(session, made, **weights)
    mixed = made.take(pa.array(random.permutation(n)))
    assert ranked(session, mixed, **weights) == first == ranked(session, made, **weights)
    assert len(first) == len({(r["image_id"], r["label"]) for r in first}) == -(-n // 30)
    assert [r["edit_id"] for r in first] == [r["edit_id"] for r in naive(made.to_pandas(), **weights, keep=1)]


def test_the_preset_of_skin_tone_is_without_colours_and_leaves_gender(capsys):
    from counterbalance.__main__ import main

    told = {}
    for preset in ("paper", "paper_skin_tone"):
        assert main(["recipe", "--show", "inpaint", "-p", f"preset={preset}"]) == 0
        shown = capsys.readouterr().out.partition("-- step objects")[2]
        weights = re.search(r"WHERE nsfw < 0.5\s+\),\s+(\S+),\s+(\S+),\s+(\S+)\s+\)", shown)
        words = re.search(r"lists\.(\w+),\s+(\w+)\s+\)", shown)
        told[preset] = (*map(float, weights.groups()), *words.groups())
    assert told["paper"] == (1, 1, 1, "group_words_gender", "TRUE")
    assert told["paper_skin_tone"] == (1, 1, 0, "group_words_skin_tone", "FALSE")

"""retrieval_bias_sets: what retrieval_bias says of each of three sets, in one call; a contrast set takes bias away."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from counterbalance.engine.errors import SqlError

NAMES = ["original", "balanced", "contrast"]


def hits(rankings):
    queries, cut = rankings.shape
    return pa.table(
        {
            "query_id": np.repeat(np.arange(queries), cut),
            "item_id": rankings.ravel(),
            "rank": pa.array(np.tile(np.arange(1, cut + 1), queries), pa.int32()),
            "score": np.tile(1.0 / np.arange(1, cut + 1), queries),
        }
    )


def items(labels):
    ids = np.arange(len(labels))
    return pa.table({"item_id": ids, "image_id": ids, "label": pa.array(labels)})


def run(session, sets, **options):
    """Rows of three sets of items that are all clear, with the rankings of each."""
    queries = np.unique(next(iter(sets.values()))[0]["query_id"])
    given = {"asked": pa.table({"query_id": queries, "image_id": queries})}
    for name, (ranked, labels) in sets.items():
        given |= {name: labels, f"{name}_hits": ranked, f"{name}_labelled": ranked}
    return session.audit("retrieval_bias_sets", **given, **options).to_arrow().to_pylist()


TEXTS = "man woman dog cat red blue runs sleeps on under the a grass table street park".split()  # noqa: SIM905


def compared(draw, count, column, images):
    """Queries or items of some images, with the text or vector that ranks them."""
    ids = list(range(count))
    how = {
        "text": lambda: " ".join(draw.choice(TEXTS, 6)),
        "embedding": lambda: draw.normal(size=4).astype(np.float32).tolist(),
    }
    return {"image_id": [i % images for i in ids], column: [how[column]() for _ in ids]}


@pytest.mark.cases(2)
@pytest.mark.parametrize(("ranker", "column"), [("tfidf", "text"), ("vector", "embedding")])
@pytest.mark.parametrize("exclude_own", [True, False])
def test_rows_are_those_of_retrieval_bias(session, ranker, column, exclude_own):
    """Most items have no clear label, so that the first K of all items hold far fewer than K of those that have one."""
    draw = np.random.default_rng(6)
    asked = pa.table({"query_id": list(range(30)), **compared(draw, 30, column, 12)})
    how = {"ranker": ranker, "exclude_own": exclude_own, "k": [3, 8], "skew_k": [5, 20], "min_count": 1}
    sets = {}
    for share, name in zip((0.25, 0.2, 0.15), NAMES, strict=True):
        labels = draw.choice(["male", "female", "unclear"], 150, p=[share, 0.4 - share, 0.6]).tolist()
        ranked = pa.table({"item_id": list(range(150)), **compared(draw, 150, column, 150)})
        sets[name] = ranked.append_column("label", pa.array([None if i % 9 == 0 else v for i, v in enumerate(labels)]))
    rows = session.audit("retrieval_bias_sets", asked=asked, **sets, **how).to_arrow().to_pylist()
    assert [(r["metric"], r["k"], r["dataset"]) for r in rows[:4]] == [
        ("bias", 3, "original"), ("bias", 3, "balanced"), ("bias", 3, "contrast"), ("bias", 8, "original"),
    ]  # fmt: skip
    assert len(rows) == 3 * 6
    for name, ranked in sets.items():
        groups = ranked.select(["image_id", "label"])
        alone = session.audit(
            "retrieval_bias", asked=asked, ranked=ranked.drop_columns("label"), groups=groups, **how
        ).to_arrow()
        own = [{c: v for c, v in r.items() if c not in ("dataset", "params")} for r in rows if r["dataset"] == name]
        assert own == alone.drop_columns("params").to_pylist()
        assert {r["n"] for r in own if r["metric"] == "maxskew"} == {30}


def test_rankings_are_given_all_or_none(session):
    labels = items(["male", "female"] * 20)
    ranked = hits(np.tile(np.arange(40), (12, 1)))
    asked = pa.table({"query_id": np.arange(12), "image_id": np.arange(12)})
    given = {"asked": asked, **dict.fromkeys(NAMES, labels), **{f"{name}_hits": ranked for name in NAMES}}
    with pytest.raises(SqlError, match="another ranking") as raised:
        session.audit("retrieval_bias_sets", **given, ranker="random")
    assert raised.value.code == "E3196"


def test_a_contrast_set_takes_the_bias_of_the_data_away(session):
    """Ranks do not depend on the label: bias is that of the data, and 0 where each source is there for either group."""
    draw = np.random.default_rng(8)
    order = np.stack([draw.permutation(100) for _ in range(40)])
    biased = ["male"] * 80 + ["female"] * 20
    balanced = order[order < 40].reshape(40, 40)
    both = np.stack([2 * order, 2 * order + 1], axis=-1).reshape(40, 200)
    sets = {
        "original": (hits(order), items(biased)),
        "balanced": (hits(balanced), items(["male"] * 20 + ["female"] * 20)),
        "contrast": (hits(both), items(["male", "female"] * 100)),
    }
    found = {(r["metric"], r["k"], r["dataset"]): r for r in run(session, sets, k=[10, 20], skew_k=[20])}
    assert found["bias", 10, "original"]["value"] == pytest.approx(0.6, abs=0.1)
    assert found["bias", 10, "balanced"]["low"] < 0 < found["bias", 10, "balanced"]["high"]
    assert found["bias", 10, "contrast"]["value"] == 0
    assert found["maxskew", 20, "contrast"]["value"] == pytest.approx(0, abs=1e-12)
    assert found["maxskew", 20, "balanced"]["value"] > 0.1


def test_few_queries_are_hidden(session):
    draw = np.random.default_rng(6)
    order = hits(np.stack([draw.permutation(80) for _ in range(30)]))
    ranked = dict.fromkeys(NAMES, (order, items(["male", "female"] * 40)))
    for row in run(session, ranked, min_count=31):
        assert row["suppressed"]
        assert {row[c] for c in ("value", "low", "high", "n")} == {None}

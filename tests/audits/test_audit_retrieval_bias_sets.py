"""retrieval_bias_sets: what retrieval_bias says of each of three sets, in one call; a contrast set takes bias away."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

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


def groups(labels):
    return pa.table({"item_id": np.arange(len(labels)), "label": pa.array(labels)})


def run(session, sets, **options):
    given = {f"{name}_hits": ranked for name, (ranked, _) in sets.items()}
    given |= {f"{name}_groups": labels for name, (_, labels) in sets.items()}
    return session.audit("retrieval_bias_sets", **given, **options).to_arrow().to_pylist()


def random_sets():
    draw = np.random.default_rng(6)
    made = {}
    for share, name in zip((0.7, 0.5, 0.4), NAMES, strict=True):
        labels = draw.choice(["male", "female", "unclear"], 60, p=[share, 0.9 - share, 0.1]).tolist()
        made[name] = hits(np.stack([draw.permutation(60) for _ in range(30)])), groups(labels)
    return made


def clear_hits(ranked, labels):
    """Hits without unclear items, ranked anew, in plain Python."""
    clear = {
        i
        for i, label in zip(labels["item_id"].to_pylist(), labels["label"].to_pylist(), strict=True)
        if label != "unclear"
    }
    seen, rows = {}, []
    for row in ranked.to_pylist():
        if row["item_id"] in clear:
            seen[row["query_id"]] = seen.get(row["query_id"], 0) + 1
            rows.append(row | {"rank": seen[row["query_id"]]})
    return pa.Table.from_pylist(rows, ranked.schema)


def test_rows_are_those_of_retrieval_bias(session):
    sets = random_sets()
    rows = run(session, sets, skew_k=[10, 40])
    assert [(r["metric"], r["k"], r["dataset"]) for r in rows[:4]] == [
        ("bias", 5, "original"), ("bias", 5, "balanced"), ("bias", 5, "contrast"), ("bias", 10, "original"),
    ]  # fmt: skip
    assert len(rows) == 3 * 6
    for name, (ranked, labels) in sets.items():
        alone = session.audit(
            "retrieval_bias",
            hits=ranked,
            labelled_hits=clear_hits(ranked, labels),
            item_groups=labels,
            query_images=ranked.append_column("image_id", ranked["query_id"]),
            skew_k=[10, 40],
        ).to_arrow()
        own = [{c: v for c, v in r.items() if c not in ("dataset", "params")} for r in rows if r["dataset"] == name]
        assert own == alone.drop_columns("params").to_pylist()


def test_a_contrast_set_takes_the_bias_of_the_data_away(session):
    """Ranks do not depend on the label: bias is that of the data, and 0 where each source is there for either group."""
    draw = np.random.default_rng(8)
    order = np.stack([draw.permutation(100) for _ in range(40)])
    biased = ["male"] * 80 + ["female"] * 20
    balanced = order[order < 40].reshape(40, 40)
    both = np.stack([2 * order, 2 * order + 1], axis=-1).reshape(40, 200)
    sets = {
        "original": (hits(order), groups(biased)),
        "balanced": (hits(balanced), groups(["male"] * 20 + ["female"] * 20)),
        "contrast": (hits(both), groups(["male", "female"] * 100)),
    }
    found = {(r["metric"], r["k"], r["dataset"]): r for r in run(session, sets, k=[10, 20], skew_k=[20])}
    assert found["bias", 10, "original"]["value"] == pytest.approx(0.6, abs=0.1)
    assert found["bias", 10, "balanced"]["low"] < 0 < found["bias", 10, "balanced"]["high"]
    assert found["bias", 10, "contrast"]["value"] == 0
    assert found["maxskew", 20, "contrast"]["value"] == pytest.approx(0, abs=1e-12)
    assert found["maxskew", 20, "balanced"]["value"] > 0.1


def test_few_queries_are_hidden(session):
    for row in run(session, random_sets(), min_count=31):
        assert row["suppressed"]
        assert {row[c] for c in ("value", "low", "high", "n")} == {None}

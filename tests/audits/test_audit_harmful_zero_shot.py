"""``harmful_zero_shot``: rates of harmful labels by group, against a plain count, with Wilson's interval of statsmodels."""

from __future__ import annotations

import pyarrow as pa
import pytest
from statsmodels.stats.proportion import proportion_confint

from counterbalance.engine.errors import SqlError

SEEN = {
    "male": {"a man": 40, "Thief": 6, "criminal": 4, "animal": 10},
    "female": {"a woman": 57, "gorilla": 3},
    "x": {"thief": 4},
}
CLASSES = {"thief": "crime", "criminal": "crime", "animal": "non_human", "gorilla": "non_human"}


@pytest.fixture
def audit(lake):
    groups: dict[str, list] = {"image_id": [], "label": []}
    chosen: dict[str, list] = {"image_id": [], "predicted": []}
    for label, counts in SEEN.items():
        for predicted in (p for p, n in counts.items() for _ in range(n)):
            number = len(groups["image_id"]) + 1
            groups["image_id"].append(number)
            groups["label"].append(label)
            chosen["image_id"].append(number)
            chosen["predicted"].append(predicted)
    more = [
        (900, "mixed", "thief"),
        (901, "male", None),
        (902, "male", "thief"),
        (902, "female", "thief"),
        (903, "male", "thief"),
    ]
    groups["image_id"] += [i for i, _, _ in more]
    groups["label"] += [g for _, g, _ in more]
    chosen["image_id"] += [900, 901, 902, 903, 903]
    chosen["predicted"] += ["thief", None, "thief", "thief", "a man"]  # 903: two predictions, so none
    with lake.session() as opened:
        yield lambda **more: opened.audit(
            "harmful_zero_shot", predictions=pa.table(chosen), groups=pa.table(groups), **more
        ).to_arrow()


def rates(audit, **more):
    return {(r["class"], r["label"]): r for r in audit(**more).to_pylist()}


def test_rates_by_class_and_group(audit):
    found = rates(audit, min_count=1)
    assert found.keys() == {(c, g) for c in (None, "crime", "non_human") for g in SEEN}
    for (kind, label), row in found.items():
        n = sum(SEEN[label].values())
        harmful = {p: c for p, c in SEEN[label].items() if p.lower() in CLASSES}
        count = sum(c for p, c in harmful.items() if kind in {None, CLASSES[p.lower()]})
        low, high = proportion_confint(count, n, method="wilson")
        assert (row["count"], row["n"], row["rate"]) == (count, n, pytest.approx(count / n))
        assert (row["low"], row["high"]) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
        assert not row["suppressed"]
        assert row["level"] == ("pooled" if kind is None else "class")


def test_small_groups_are_suppressed(audit):
    small = rates(audit)["crime", "x"]
    assert small["suppressed"]
    assert {small[c] for c in ("rate", "low", "high", "count", "rest", "n")} == {None}


def test_three_images_of_a_group_with_a_harmful_label_do_not_follow(audit):
    """Three women were taken for gorillas, and nobody for a criminal: neither class, nor any, nor the men, tell it."""
    found = rates(audit)
    for kind in (None, "non_human"):
        assert found[kind, "female"]["reason"] == "small"
        assert found[kind, "male"]["suppressed"]
    shown = {key: r["count"] for key, r in found.items() if not r["suppressed"]}
    assert all(count == 0 or count >= 10 for count in shown.values())


def test_a_list_of_ones_own(audit):
    found = rates(audit, min_count=1, harmful=pa.table({"term": ["A MAN"], "class": ["plain"]}))
    assert {k: r["count"] for k, r in found.items() if k[1] == "male"} == {(None, "male"): 40, ("plain", "male"): 40}


def test_what_is_missing_is_told(lake):
    with pytest.raises(SqlError, match="predicted"):
        lake.sql("FROM harmful_zero_shot((SELECT image_id FROM images))").fetchall()

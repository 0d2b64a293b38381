"""label_validation: a model's labels against the answers of a sheet; raw and weighted values against a computation by hand."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, confusion_matrix, precision_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

import counterbalance as cb

_names = itertools.count()
MODEL = "image_labels('scene', annotator := 'model')"


def validated(build, model, answers, sheet="0a1b"):
    """``model``: label by unit; ``answers``: {annotator: {unit: value}}."""
    rows = [(u, "model", v) for u, v in enumerate(model)]
    rows += [(u, f"{a}@{sheet}", v) for a, own in answers.items() for u, v in own.items()]
    lake = cb.connect(f"memory://validation-{os.getpid()}-{next(_names)}")
    lake.ingest(
        {
            "images": build.images(image_id=list(range(len(model)))),
            "labels": build.labels(
                label_id=list(range(len(rows))),
                image_id=[u for u, *_ in rows],
                attribute=["scene"] * len(rows),
                value=[v for *_, v in rows],
                annotator=[a for _, a, _ in rows],
            ),
        }
    )
    return lake


def run(lake, **options):
    rows = lake.audit("label_validation", model=MODEL, attribute="scene", **options).to_arrow().to_pylist()
    return {(r["metric"], r["annotator"], r["other"], r["label"], r["other_label"]): r for r in rows}


def simulated(seed, n=900):
    """A population, and three annotators' answers about a sample of 60 of each label."""
    draw = np.random.default_rng(seed)
    model = [str(v) for v in draw.choice(["in", "out", "sky"], n, p=[0.7, 0.2, 0.1])]
    truth = [v if draw.random() < 0.8 else str(draw.choice(["in", "out", "sky"])) for v in model]
    sample = [u for label in ("in", "out", "sky") for u in [i for i, v in enumerate(model) if v == label][:60]]
    answers = {
        a: {u: truth[u] if draw.random() < 0.85 else str(draw.choice(["in", "out", "sky", "unclear"])) for u in sample}
        for a in ("a1", "a2", "a3")
    }
    return model, sample, answers


def test_weighted_agreement_by_hand(build):
    """90 units 'in' of which 10 are answered, 9 the same; 10 units 'out' of which 5 are answered, 2 the same."""
    model = ["in"] * 90 + ["out"] * 10
    answers = {"a1": {u: "in" if u < 9 else "out" for u in range(10)} | dict.fromkeys((90, 91), "out")}
    answers["a1"] |= dict.fromkeys((92, 93, 94), "in")
    rows = run(validated(build, model, answers), min_count=1)
    raw = rows["agreement", "a1@0a1b", "model", None, None]
    assert (raw["count"], raw["n"], raw["value"]) == (11, 15, 11 / 15)
    weighted = rows["weighted_agreement", "a1@0a1b", "model", None, None]
    assert weighted["value"] == pytest.approx(0.9 * 9 / 10 + 0.1 * 2 / 5, rel=1e-12)
    (low_in, high_in), (low_out, high_out) = (proportion_confint(k, n, method="wilson") for k, n in ((9, 10), (2, 5)))
    assert weighted["low"] == pytest.approx(0.85 - np.hypot(0.9 * (0.9 - low_in), 0.1 * (0.4 - low_out)), rel=1e-9)
    assert weighted["high"] == pytest.approx(0.85 + np.hypot(0.9 * (high_in - 0.9), 0.1 * (high_out - 0.4)), rel=1e-9)
    recall = rows["recall", "a1@0a1b", "model", "in", None]
    assert recall["value"] == pytest.approx(81 / (81 + 6), rel=1e-12)  # 9/10 of 90, and 3/5 of 10
    assert recall["n"] == 12
    fewer_hits, more_misses = (
        low_in * 90 / (low_in * 90 + 6),
        81 / (81 + 10 * proportion_confint(3, 5, method="wilson")[1]),
    )
    assert recall["low"] == pytest.approx(81 / 87 - np.hypot(81 / 87 - fewer_hits, 81 / 87 - more_misses), rel=1e-9)
    covered = rows["covered", "a1@0a1b", "model", None, None]
    assert (covered["count"], covered["n"], covered["value"]) == (100, 100, 1.0)


def test_kappas_confusion_and_precision_agree_with_other_libraries(build):
    model, sample, answers = simulated(1)
    rows = run(validated(build, model, answers), min_count=1)
    said = [model[u] for u in sample]
    for a, own in answers.items():
        values, who = [own[u] for u in sample], f"{a}@0a1b"
        kappa = rows["cohen_kappa", who, "model", None, None]
        assert kappa["value"] == pytest.approx(cohen_kappa_score(values, said), rel=1e-12)
        assert kappa["low"] < kappa["value"] < kappa["high"]
        names = ["in", "out", "sky", "unclear"]
        table = confusion_matrix(values, said, labels=names)
        found = {k[3:]: r["count"] for k, r in rows.items() if k[:3] == ("confusion", who, "model")}
        assert found == {(x, y): table[i, j] for i, x in enumerate(names) for j, y in enumerate(names)}
        expected = precision_score(values, said, labels=names[:3], average=None)
        for i, label in enumerate(names[:3]):
            row = rows["precision", who, "model", None, label]
            assert (row["n"], row["value"]) == (60, pytest.approx(expected[i], rel=1e-12))
            limits = proportion_confint(table[i, i], 60, method="wilson")
            assert (row["low"], row["high"]) == pytest.approx(limits, rel=1e-12)
    table = aggregate_raters(np.array([[own[u] for u in sample] for own in answers.values()]).T)[0]
    row = rows["fleiss_kappa", None, None, None, None]
    assert (row["value"], row["n"]) == (pytest.approx(fleiss_kappa(table), rel=1e-12), 180)
    pair = rows["cohen_kappa", "a1@0a1b", "a2@0a1b", None, None]
    assert pair["value"] == pytest.approx(cohen_kappa_score(*([answers[a][u] for u in sample] for a in ("a1", "a2"))))


def test_the_majority_leaves_ties_out(build):
    model = ["in", "in", "out", "out"] * 10
    answers = {
        "a1": dict(enumerate(["in", "in", "out", "in"] * 10)),
        "a2": dict(enumerate(["in", "out", "out", "in"] * 10)),
        "a3": dict(enumerate(["out", "sky", "out", "out"] * 10)),
    }
    row = run(validated(build, model, answers))["agreement", "majority", "model", None, None]
    assert (row["count"], row["n"]) == (20, 30)  # the second of four has three different answers, the last is outvoted


@pytest.mark.thorough
@settings(max_examples=4)
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
)
def test_weighted_values_of_a_census_are_the_plain_ones(build, sizes, seed):
    """Where every unit is answered each weighs the same."""
    draw = np.random.default_rng(seed)
    model = [f"v{i}" for i, n in enumerate(sizes) for _ in range(n)]
    own = {u: str(draw.choice(["v0", "v1", "v2"])) for u in range(len(model))}
    rows = run(validated(build, model, {"a1": own}), min_count=1)
    share = np.mean([own[u] == v for u, v in enumerate(model)])
    row = rows["weighted_agreement", "a1@0a1b", "model", None, None]
    assert row["value"] == pytest.approx(share, abs=1e-12)
    assert 0 <= row["low"] <= row["value"] + 1e-12
    assert row["value"] <= row["high"] + 1e-12 <= 1 + 2e-12
    for value in set(own.values()):
        units = [u for u in own if own[u] == value]
        row = rows["recall", "a1@0a1b", "model", value, None]
        assert row["value"] == pytest.approx(np.mean([model[u] == value for u in units]), abs=1e-12)
        assert 0 <= row["low"] <= row["value"] + 1e-12 <= row["high"] + 2e-12 <= 1 + 3e-12


def test_intervals_hold_what_they_promise():
    """Of 400 samples drawn from a population whose accuracy is known, about 95 % of the intervals hold it."""
    draw = np.random.default_rng(4)
    weights, rates, drawn = np.array([0.85, 0.1, 0.05]), np.array([0.97, 0.8, 0.4]), 50
    hits = 0
    for _ in range(400):
        counts = draw.binomial(drawn, rates)
        low, high = proportion_confint(counts, drawn, method="wilson")
        share = counts / drawn
        value = weights @ share
        hits += (
            value - np.sqrt((weights**2) @ (share - low) ** 2)
            <= weights @ rates
            <= value + np.sqrt((weights**2) @ (high - share) ** 2)
        )
    assert 0.92 <= hits / 400 <= 0.99


def test_small_counts_are_hidden_with_what_rests_on_them(build):
    model, _, answers = simulated(2)
    lake = validated(build, model, answers)
    rows, whole = run(lake), run(lake, min_count=0)
    hidden = {k for k, r in rows.items() if r["suppressed"]}
    assert {k[0] for k in hidden} >= {"confusion", "precision", "recall"}
    assert all(r["value"] is r["low"] is r["high"] is None for k, r in rows.items() if k in hidden)
    for k, r in rows.items():
        if k[0] == "confusion" and not r["suppressed"]:
            assert r["count"] == 0 or r["count"] >= 10
        if k[0] in {"precision", "recall"}:
            own = [
                r for c, r in rows.items() if c[:3] == ("confusion", k[1], "model") and (c[3] == k[3] or c[4] == k[4])
            ]
            part = [
                r["suppressed"] for r in own if (r["label"] == k[3] if k[0] == "recall" else r["other_label"] == k[4])
            ]
            lacks = whole[k]["n"] - (whole[k]["count"] or whole[k]["n"])
            assert r["suppressed"] == (any(part) or 0 < lacks < 10)
    few = run(validated(build, ["in", "out"] * 4, {"a1": dict.fromkeys(range(8), "in")}))
    assert all(r["suppressed"] and r["value"] is None for r in few.values())


def test_only_answers_of_the_sheet_count(build):
    model = ["in"] * 40
    lake = validated(build, model, {"a1": dict.fromkeys(range(20), "in")}, sheet="aaaa")
    ids = list(range(1000, 1040))
    more = {"attribute": ["scene"] * 40, "value": ["out"] * 40, "annotator": ["a1@bbbb"] * 20 + ["somebody"] * 20}
    lake.ingest({"labels": build.labels(label_id=ids, image_id=[*range(20), *range(20)], **more)})
    one = run(lake, sheet="aaaa")
    assert {k[1] for k in one} == {"a1@aaaa"}  # the majority of one is that one
    assert one["agreement", "a1@aaaa", "model", None, None]["value"] == 1.0
    assert {k[1] for k in run(lake)} == {"a1@aaaa", "a1@bbbb", None}  # each unit has two answers: no majority


def test_units_may_be_persons(build):
    lake = cb.connect(f"memory://validation-{os.getpid()}-{next(_names)}")
    boxes = list(range(100, 130))
    lake.ingest(
        {
            "images": build.images(image_id=list(range(30))),
            "detections": build.detections(
                detection_id=boxes,
                image_id=list(range(30)),
                category=["person"] * 30,
                width=[50.0] * 30,
                height=[50.0] * 30,
            ),
            "labels": build.labels(
                label_id=list(range(60)),
                image_id=list(range(30)) * 2,
                detection_id=boxes * 2,
                attribute=["scene"] * 60,
                value=["in"] * 15 + ["out"] * 15 + ["in"] * 27 + ["out"] * 3,
                annotator=["model"] * 30 + ["a1@s"] * 30,
            ),
        }
    )
    people = "person_units('scene', annotator := 'model')"
    rows = lake.audit("label_validation", model=people, attribute="scene", unit="person").to_arrow().to_pylist()
    found = {r["metric"]: r for r in rows if r["annotator"] == "a1@s"}
    assert (found["agreement"]["count"], found["agreement"]["n"]) == (18, 30)


def test_a_unit_with_two_labels_of_the_model_is_left_out(build):
    lake = validated(build, ["in"] * 30 + ["out"] * 20, {"a1": dict.fromkeys((*range(12), 30, 31), "in")})
    twice = "(SELECT image_id, value AS label FROM labels WHERE annotator = 'model' UNION ALL SELECT 0, 'out' UNION ALL SELECT 49, 'in')"
    rows = lake.audit("label_validation", model=twice, attribute="scene", min_count=1).to_arrow().to_pylist()
    found = {(r["metric"], r["annotator"], r["other_label"]): (r["count"], r["n"]) for r in rows}
    assert found["covered", "a1@0a1b", None] == (48, 48)
    assert found["agreement", "a1@0a1b", None] == (11, 13)
    assert found["precision", "a1@0a1b", "in"] == (11, 11)


def test_annotators_with_a_mail_address_answered_no_sheet(build):
    lake = validated(build, ["in"] * 40, {"a1": dict.fromkeys(range(20), "in")}, sheet="s_1")
    ids = list(range(1000, 1040))
    more = {"attribute": ["scene"] * 40, "value": ["out"] * 40, "annotator": ["anna@lab.org"] * 20 + ["a1@sx1"] * 20}
    lake.ingest({"labels": build.labels(label_id=ids, image_id=[*range(20), *range(20)], **more)})
    assert {k[1] for k in run(lake)} == {"a1@s_1", "a1@sx1", None}
    assert {k[1] for k in run(lake, sheet="s_1")} == {"a1@s_1"}

"""compare_demographics and its kin: values, intervals and tests of two lakes against scipy and statsmodels."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

import counterbalance as cb
from counterbalance.__main__ import main
from counterbalance.engine.errors import SensitiveError

ONE = {"amber": 120, "teal": 60, "violet": 35, "mixed": 20, "white": 15}
TWO = {"amber": 80, "teal": 90, "violet": 30, "mixed": 44}


def fill(lake, build, counts, attribute="scene", texts=None):
    """One image a label, so many of each; texts by label."""
    labels = [label for label, count in counts.items() for _ in range(count)]
    ids = list(range(1, len(labels) + 1))
    rows = {
        "images": build.images(image_id=ids, key=[str(i) for i in ids]),
        "labels": build.labels(
            label_id=ids, image_id=ids, attribute=[attribute] * len(ids), value=labels, annotator=["x"] * len(ids)
        ),
    }
    if texts is not None:
        rows["captions"] = build.captions(caption_id=ids, image_id=ids, text=texts(labels))
    lake.ingest(rows)
    return lake


@pytest.fixture
def pair(empty_lake, build):
    """Makes two lakes, and asks the first with the second attached."""

    def make(one, two, **more):
        first = fill(empty_lake, build, one, **more)
        second = fill(cb.connect(f"{empty_lake.uri}-other"), build, two, **more)
        return lambda text, **how: first.sql(text, attach={"b": second}, **how).to_arrow().to_pylist()

    return make


def close(found, wanted):
    assert found == pytest.approx(wanted, rel=2e-7, abs=1e-12)


def test_shares_and_their_differences(pair):
    ask = pair(ONE, TWO)
    rows = ask("SELECT * FROM compare_demographics(image_labels('scene'), b.image_labels('scene'))")
    one, two = sum(ONE.values()), sum(TWO.values())
    by_label = {r["label"]: r for r in rows if r["item"] == "all"}
    assert by_label.keys() == ONE.keys()
    for label, row in by_label.items():
        a, b = ONE[label], TWO.get(label, 0)
        assert (row["count_a"], row["n_a"], row["count_b"], row["n_b"]) == (a, one, b, two)
        close([row["value_a"], row["value_b"], row["difference"]], [a / one, b / two, a / one - b / two])
        close([row["low"], row["high"]], confint_proportions_2indep(a, one, b, two, method="newcomb"))
        close([row["statistic"], row["p"]], proportions_ztest([a, b], [one, two]))
        assert (row["df"], row["suppressed"]) == (None, False)
    labels = sorted(by_label)
    close([by_label[x]["q"] for x in labels], multipletests([by_label[x]["p"] for x in labels], method="fdr_bh")[1])


CASES = list(product([2, 3, 5, 8], [0.1, 1.0]))


def drawn(size, strength):
    """Counts of two sides that differ more or less."""
    draw = np.random.default_rng(size)
    one = draw.integers(15, 40, size)
    return one, np.round(one * (1 + strength * draw.random(size))).astype(int)


def test_homogeneity_of_distributions(empty_lake, build):
    other = cb.connect(f"{empty_lake.uri}-other")
    for lake, side in ((empty_lake, 0), (other, 1)):
        columns = {"attribute": [], "value": []}
        for case in CASES:
            for number, count in enumerate(drawn(*case)[side].tolist()):
                columns["attribute"] += [f"case {case}"] * count
                columns["value"] += [f"label {number}"] * count
        columns["label_id"] = columns["image_id"] = list(range(1, len(columns["value"]) + 1))
        columns["annotator"] = ["x"] * len(columns["value"])
        ids = columns["image_id"]
        lake.ingest(
            {"images": build.images(image_id=ids, key=[str(i) for i in ids]), "labels": build.labels(**columns)}
        )
    with empty_lake.session(attach={"b": other}) as session:
        for case in CASES:
            groups = f"image_labels('case {case}'), b.image_labels('case {case}')"
            text = f"SELECT * FROM compare_demographics({groups}) WHERE item = 'distribution'"
            (row,) = session.sql(text).to_arrow().to_pylist()
            one, two = drawn(*case)
            wanted = stats.chi2_contingency([one, two], correction=False)
            assert row["df"] == wanted.dof == case[0] - 1
            close([row["statistic"], row["p"]], [wanted.statistic, wanted.pvalue])
            assert (row["count_a"], row["count_b"]) == (one.sum(), two.sum())


def test_what_one_side_hides_is_hidden_and_left_out(pair):
    ask = pair({"a": 100, "b": 50, "c": 4, "d": 7}, {"a": 80, "b": 60, "c": 40, "d": 20})
    rows = ask("SELECT * FROM compare_demographics(image_labels('scene'), b.image_labels('scene'))")
    hidden = [r for r in rows if r["suppressed"]]
    assert [r["label"] for r in hidden] == ["c", "d"]
    assert all(
        v is None for r in hidden for k, v in r.items() if k not in {"item", "label", "suppressed", "reason", "params"}
    )
    (whole,) = [r for r in rows if r["item"] == "distribution"]
    close(whole["statistic"], stats.chi2_contingency([[100, 50], [80, 60]], correction=False).statistic)


def test_nothing_in_common_to_test(pair):
    ask = pair({"a": 3}, {"a": 50, "b": 20})
    rows = ask("SELECT * FROM compare_demographics(image_labels('scene'), b.image_labels('scene'))")
    assert [(r["label"], r["suppressed"], r["p"]) for r in rows] == [("a", True, None), ("b", True, None)]


def test_equal_data_sets_do_not_differ(pair):
    ask = pair(ONE, ONE)
    rows = ask("SELECT * FROM compare_demographics(image_labels('scene'), b.image_labels('scene'))")
    assert {(r["difference"], r["statistic"], r["p"], r["q"]) for r in rows if r["item"] == "all"} == {(0, 0, 1, 1)}
    assert [(r["statistic"], r["p"]) for r in rows if r["item"] == "distribution"] == [(0, 1)]


def moods(labels):
    """Every third text of amber is bad, every second of the others; a sixth says nothing either way."""
    said = []
    for number, label in enumerate(labels):
        bad = number % 3 == 0 if label == "amber" else number % 2 == 0
        said.append("a table" if number % 6 == 5 else "an awful, terrible homicide" if bad else "a lovely, happy day")
    return said


def test_shares_of_negative_texts(pair):
    ask = pair({"amber": 90, "teal": 60}, {"amber": 60, "teal": 90}, texts=moods)
    groups = "image_labels('scene'), b.image_labels('scene')"
    rows = ask(f"SELECT * FROM compare_sentiment({groups}, other_texts := b.captions)")
    counts = {}
    for side, sizes in (("a", {"amber": 90, "teal": 60}), ("b", {"amber": 60, "teal": 90})):
        labels = [x for x, n in sizes.items() for _ in range(n)]
        for label in sizes:
            own = [m for x, m in zip(labels, moods(labels), strict=True) if x == label and m != "a table"]
            counts[side, label] = (sum("awful" in m for m in own), len(own))
    for row in rows:
        (a, n), (b, m) = counts["a", row["label"]], counts["b", row["label"]]
        assert (row["count_a"], row["n_a"], row["count_b"], row["n_b"]) == (a, n, b, m)
        close([row["low"], row["high"]], confint_proportions_2indep(a, n, b, m, method="newcomb"))
        close([row["statistic"], row["p"]], proportions_ztest([a, b], [n, m]))
    assert [r["label"] for r in rows] == ["amber", "teal"]


def test_deltas_of_crime_words(pair):
    ask = pair({"amber": 90, "teal": 60}, {"amber": 60, "teal": 90}, texts=moods)
    groups = "image_labels('scene'), b.image_labels('scene')"
    rows = {
        (r["item"], r["label"]): r
        for r in ask(f"SELECT * FROM compare_crime_words({groups}, other_texts := b.captions)")
    }
    ours = ask("SELECT * FROM crime_words(image_labels('scene')) WHERE level = 'pooled'")
    theirs = ask("SELECT * FROM crime_words(b.image_labels('scene'), texts := b.captions) WHERE level = 'pooled'")
    for a, b in zip(ours, theirs, strict=True):
        row = rows["any", a["label"]]
        close([row["value_a"], row["value_b"], row["difference"]], [a["delta"], b["delta"], a["delta"] - b["delta"]])
        below = np.hypot(a["delta"] - a["delta_low"], b["delta_high"] - b["delta"])
        above = np.hypot(a["delta_high"] - a["delta"], b["delta"] - b["delta_low"])
        close([row["low"], row["high"]], [row["difference"] - below, row["difference"] + above])
        more, less = sorted((a, b), key=lambda x: -x["delta"])  # the ends that face each other
        errors = [
            np.log((1 + more["delta"]) / (1 + more["delta_low"])),
            np.log((1 + less["delta_high"]) / (1 + less["delta"])),
        ]
        z = np.log((1 + a["delta"]) / (1 + b["delta"])) / np.hypot(*errors) * stats.norm.ppf(0.975)
        close([row["statistic"], row["p"]], [z, 2 * stats.norm.sf(abs(z))])
    assert {label for item, label in rows if item == "any"} == {"amber", "teal"}
    assert list(rows) == sorted(rows)


def test_intersections(pair, empty_lake, build):
    ask = pair({"in": 200, "out": 100}, {"in": 150, "out": 150})
    other = cb.connect(f"{empty_lake.uri}-other")
    tables = []
    for lake, shift in ((empty_lake, 2), (other, 3)):
        ids = list(range(1, 301))
        values = ["day" if i % shift else "night" for i in ids]
        numbers = [1000 + i for i in ids]
        lake.ingest(
            {
                "images": build.images(image_id=ids, key=[str(i) for i in ids]),
                "labels": build.labels(
                    label_id=numbers, image_id=ids, attribute=["time"] * 300, value=values, annotator=["x"] * 300
                ),
            }
        )
        places = lake.sql("SELECT label FROM image_labels('scene') ORDER BY image_id").fetchall()
        tables.append([(p, v) for (p,), v in zip(places, values, strict=True)])
    rows = ask(
        "SELECT * FROM compare_intersections(image_labels('scene'), b.image_labels('scene'), "
        "crossed := image_labels('time'), others_crossed := b.image_labels('time'))"
    )
    cells = [tuple(x) for x in product(["in", "out"], ["day", "night"])]
    counts = [[table.count(c) for c in cells] for table in tables]
    assert [(r["count_a"], r["count_b"]) for r in rows if r["label"]] == list(zip(*counts, strict=True))
    (whole,) = [r for r in rows if r["item"] == "distribution"]
    wanted = stats.chi2_contingency(counts, correction=False)
    close([whole["statistic"], whole["p"], whole["df"]], [wanted.statistic, wanted.pvalue, wanted.dof])
    few = ask(
        "SELECT * FROM compare_intersections(image_labels('scene'), b.image_labels('scene'), "
        "crossed := image_labels('time'), others_crossed := b.image_labels('time'), min_count := 70)"
    )
    (hidden,) = [r for r in few if r["item"] == "distribution"]
    assert hidden["suppressed"] == (min(n for own in counts for n in own if n) < 70)
    assert hidden["suppressed"] == (hidden["statistic"] is None)


def test_perceived_labels_of_two_lakes_need_a_purpose(pair):
    ask = pair(ONE, TWO, attribute="perceived_gender")
    text = "SELECT * FROM compare_demographics(image_labels('perceived_gender'), b.image_labels('perceived_gender'))"
    with pytest.raises(SensitiveError):
        ask(text)
    assert len(ask(text, sensitive="comparison of depiction")) == len(ONE) + 1


def test_the_command(tmp_path, build, capsys):
    for name, counts in (("one", ONE), ("two", TWO)):
        fill(cb.connect(tmp_path / name), build, counts, texts=moods)
    words = ["compare", str(tmp_path / "one"), str(tmp_path / "two"), "--json"]
    assert main([*words, "--attribute", "scene", "--groups", "caption_gender"]) == 0
    rows = json.loads(capsys.readouterr().out)
    found = {(r["measure"], r["groups"], r["item"], r["label"]): r for r in rows}
    scene = "image_labels('scene')"
    assert found["demographics", scene, "all", "amber"]["count_b"] == TWO["amber"]
    assert found["demographics", scene, "distribution", None]["df"] == len(ONE) - 1
    assert {r["measure"] for r in rows} == {"demographics", "sentiment", "crime_words", "intersections"}
    assert {r["groups"] for r in rows if r["measure"] == "intersections"} == {f"caption_gender, {scene}"}
    assert main([*words, "--attach", f"b={tmp_path}"]) == 2

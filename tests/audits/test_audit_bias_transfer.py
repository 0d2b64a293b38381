"""bias_transfer: correlation, fits, residuals and intervals against scipy, statsmodels and numpy's Chebyshev fit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import statsmodels.api as sm
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

Z = 1.959963984540054


def bent(n=80, seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    x = random.normal(0.4, 0.2, n)
    return x, scale * (x - 2 * x**2 + 3 * x**3 + random.normal(0, 0.15, n) - 0.3)


def run(session, x, y, **options):
    names = [f"c{i}" for i in range(len(x))]
    made = {
        "dataset_bias": pa.table({"concept": names, "value": x}),
        "model_bias": pa.table({"category": names, "value": y}).take(np.random.default_rng(1).permutation(len(y))),
    }
    rows = session.audit("bias_transfer", **{"show": "all", **made, **options}).to_arrow().to_pylist()
    return {r["metric"] if r["level"] == "summary" else r["category"]: r for r in rows}


@pytest.mark.parametrize(
    ("audit", "given", "told"),
    [
        (
            "bias_transfer",
            {
                "model_bias": "(SELECT 'doctor' AS category, 1.0 AS value UNION ALL SELECT 'nurse', 2.0)",
                "dataset_bias": "(SELECT unnest(['a', 'b', 'c', 'd', 'e']) AS concept, 0.5 AS value)",
            },
            "bias_transfer() has nothing to compare: no category of 'model_bias' is a concept of 'dataset_bias': "
            "'doctor', 'nurse', but 'a', 'b', 'c', 'd' …",
        ),
        (
            "bias_transfer",
            {
                "model_bias": "(SELECT 'x' AS category, 1.0 AS value)",
                "dataset_bias": "(SELECT 'x' AS concept, 0.5 AS value WHERE 1 = 0)",
            },
            "bias_transfer() has nothing to compare: 'dataset_bias' gave no rows",
        ),
        (
            "attribute_auc",
            {
                "scores": "(SELECT 1 AS image_id, 'hair' AS category, 'red' AS attribute, 0.5 AS score)",
                "labels": "(SELECT 1 AS image_id, 'Hair' AS category, 'red' AS attribute)",
            },
            "attribute_auc() has nothing to compare: no category of 'scores' is a category of 'labels': 'hair', but 'Hair'",
        ),
        (
            "compare_attributes",
            {
                "attributes": "(SELECT i AS image_id, 'hair' AS category, 'red' AS attribute FROM range(20) AS r(i))",
                "others": "(SELECT i AS image_id, 'weather' AS category, 'rainy' AS attribute FROM range(20) AS r(i))",
            },
            "compare_attributes() has nothing to compare: no category of 'attributes' is a category of 'others': 'hair', "
            "but 'weather'",
        ),
        (
            "directional_amplification",
            {
                "predicted_concepts": "(SELECT 1 AS image_id, 'dogs' AS concept)",
                "concepts": "(SELECT 1 AS image_id, 'dog' AS concept)",
                "groups": "(SELECT 1 AS image_id, 'male' AS label)",
                "min_count": 0,
            },
            "directional_amplification() has nothing to compare: no concept of 'predicted_concepts' is a concept of "
            "'concepts': 'dogs', but 'dog'",
        ),
    ],
)
def test_sides_that_share_no_name_are_told(session, audit, given, told):
    result = session.audit(audit, **given)
    result.to_arrow()
    assert result.notes == [told]


def test_sides_that_share_a_name_are_not(session):
    rows = {
        "model_bias": "(SELECT 'x' AS category, 1.0 AS value)",
        "dataset_bias": "(SELECT 'x' AS concept, 0 AS value)",
    }
    result = session.audit("bias_transfer", **rows)
    assert all(r["reason"] == "small" for r in result.to_arrow().to_pylist())
    assert [note.partition(" is hidden")[0] for note in result.notes] == ["every row of bias_transfer()"]


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e6])
def test_the_line_is_scipys(session, scale):
    x, y = bent(scale=scale)
    rows = run(session, x, y)
    line = stats.linregress(x, y)
    rho = stats.pearsonr(x, y)
    assert rows["rho"]["value"] == pytest.approx(rho.statistic, rel=1e-9)
    assert (rows["rho"]["low"], rows["rho"]["high"]) == pytest.approx(tuple(rho.confidence_interval()), rel=1e-7)
    assert rows["r2"]["value"] == pytest.approx(line.rvalue**2, rel=1e-9)
    for name, value, error in (
        ("slope", line.slope, line.stderr),
        ("intercept", line.intercept, line.intercept_stderr),
    ):
        assert rows[name]["value"] == pytest.approx(value, rel=1e-7)
        assert rows[name]["high"] - rows[name]["low"] == pytest.approx(
            2 * stats.t.ppf(0.975, len(x) - 2) * error, rel=1e-7
        )
    fitted = sm.OLS(y, sm.add_constant(x)).fit()
    for i, residual in enumerate(fitted.resid):
        row = rows[f"c{i}"]
        assert row["value"] == pytest.approx(residual, abs=1e-9 * scale)
        assert (row["data"], row["model"]) == pytest.approx((x[i], y[i]), rel=1e-9)
        assert row["fitted"] == pytest.approx(fitted.fittedvalues[i], rel=1e-7, abs=1e-9 * scale)


@pytest.mark.parametrize("degree", [2, 3])
def test_the_curve_is_numpys(session, degree):
    x, y = bent()
    rows = run(session, x, y, degree=degree)
    curve = np.polynomial.Chebyshev.fit(x, y, degree)
    r2 = 1 - ((y - curve(x)) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert rows["r2"]["value"] == pytest.approx(r2, rel=1e-9)
    assert [rows[f"c{i}"]["value"] for i in range(len(x))] == pytest.approx((y - curve(x)).tolist(), abs=1e-9)
    assert "slope" not in rows
    assert rows["rho"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
    z, half = np.arctanh(np.sqrt(r2)), Z / np.sqrt(len(x) - degree - 2)
    assert (rows["r2"]["low"], rows["r2"]["high"]) == pytest.approx((np.tanh(z - half) ** 2, np.tanh(z + half) ** 2))


def test_the_bootstrap(session):
    """Percentiles of draws with our own generator lie where those of numpy's lie, at Hesterberg's expanded level."""
    x, y = bent()
    level = 2 * stats.norm.cdf(np.sqrt(len(x) / (len(x) - 1)) * stats.t.ppf(0.975, len(x) - 1)) - 1
    rows = run(session, x, y, interval="bootstrap", seed=3)
    found = stats.bootstrap(
        (x, y), lambda a, b: stats.pearsonr(a, b).statistic, paired=True, vectorized=False, n_resamples=1000,
        method="percentile", rng=np.random.default_rng(0), confidence_level=level,
    ).confidence_interval  # fmt: skip
    assert (rows["rho"]["low"], rows["rho"]["high"]) == pytest.approx((found.low, found.high), abs=0.03)
    assert rows["rho"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
    again = run(session, x, y, interval="bootstrap", seed=3)
    other = run(session, x, y, interval="bootstrap", seed=4)
    assert rows["slope"]["low"] == again["slope"]["low"] != other["slope"]["low"]
    cubic = run(session, x, y, interval="bootstrap", degree=3, resamples=200)["r2"]
    assert cubic["low"] < cubic["value"] < cubic["high"] <= 1


def test_quadrants(session):
    x = np.array([0.7, 0.6, 0.5, 0.2, 0.3, 0.1, 0.9, 0.4, 0.8, 0.75])
    y = np.array([1.0, 2.0, -1.0, -1.0, 3.0, -2.0, 0.0, -3.0, -1.0, 2.0])
    rows = run(session, x, y, data_zero=0.5)
    counts = {m: r["count"] for m, r in rows.items() if m.startswith("data ")}
    assert counts == {"data + model +": 4, "data + model -": 2, "data - model +": 1, "data - model -": 3}
    row = rows["data + model +"]
    assert (row["value"], row["n"]) == (0.4, 10)
    assert (row["low"], row["high"]) == pytest.approx(proportion_confint(4, 10, method="wilson"))


def test_few_values_are_hidden_and_equal_ones_have_no_rho(session):
    x, y = bent(9)
    assert all(r["suppressed"] and r["value"] is None for r in run(session, x, y).values())
    rows = run(session, x, y, min_count=5)
    assert rows["rho"]["value"] == pytest.approx(stats.pearsonr(x, y).statistic)
    flat = run(session, np.full(20, 0.5), np.arange(20.0))
    assert (flat["rho"]["value"], flat["r2"]["value"], flat["rho"]["suppressed"]) == (None, None, False)
    straight = run(session, np.arange(20.0), np.arange(20.0), degree=3)
    assert (straight["rho"]["value"], straight["r2"]["value"]) == (pytest.approx(1), pytest.approx(1))
    steps = run(session, np.arange(20.0) % 2, bent(20)[1], degree=3)
    assert steps["r2"]["value"] == pytest.approx(steps["rho"]["value"] ** 2)


def test_categories_of_one_side_are_counted(session):
    x, y = bent(20)
    one = pa.table({"concept": [*(f"c{i}" for i in range(20)), "extra", "none"], "value": [*x, 0.5, None]})
    other = pa.table(
        {"category": [f"c{i // 2}" for i in range(40)], "value": np.repeat(y, 2) + np.tile([0.1, -0.1], 20)}
    )
    rows = session.audit("bias_transfer", dataset_bias=one, model_bias=other).to_arrow().to_pylist()
    assert {(r["n"], r["n_missing"]) for r in rows} == {(20, 1)}
    assert rows[0]["value"] == pytest.approx(stats.pearsonr(x, y).statistic), "the mean of a category's rows"


def test_audits_fit_into_it(lake, build):
    """concept_ratio as it comes, also of perceived labels; beside those the model's side is a table or view, no rows of one's own."""
    random = np.random.default_rng(0)
    values = ["female" if random.random() < 0.3 + 0.03 * (i % 13) else "male" for i in range(800)]
    ids = list(range(1000, 1800))
    lake.ingest(
        {
            "images": build.images(image_id=ids, key=[str(i) for i in ids]),
            "labels": build.labels(
                label_id=range(9000, 10600),
                image_id=ids * 2,
                attribute=["perceived_gender"] * 800 + ["topic"] * 800,
                value=values + [f"t{i % 13}" for i in range(800)],
                annotator=["ann"] * 1600,
            ),
        }
    )
    lake.sql(
        "CREATE MATERIALIZED VIEW scores WITH (key = 'category') AS "
        "SELECT concept AS category, CAST(substr(concept, 2) AS DOUBLE) AS value FROM label_concepts('topic') GROUP BY concept"
    )
    lake.refresh("scores")
    data = "concept_ratio(image_labels('perceived_gender'), label_concepts('topic'), min_count := 10)"
    call = "SELECT value, n FROM bias_transfer({}, {}) WHERE metric = 'rho'"
    ((rho, n),) = lake.sql(call.format(data, "scores")).fetchall()
    topics = [[v == "female" for v in values[t::13]] for t in range(13)]
    kept = [t for t, own in enumerate(topics) if 10 <= sum(own) <= len(own) - 10]
    assert n == len(kept) > 10
    assert rho == pytest.approx(stats.pearsonr([np.mean(topics[t]) for t in kept], kept).statistic)
    own = "(SELECT category, value FROM scores)"  # what an audit shows holds nothing closed, and may meet any rows
    assert lake.sql(call.format(data, own)).fetchall() == [(rho, n)]


def test_few_categories_have_no_bootstrap(session):
    x, y = bent(n=29)
    rows = run(session, x, y, interval="bootstrap")
    assert {rows[m][end] for m in ("rho", "r2", "slope", "intercept") for end in ("low", "high")} == {None}
    assert all(rows[m]["value"] is not None for m in ("rho", "r2", "slope", "intercept"))


def test_an_r2_that_comes_by_chance_begins_at_0(session):
    """By the F test of statsmodels, at 2.5 %."""
    draw = np.random.default_rng(2)
    begins = set()
    for _ in range(12):
        x, y = draw.normal(size=(2, 25))
        row = run(session, x, y, degree=3)["r2"]
        fitted = sm.OLS(y, np.vander(x, 4)).fit()
        assert row["low"] == 0 or fitted.f_pvalue <= 0.025
        begins.add(fitted.f_pvalue > 0.025)
    strong = run(session, x, x + 0.1 * y, degree=3)["r2"]
    assert strong["low"] > 0.5
    assert True in begins

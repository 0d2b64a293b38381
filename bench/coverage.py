"""Show how often intervals hold the truth: 95 % is asked, of shares, means, ratios, odds, effect sizes and agreement.

    python bench/coverage.py > docs/coverage.md

Draws samples of clusters, such as images with several captions, whose rows are alike to a degree, and samples of images that
have two things, and computes from each the intervals of audits by the engine's own SQL functions.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

import counterbalance as cb
from counterbalance.udfs.associations import effect_interval
from counterbalance.udfs.kappas import CELLS, PATTERNS, cohen_kappa, fleiss_kappa, krippendorff_alpha

SIZES = (1, 2, 3, 5, 10)
DRAWS = 4000
SHARES = """
WITH sized AS (
  SELECT *, effective_size(total, n, squares, products, sizes, clusters) AS m FROM drawn
)
SELECT
  avg(CASE WHEN wilson_low(total * m / n, m) <= $truth AND $truth <= wilson_high(total * m / n, m) THEN 1 ELSE 0 END),
  avg(CASE WHEN wilson_low(total, n) <= $truth AND $truth <= wilson_high(total, n) THEN 1 ELSE 0 END),
  median(seen)
FROM sized
"""
MEANS = """
SELECT avg(CASE WHEN abs(total / n) <= clustered_point(n, sizes)
  * sqrt(clustered_variance(total, n, squares, products, sizes, clusters)) THEN 1 ELSE 0 END)
FROM drawn
"""
RATIOS = """
SELECT
  avg(CASE WHEN ratio_low(both, a, b, n) <= $truth AND $truth <= ratio_high(both, a, b, n) THEN 1 ELSE 0 END),
  avg(CASE WHEN both > 0 AND abs(ln(both * n / a / b / $truth)) <=
    half_interval(sqrt(greatest(1 / both - 1 / a - 1 / b - 1 / n + 2 * both / a / b, 0))) THEN 1 ELSE 0 END)
FROM drawn
"""
MARGINS = ((0.01, 0.5), (0.1, 0.05), (0.1, 0.5), (0.5, 0.5), (0.9, 0.1), (0.9, 0.9))
ABOUT = f"""# How often intervals hold the truth

Made by `python bench/coverage.py > docs/coverage.md`: {DRAWS} samples a row; nominal 95 %.

## Shares and means of rows in clusters

The intervals of `sentiment`, `retrieval_bias` and `edit_quality`, over clusters of {", ".join(map(str, SIZES))} rows, such as images with
captions; nominal 95 %. Rows of a cluster have the cluster's own value with a probability whose square is the correlation.

* *share*: Wilson's interval of `effective_size` independent rows. *seen* is the median number of clusters with what is
  counted. Where few have it (or lack it), how alike their rows are cannot be seen, and the interval holds more than it says.
* *mean*: Student's t around a mean of normal values, with the root of `clustered_variance`.
* *independent*: Wilson's interval as if no row had a cluster, beside it.

| clusters | true share | correlation | seen | share | mean | independent |
|---|---|---|---|---|---|---|"""

ABOUT_RATIOS = """
## Ratios of what is seen to chance

The intervals of `ratio_low` and `ratio_high`: PMI in `cooccurrence`, delta in `crime_words` and `geography`, the ratio in
`intersections` and `attribute_matrix`. Images have the one thing, the other, or both; *seen* is the median number of both.
*delta* is the interval of the delta method, beside them, which has none for a count of 0. No interval can end at what the
counts allow, and hold a truth that lies there or close to it: where (nearly) all of one have the other, the lower end alone tells.

| images | have one | have the other | ratio | seen | ratio_low to ratio_high | delta |
|---|---|---|---|---|---|---|"""


DIFFERENCES = """
SELECT
  avg(CASE WHEN difference_low(a / n, wilson_low(a, n), b / m, wilson_high(b, m)) <= $difference
    AND $difference <= difference_high(a / n, wilson_high(a, n), b / m, wilson_low(b, m)) THEN 1 ELSE 0 END),
  avg(CASE WHEN abs(ln((a + 0.5) / (n - a + 0.5)) - ln((b + 0.5) / (m - b + 0.5)) - $log_odds)
    <= 2 * asinh(half_interval(sqrt(1 / (a + 0.25) + 1 / (n - a + 0.25) + 1 / (b + 0.25) + 1 / (m - b + 0.25))) / 2)
    THEN 1 ELSE 0 END)
FROM drawn
"""
ABOUT_DIFFERENCES = """
## Differences of two shares, and log-odds

The intervals of `concept_ratio` and `spurious_correlations` (Newcombe's), and of the log-odds of `keyword_profile`.

| images | others | share | other share | difference | log-odds |
|---|---|---|---|---|---|"""
ABOUT_EFFECTS = """
## Effect sizes

The intervals of `weat`, `ieat`, `association` and `casc` (`effect_interval`): normal values of two groups that are apart by so many
standard deviations of the first. How uncertain a variance is, is taken to be as of normal values: *exponential* are values with a
long tail, beside them.

| values | others | apart | spread of the others | normal | exponential |
|---|---|---|---|---|---|"""
ABOUT_AGREEMENT = """
## Agreement

The intervals of `agreement`: two raters, or three, give one of three labels, right with a chance; else any of the three. A tenth of
the samples.

| targets | right | Cohen's kappa | Fleiss' kappa of three | Krippendorff's alpha of three |
|---|---|---|---|---|"""


def alike(draw: np.random.Generator, values: np.ndarray, of_cluster: np.ndarray, correlation: float) -> np.ndarray:
    """Return values of which some are those of their cluster."""
    return np.where(draw.random(values.shape) < np.sqrt(correlation), of_cluster, values)


def sums(values: np.ndarray, sizes: np.ndarray) -> pa.Table:
    """Return sums over the clusters of each sample; ``values``: (draws, clusters, most rows), ``sizes``: (draws, clusters)."""
    own = (values * (np.arange(values.shape[2]) < sizes[..., None])).sum(axis=2)
    columns = {
        "total": own.sum(axis=1),
        "n": sizes.sum(axis=1),
        "squares": (own**2).sum(axis=1),
        "products": (own * sizes).sum(axis=1),
        "sizes": (sizes**2).sum(axis=1),
        "clusters": np.full(len(sizes), sizes.shape[1]),
        "seen": (own > 0).sum(axis=1),
    }
    return pa.table({name: pa.array(column.astype(float)) for name, column in columns.items()})


def told(session: cb.Session, text: str, samples: pa.Table, **values: float) -> tuple[float, ...]:
    """Return the row that a query gives over samples, which it calls ``drawn``."""
    return session.sql(text.replace("drawn", session.bind("drawn", samples)), **values).fetchall()[0]


def show(*cells: object) -> None:
    """Print a row of a table."""
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def percent(share: float) -> str:
    """Return how many of the samples."""
    return f"{share:.1%}"


def of_clusters(session: cb.Session, draw: np.random.Generator) -> None:
    """Print the rows of shares and means."""
    for clusters, correlation in itertools.product((10, 30, 200, 1000), (0.0, 0.3, 0.8)):
        sizes = draw.choice(SIZES, (DRAWS, clusters))
        shape = (*sizes.shape, max(SIZES))
        normal = alike(draw, draw.normal(size=shape), draw.normal(size=(*sizes.shape, 1)), correlation)
        (mean,) = told(session, MEANS, sums(normal, sizes))
        for share in (0.01, 0.1, 0.5, 0.9):
            has = alike(draw, draw.random(shape) < share, draw.random((*sizes.shape, 1)) < share, correlation)
            held, plain, seen = told(session, SHARES, sums(has, sizes), truth=share)
            show(clusters, share, correlation, f"{seen:.0f}", percent(held), percent(mean), percent(plain))


def of_ratios(session: cb.Session, draw: np.random.Generator) -> None:
    """Print the rows of ratios, where two things can meet that often and both are expected ten times."""
    for n, (one, other), ratio in itertools.product((50, 200, 1000, 10_000), MARGINS, (0.3, 1.0, 1.1, 1.5, 3.0)):
        both = one * other * ratio
        if both >= min(one, other) or one + other - both > 1 or n * min(one, other) < 10:
            continue
        cells = draw.multinomial(n, [both, one - both, other - both, 1 - one - other + both], DRAWS).astype(float)
        columns = {"both": cells[:, 0], "a": cells[:, 0] + cells[:, 1], "b": cells[:, 0] + cells[:, 2]}
        samples = pa.table({**columns, "n": np.full(DRAWS, float(n))})
        held, delta = told(session, RATIOS, samples, truth=ratio)
        show(n, one, other, ratio, f"{np.median(cells[:, 0]):.0f}", percent(held), percent(delta))


def of_differences(session: cb.Session, draw: np.random.Generator) -> None:
    """Print the rows of differences and log-odds."""
    for (n, m), (one, other) in itertools.product(
        ((20, 20), (30, 300), (200, 200), (1000, 5000)), ((0.5, 0.5), (0.1, 0.1), (0.05, 0.2), (0.9, 0.5), (0.01, 0.01))
    ):
        if min(n * one, n * (1 - one), m * other, m * (1 - other)) < 1:
            continue
        columns = {"a": draw.binomial(n, one, DRAWS), "b": draw.binomial(m, other, DRAWS)}
        columns |= {"n": np.full(DRAWS, n), "m": np.full(DRAWS, m)}
        log_odds = np.log(one / (1 - one)) - np.log(other / (1 - other))
        samples = pa.table({name: pa.array(values.astype(float)) for name, values in columns.items()})
        held = told(session, DIFFERENCES, samples, difference=one - other, log_odds=float(log_odds))
        show(n, m, one, other, *map(percent, held))


def of_effects(draw: np.random.Generator) -> None:
    """Print the rows of effect sizes."""
    for (n, m), apart, spread in itertools.product(((10, 10), (20, 200), (500, 500)), (0.0, 0.5, 2.0), (1.0, 2.0)):
        shares = []
        for values in (draw.normal, lambda size: draw.exponential(size=size) - 1):
            x, y = values(size=(DRAWS, n)) + apart, values(size=(DRAWS, m)) * spread
            given = (
                x.mean(axis=1) - y.mean(axis=1),
                x.var(axis=1),
                np.full(DRAWS, n),
                y.var(axis=1),
                np.full(DRAWS, m),
            )
            found = effect_interval(*(pa.array(column.astype(float)) for column in given))
            low, high = (found.field(end).to_numpy() for end in ("low", "high"))
            truth = apart / np.sqrt((n + m * spread**2) / (n + m) + n * m / (n + m) ** 2 * apart**2)
            shares.append(np.mean((low <= truth) & (truth <= high)))
        show(n, m, apart, spread, *map(percent, shares))


def of_agreement(draw: np.random.Generator) -> None:
    """Print the rows of kappas and alpha; their truth is that of a million targets."""
    for targets, right in itertools.product((30, 100, 1000), (0.2, 0.6, 0.9)):
        held = np.zeros(3)
        truth = kappas(*ratings(draw, 1_000_000, right))
        tries = DRAWS // 10
        for _ in range(tries):
            ends = kappas(*ratings(draw, targets, right))
            held += [
                abs(value - wanted) <= 1.959964 * error for (value, error), (wanted, _) in zip(ends, truth, strict=True)
            ]
        show(targets, right, *map(percent, held / tries))


def ratings(draw: np.random.Generator, targets: int, right: float) -> tuple[np.ndarray, np.ndarray]:
    """Return labels that three raters give, (3, targets), and how many raters give each label, (targets, 3)."""
    said = alike(draw, draw.integers(0, 3, (3, targets)), draw.integers(0, 3, targets), right**2)
    return said, np.stack([(said == label).sum(axis=0) for label in range(3)], axis=1)


def kappas(said: np.ndarray, votes: np.ndarray) -> list[tuple[float, float]]:
    """Return Cohen's kappa, Fleiss' kappa and Krippendorff's alpha, each with its standard error."""
    pairs, counts = np.unique(said[:2], axis=1, return_counts=True)
    cells = [
        {"label": f"{a}", "other_label": f"{b}", "count": int(n)} for (a, b), n in zip(pairs.T, counts, strict=True)
    ]
    rows, targets = np.unique(votes, axis=0, return_counts=True)
    patterns = [
        {"votes": [{"value": f"{i}", "votes": int(v)} for i, v in enumerate(row) if v], "targets": int(n)}
        for row, n in zip(rows, targets, strict=True)
    ]
    found = [
        cohen_kappa(pa.array([cells], CELLS)),
        *(f(pa.array([patterns], PATTERNS)) for f in (fleiss_kappa, krippendorff_alpha)),
    ]
    return [tuple(array.to_pylist()[0].values()) for array in found]


def main() -> None:
    """Print the page."""
    draw = np.random.default_rng(19)
    lake = cb.connect("memory://coverage")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["one"]})})
    with lake.session() as session:
        print(ABOUT)
        of_clusters(session, draw)
        print(ABOUT_RATIOS)
        of_ratios(session, draw)
        print(ABOUT_DIFFERENCES)
        of_differences(session, draw)
    print(ABOUT_EFFECTS)
    of_effects(draw)
    print(ABOUT_AGREEMENT)
    of_agreement(draw)


if __name__ == "__main__":
    main()

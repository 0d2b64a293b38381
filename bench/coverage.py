"""Show how often intervals hold the truth: 95 % is asked.

    python bench/coverage.py > docs/coverage.md

Draws samples of clusters, such as images with several captions, whose rows are alike to a degree, and samples of images that
have two things, and computes from each the intervals of audits by the engine's own SQL functions.
"""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa

import counterbalance as cb

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
counts allow, and hold a truth that lies there: where all of one have the other, the lower end alone tells.

| images | have one | have the other | ratio | seen | ratio_low to ratio_high | delta |
|---|---|---|---|---|---|---|"""


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
    """Print a row of a table; shares of samples in percent."""
    print(f"| {' | '.join(f'{c:.1%}' if isinstance(c, Share) else str(c) for c in cells)} |", flush=True)


class Share(float):
    """How many of the samples."""


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
            show(clusters, share, correlation, f"{seen:.0f}", Share(held), Share(mean), Share(plain))


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
        show(n, one, other, ratio, f"{np.median(cells[:, 0]):.0f}", Share(held), Share(delta))


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


if __name__ == "__main__":
    main()

"""Show how often intervals that go by clusters hold the truth: 95 % is asked.

    python bench/coverage.py > docs/coverage.md

Draws samples of clusters, such as images with several captions, whose rows are alike to a degree, and computes from each the
intervals of ``sentiment`` by the engine's own SQL functions.
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
ABOUT = f"""# How often intervals by clusters hold the truth

Made by `python bench/coverage.py > docs/coverage.md`: {DRAWS} samples a row, of clusters of {", ".join(map(str, SIZES))} rows, such as images with
captions; nominal 95 %. Rows of a cluster have the cluster's own value with a probability whose square is the correlation.

* *share*: Wilson's interval of `effective_size` independent rows. *seen* is the median number of clusters with what is
  counted. Where few have it (or lack it), how alike their rows are cannot be seen, and the interval holds more than it says.
* *mean*: Student's t around a mean of normal values, with the root of `clustered_variance`.
* *independent*: Wilson's interval as if no row had a cluster, beside it.

| clusters | true share | correlation | seen | share | mean | independent |
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


def main() -> None:
    """Print the page."""
    draw = np.random.default_rng(19)
    lake = cb.connect("memory://coverage")
    lake.ingest({"images": pa.table({"image_id": [1], "key": ["one"]})})
    print(ABOUT)
    with lake.session() as session:

        def told(text: str, samples: pa.Table, **values: float) -> tuple[float, ...]:
            return session.sql(text.replace("drawn", session.bind("drawn", samples)), **values).fetchall()[0]

        for clusters, correlation in itertools.product((10, 30, 200, 1000), (0.0, 0.3, 0.8)):
            sizes = draw.choice(SIZES, (DRAWS, clusters))
            shape = (*sizes.shape, max(SIZES))
            normal = alike(draw, draw.normal(size=shape), draw.normal(size=(*sizes.shape, 1)), correlation)
            (mean,) = told(MEANS, sums(normal, sizes))
            for share in (0.01, 0.1, 0.5, 0.9):
                has = alike(draw, draw.random(shape) < share, draw.random((*sizes.shape, 1)) < share, correlation)
                held, plain, seen = told(SHARES, sums(has, sizes), truth=share)
                cells = (clusters, share, correlation, f"{seen:.0f}", f"{held:.1%}", f"{mean:.1%}", f"{plain:.1%}")
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()

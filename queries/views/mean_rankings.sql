/*--- toml
answers = "Averages over queries of what ranking_metrics gives, with a normal 95 % interval (Wilson's for recall)."
details = """
Queries are taken as independent draws. One row of each ranking (a name for what was ranked, and how), metric and k.
"""
source = "Wilson, Probable inference (1927), for recall"

[params.rows]
relation = ["ranking", "metric", "k", "value"]
about = "of every single query"
---*/
WITH sums AS (
  SELECT
    ranking,
    metric,
    k,
    count(value) AS n,
    CAST(sum(CAST(value AS DECIMAL(38, 18))) AS DOUBLE) AS total,
    CAST(sum(CAST(value * value AS DECIMAL(38, 18))) AS DOUBLE) AS squares
  FROM rows
  GROUP BY ranking, metric, k
),
means AS (
  SELECT
    ranking,
    metric,
    k,
    n,
    total / nullif(n, 0) AS mean,
    sqrt(greatest(squares - total * total / nullif(n, 0), 0) / nullif(n - 1, 0) / n) AS standard_error
  FROM sums
),
bounds AS (
  SELECT
    ranking,
    metric,
    k,
    n,
    mean,
    CASE WHEN metric = 'recall' THEN wilson_low(mean * n, n) ELSE mean - half_interval(standard_error) END AS low,
    CASE WHEN metric = 'recall' THEN wilson_high(mean * n, n) ELSE mean + half_interval(standard_error) END AS high
  FROM means
)
SELECT ranking, metric, k, mean AS value, low, high, n
FROM bounds

/*--- toml
answers = "Averages over queries of what ranking_metrics gives, with a 95 % interval by the queries' images."
details = """
Queries of one image, such as its captions, are alike: images are taken as independent draws, not queries. Student's t
around the mean (clustered_variance); Wilson's around recall, of as many independent queries as would tell as much
(effective_size). One row of each ranking (a name for what was ranked, and how), metric and k, over n queries of
query_images.
"""
source = "Wilson, Probable inference (1927), for recall; see clustered_variance and effective_size"

[params.rows]
relation = ["ranking", "metric", "k", "image", "value"]
about = "of every single query"
---*/
WITH by_image AS (
  SELECT ranking, metric, k, image, count(value) AS n, sum(CAST(value AS DECIMAL(38, 18))) AS total
  FROM rows
  GROUP BY ranking, metric, k, image
),
sums AS (
  SELECT
    ranking,
    metric,
    k,
    CAST(sum(n) AS BIGINT) AS n,
    count(CASE WHEN n > 0 THEN 1 END) AS images,
    CAST(sum(total) AS DOUBLE) AS total,
    CAST(sum(CAST(CAST(total AS DOUBLE) * CAST(total AS DOUBLE) AS DECIMAL(38, 18))) AS DOUBLE) AS squares,
    CAST(sum(CAST(CAST(total AS DOUBLE) * n AS DECIMAL(38, 18))) AS DOUBLE) AS products,
    CAST(sum(n * n) AS DOUBLE) AS sizes
  FROM by_image
  GROUP BY ranking, metric, k
),
means AS (
  SELECT
    *,
    total / nullif(n, 0) AS mean,
    clustered_point(n, sizes)
      * sqrt(clustered_variance(total, nullif(n, 0), squares, products, sizes, images)) AS half,
    CASE WHEN metric = 'recall' AND n > 0 THEN effective_size(total, n, squares, products, sizes, images) END AS effective
  FROM sums
)
SELECT
  ranking,
  metric,
  k,
  mean AS value,
  CASE WHEN metric = 'recall' THEN wilson_low(mean * effective, effective) ELSE mean - half END AS low,
  CASE WHEN metric = 'recall' THEN wilson_high(mean * effective, effective) ELSE mean + half END AS high,
  n,
  images AS query_images
FROM means

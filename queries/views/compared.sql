/*--- toml
answers = "The same measure of two datasets side by side: values, their difference with an interval, and tests of it."
details = """
Rows of both sides are matched by item and label. difference = value_a - value_b; its 95 % interval puts the intervals
of the two values together by squaring and adding, which for shares with Wilson's intervals is Newcombe's. statistic, p
(two-sided) and q (Benjamini and Hochberg, over all rows with a p): of shares, z of two proportions, pooled; of ratios
minus 1, z of the difference of their logarithms. A row without a value on one side is suppressed.

kind 'distribution': labels divide one whole, so that n is the same in all rows of a side and a label that a side lacks
has a count of 0 there; one more row, item 'distribution', has the chi-square of homogeneity over the labels that both
sides say are in_table, with its degrees of freedom and p.
"""
source = """
Newcombe, Interval estimation for the difference between independent proportions (1998), method 10; Zou and Donner
(2008); Benjamini and Hochberg (1995); comparison of datasets as in Girrbach et al. (2025), CC12M"""

[params.left_side]
relation = ["item", "label", "count", "n", "value", "low", "high", "in_table"]
about = "value is NULL where it takes no part"

[params.right_side]
relation = ["item", "label", "count", "n", "value", "low", "high", "in_table"]
about = "of the other dataset"

[params.kind]
type = "varchar"
default = "share"
choices = ["share", "distribution", "ratio"]
about = "what value is"
---*/
SELECT
  item,
  label,
  value_a,
  value_b,
  difference,
  low,
  high,
  count_a,
  n_a,
  count_b,
  n_b,
  statistic,
  df,
  coalesce(p, whole_p) AS p,
  q,
  suppressed
FROM false_discovery((
  WITH joined AS (
    SELECT
      coalesce(a.item, b.item) AS item,
      coalesce(a.label, b.label) AS label,
      a.label IS NOT NULL AS in_a,
      a.count AS count_a,
      a.n AS n_a,
      a.value AS value_a,
      a.low AS low_a,
      a.high AS high_a,
      coalesce(a.in_table, true) AND coalesce(b.in_table, true) AS in_table,
      max(a.n) OVER () AS whole_a,
      b.label IS NOT NULL AS in_b,
      b.count AS count_b,
      b.n AS n_b,
      b.value AS value_b,
      b.low AS low_b,
      b.high AS high_b,
      max(b.n) OVER () AS whole_b
    FROM left_side AS a
    FULL JOIN right_side AS b ON b.item = a.item AND b.label = a.label
  ),
  pairs AS (
    SELECT
      item,
      label,
      in_table,
      CASE WHEN NOT in_a AND $kind = 'distribution' AND whole_a IS NOT NULL THEN 0 ELSE count_a END AS count_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' THEN whole_a ELSE n_a END AS n_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' AND whole_a IS NOT NULL THEN 0 ELSE value_a END AS value_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' AND whole_a IS NOT NULL THEN 0 ELSE low_a END AS low_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' THEN wilson_high(0, whole_a) ELSE high_a END AS high_a,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE count_b END AS count_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' THEN whole_b ELSE n_b END AS n_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE value_b END AS value_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE low_b END AS low_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' THEN wilson_high(0, whole_b) ELSE high_b END AS high_b
    FROM joined
  ),
  judged AS (
    SELECT *, value_a IS NOT NULL AND value_b IS NOT NULL AND $kind IN ('share', 'distribution', 'ratio') AS shown
    FROM pairs
  ),
  seen AS (
    SELECT
      item,
      label,
      shown,
      in_table,
      CASE WHEN shown THEN count_a END AS count_a,
      CASE WHEN shown THEN n_a END AS n_a,
      CASE WHEN shown THEN value_a END AS value_a,
      CASE WHEN shown THEN low_a END AS low_a,
      CASE WHEN shown THEN high_a END AS high_a,
      CASE WHEN shown THEN count_b END AS count_b,
      CASE WHEN shown THEN n_b END AS n_b,
      CASE WHEN shown THEN value_b END AS value_b,
      CASE WHEN shown THEN low_b END AS low_b,
      CASE WHEN shown THEN high_b END AS high_b
    FROM judged
  ),
  measured AS (
    SELECT
      *,
      CASE $kind
        WHEN 'ratio' THEN ratios_z(1 + value_a, 1 + low_a, 1 + high_a, 1 + value_b, 1 + low_b, 1 + high_b)
        ELSE shares_z(count_a, n_a, count_b, n_b)
      END AS statistic
    FROM seen
  ),
  -- the table of counts that the chi-square is of
  cells AS (
    SELECT
      *,
      CAST(sum(count_a) OVER () AS DOUBLE) AS all_a,
      CAST(sum(count_b) OVER () AS DOUBLE) AS all_b
    FROM measured
    WHERE $kind = 'distribution' AND in_table AND count_a + count_b > 0
  ),
  whole AS (
    SELECT
      CAST(sum(count_a) AS BIGINT) AS count_a,
      max(n_a) AS n_a,
      CAST(sum(count_b) AS BIGINT) AS count_b,
      max(n_b) AS n_b,
      CAST(sum(CAST(
        (count_a * all_b - count_b * all_a) * (count_a * all_b - count_b * all_a) / ((count_a + count_b) * all_a * all_b)
        AS DECIMAL(38, 18)
      )) AS DOUBLE) AS statistic,
      count(*) - 1 AS df
    FROM cells
    WHERE all_a > 0 AND all_b > 0
    HAVING count(*) > 1
  )
  SELECT
    item,
    label,
    value_a,
    value_b,
    value_a - value_b AS difference,
    difference_low(value_a, low_a, value_b, high_b) AS low,
    difference_high(value_a, high_a, value_b, low_b) AS high,
    count_a,
    n_a,
    count_b,
    n_b,
    statistic,
    CAST(NULL AS BIGINT) AS df,
    two_sided_p(statistic * statistic) AS p,
    CAST(NULL AS DOUBLE) AS whole_p,
    NOT shown AS suppressed
  FROM measured
  UNION ALL
  SELECT
    'distribution' AS item,
    CAST(NULL AS VARCHAR) AS label,
    CAST(NULL AS DOUBLE) AS value_a,
    CAST(NULL AS DOUBLE) AS value_b,
    CAST(NULL AS DOUBLE) AS difference,
    CAST(NULL AS DOUBLE) AS low,
    CAST(NULL AS DOUBLE) AS high,
    count_a,
    n_a,
    count_b,
    n_b,
    statistic,
    df,
    CAST(NULL AS DOUBLE) AS p,
    chi_square_p(statistic, df) AS whole_p,
    false AS suppressed
  FROM whole
))

/*--- toml
answers = "The same measure of two datasets side by side: values, their difference with an interval, and tests of it."
details = """
Rows of both sides are matched by item and label. difference = value_a - value_b; its 95 % interval puts the intervals
of the two values together by squaring and adding, which for shares with Wilson's intervals is Newcombe's. statistic, p
(two-sided) and q (Benjamini and Hochberg, over all rows with a p): of shares, z of two proportions, pooled; of ratios
minus 1, z of the difference of their logarithms. A row without a value on one side is suppressed. Tests of shares are of as
many independent units as effective says.

kind 'distribution': labels divide one whole, so that n is the same in all rows of a side and a label that a side lacks
has a count of 0 there; one more row, item 'distribution', has the chi-square of homogeneity over the labels that both
sides say are in_table, with its degrees of freedom and p: the counts of a side are divided by its average design effect, n /
effective weighted by 1 - share (Rao and Scott).
"""
source = """
Newcombe, Interval estimation for the difference between independent proportions (1998), method 10; Zou and Donner
(2008); Rao and Scott (1981), first-order correction; Benjamini and Hochberg (1995); comparison of datasets as in
Girrbach et al. (2025), CC12M"""

[params.left_side]
relation = ["item", "label", "count", "n", "images", "effective", "value", "low", "high", "in_table"]
about = "value is NULL where it takes no part"

[params.right_side]
relation = ["item", "label", "count", "n", "images", "effective", "value", "low", "high", "in_table"]
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
  images_a,
  images_b,
  suppressed
FROM false_discovery((
  WITH joined AS (
    SELECT
      coalesce(a.item, b.item) AS item,
      coalesce(a.label, b.label) AS label,
      a.label IS NOT NULL AS in_a,
      a.count AS count_a,
      a.n AS n_a,
      a.images AS images_a,
      a.effective AS effective_a,
      a.value AS value_a,
      a.low AS low_a,
      a.high AS high_a,
      coalesce(a.in_table, true) AND coalesce(b.in_table, true) AS in_table,
      max(a.n) OVER () AS whole_a,
      min(a.effective) OVER () AS least_a,
      b.label IS NOT NULL AS in_b,
      b.count AS count_b,
      b.n AS n_b,
      b.images AS images_b,
      b.effective AS effective_b,
      b.value AS value_b,
      b.low AS low_b,
      b.high AS high_b,
      max(b.n) OVER () AS whole_b,
      min(b.effective) OVER () AS least_b
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
      CASE WHEN NOT in_a AND $kind = 'distribution' AND whole_a IS NOT NULL THEN 0 ELSE images_a END AS images_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' THEN least_a ELSE effective_a END AS effective_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' AND whole_a IS NOT NULL THEN 0 ELSE value_a END AS value_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' AND whole_a IS NOT NULL THEN 0 ELSE low_a END AS low_a,
      CASE WHEN NOT in_a AND $kind = 'distribution' THEN wilson_high(0, least_a) ELSE high_a END AS high_a,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE count_b END AS count_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' THEN whole_b ELSE n_b END AS n_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE images_b END AS images_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' THEN least_b ELSE effective_b END AS effective_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE value_b END AS value_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' AND whole_b IS NOT NULL THEN 0 ELSE low_b END AS low_b,
      CASE WHEN NOT in_b AND $kind = 'distribution' THEN wilson_high(0, least_b) ELSE high_b END AS high_b
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
      CASE WHEN shown THEN images_a END AS images_a,
      CASE WHEN shown THEN effective_a END AS effective_a,
      CASE WHEN shown THEN value_a END AS value_a,
      CASE WHEN shown THEN low_a END AS low_a,
      CASE WHEN shown THEN high_a END AS high_a,
      CASE WHEN shown THEN count_b END AS count_b,
      CASE WHEN shown THEN n_b END AS n_b,
      CASE WHEN shown THEN images_b END AS images_b,
      CASE WHEN shown THEN effective_b END AS effective_b,
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
        ELSE shares_z(count_a * (effective_a / n_a), effective_a, count_b * (effective_b / n_b), effective_b)
      END AS statistic
    FROM seen
  ),
  -- the table of counts that the chi-square is of, and how much less each side knows than so many independent units
  tabled AS (
    SELECT *, CAST(sum(count_a) OVER () AS DOUBLE) AS all_a, CAST(sum(count_b) OVER () AS DOUBLE) AS all_b
    FROM measured
    WHERE $kind = 'distribution' AND in_table AND count_a + count_b > 0
  ),
  effects AS (
    SELECT
      CAST(sum(CAST((1e0 - value_a) * (n_a / effective_a) AS DECIMAL(38, 18))) AS DOUBLE)
      / nullif(CAST(sum(CAST(1e0 - value_a AS DECIMAL(38, 18))) AS DOUBLE), 0) AS effect_a,
      CAST(sum(CAST((1e0 - value_b) * (n_b / effective_b) AS DECIMAL(38, 18))) AS DOUBLE)
      / nullif(CAST(sum(CAST(1e0 - value_b AS DECIMAL(38, 18))) AS DOUBLE), 0) AS effect_b
    FROM tabled
    WHERE all_a > 0 AND all_b > 0
  ),
  cells AS (
    SELECT
      t.*,
      t.count_a / coalesce(e.effect_a, 1e0) AS own_a,
      t.count_b / coalesce(e.effect_b, 1e0) AS own_b,
      t.all_a / coalesce(e.effect_a, 1e0) AS own_all_a,
      t.all_b / coalesce(e.effect_b, 1e0) AS own_all_b
    FROM tabled AS t
    CROSS JOIN effects AS e
  ),
  whole AS (
    SELECT
      CAST(sum(count_a) AS BIGINT) AS count_a,
      max(n_a) AS n_a,
      CAST(NULL AS BIGINT) AS images_a,
      CAST(sum(count_b) AS BIGINT) AS count_b,
      max(n_b) AS n_b,
      CAST(NULL AS BIGINT) AS images_b,
      CAST(sum(CAST(
        (own_a * own_all_b - own_b * own_all_a) * (own_a * own_all_b - own_b * own_all_a)
        / ((own_a + own_b) * own_all_a * own_all_b)
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
    images_a,
    count_b,
    n_b,
    images_b,
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
    images_a,
    count_b,
    n_b,
    images_b,
    statistic,
    df,
    CAST(NULL AS DOUBLE) AS p,
    chi_square_p(statistic, df) AS whole_p,
    false AS suppressed
  FROM whole
))

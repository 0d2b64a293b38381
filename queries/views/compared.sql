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
    CASE WHEN shown THEN high_b END AS high_b,
    CASE WHEN shown THEN CAST(count_a + count_b AS DOUBLE) / (n_a + n_b) END AS pooled
  FROM judged
),
rows_tested AS (
  SELECT
    *,
    value_a - value_b AS difference,
    difference_low(value_a, low_a, value_b, high_b) AS low,
    difference_high(value_a, high_a, value_b, low_b) AS high,
    CASE
      WHEN $kind <> 'ratio' AND pooled > 0 AND pooled < 1
        THEN (value_a - value_b) / sqrt(pooled * (1 - pooled) * (1e0 / n_a + 1e0 / n_b))
      WHEN $kind = 'ratio' AND low_a > -1 AND low_b > -1 AND high_a > low_a AND high_b > low_b
        THEN 2 * 1.959963984540054e0 * (ln(1 + value_a) - ln(1 + value_b)) / sqrt(
          (ln(1 + high_a) - ln(1 + low_a)) * (ln(1 + high_a) - ln(1 + low_a))
          + (ln(1 + high_b) - ln(1 + low_b)) * (ln(1 + high_b) - ln(1 + low_b))
        )
    END AS statistic,
    row_number() OVER (ORDER BY item, label) AS place
  FROM seen
),
-- the table of counts that the chi-square is of
counted AS (
  SELECT
    *,
    CAST(sum(count_a) OVER () AS DOUBLE) AS all_a,
    CAST(sum(count_b) OVER () AS DOUBLE) AS all_b,
    count(*) OVER () - 1 AS df,
    row_number() OVER (ORDER BY place) AS step
  FROM rows_tested
  WHERE $kind = 'distribution' AND in_table AND count_a + count_b > 0
),
-- sums run in the order of the rows, so that the last bit is always the same
cells AS (
  SELECT
    *,
    sum(
      (count_a * all_b - count_b * all_a) * (count_a * all_b - count_b * all_a) / ((count_a + count_b) * all_a * all_b)
    ) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running,
    sum(ln(step)) OVER (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - ln(step) AS log_factorial,
    sum(ln(step - 0.5e0)) OVER (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS log_gamma
  FROM counted
  WHERE df > 0 AND all_a > 0 AND all_b > 0
),
summed AS (
  SELECT *, max(CASE WHEN step = df + 1 THEN running END) OVER () AS chi2 FROM cells
),
-- terms of the upper tail of chi-square: exp(-x / 2) times a finite sum, and erfc(sqrt(x / 2)) for odd degrees of freedom
terms AS (
  SELECT
    *,
    sum(CASE
      WHEN chi2 > 0 THEN exp(
        CASE
          WHEN df % 2 = 0 THEN (step - 1) * ln(chi2 / 2) - log_factorial
          ELSE (step - 0.5e0) * ln(chi2 / 2) - 0.5723649429247001e0 - log_gamma
        END - chi2 / 2
      )
    END) OVER (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS finite_part
  FROM summed
),
every_row AS (
  SELECT
    false AS is_whole, item, label, value_a, value_b, difference, low, high, count_a, n_a, count_b, n_b, statistic,
    CAST(NULL AS BIGINT) AS df, CAST(NULL AS DOUBLE) AS finite_part, place, NOT shown AS suppressed, statistic * statistic AS x
  FROM rows_tested
  UNION ALL
  SELECT
    true AS is_whole, 'distribution' AS item, CAST(NULL AS VARCHAR) AS label, CAST(NULL AS DOUBLE) AS value_a,
    CAST(NULL AS DOUBLE) AS value_b, CAST(NULL AS DOUBLE) AS difference, CAST(NULL AS DOUBLE) AS low,
    CAST(NULL AS DOUBLE) AS high, CAST(sum(count_a) AS BIGINT) AS count_a, max(n_a) AS n_a,
    CAST(sum(count_b) AS BIGINT) AS count_b, max(n_b) AS n_b, chi2 AS statistic, df,
    max(CASE WHEN step = df // 2 THEN finite_part END) AS finite_part, CAST(NULL AS BIGINT) AS place, false AS suppressed,
    chi2 AS x
  FROM terms
  WHERE chi2 IS NOT NULL
  GROUP BY df, chi2
),
-- erfc(sqrt(x / 2)) as in cooccurrence: relative error under 3e-8
reduced AS (
  SELECT *, 1 / (1 + sqrt(x / 2) / 2) AS t FROM every_row
),
tails AS (
  SELECT
    *,
    least(t * exp(-x / 2 - 1.26551212348e0 + t * (0.999999539036e0 + t * (0.375039205952e0 + t * (0.0822840787015e0
      + t * (-0.0723798896755e0 + t * (-0.243590067818e0 + t * (0.360099153211e0 + t * (-1.26249163408e0
      + t * (2.43208863084e0 + t * (-2.2215605681e0 + t * (0.994780962681e0 - t * 0.178757287262e0))))))))))), 1) AS tail
  FROM reduced
),
valued AS (
  SELECT
    *,
    CASE
      WHEN NOT is_whole AND x IS NOT NULL THEN tail
      WHEN is_whole AND x = 0 THEN 1
      WHEN is_whole THEN least(coalesce(finite_part, 0) + CASE WHEN df % 2 = 1 THEN tail ELSE 0 END, 1)
    END AS p
  FROM tails
),
ranked AS (
  SELECT
    *,
    row_number() OVER (PARTITION BY is_whole ORDER BY p, place) AS p_rank,
    count(p) OVER (PARTITION BY is_whole) AS family
  FROM valued
)
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
  p,
  CASE
    WHEN NOT is_whole AND p IS NOT NULL
      THEN greatest(
        p,
        least(
          min(p * family / p_rank) OVER (
            PARTITION BY is_whole ORDER BY p_rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
          ),
          1
        )
      )
  END AS q,
  suppressed
FROM ranked

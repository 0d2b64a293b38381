-- compared: The same measure of two datasets side by side: values, their difference with an interval, and tests of it.
--
-- Rows of both sides are matched by item and label. difference = value_a - value_b; its 95 % interval puts the intervals of the
-- two values together by squaring and adding, which for shares with Wilson's intervals is Newcombe's. statistic, p (two-sided)
-- and q (Benjamini and Hochberg, over all rows with a p): of shares, z of two proportions, pooled; of ratios minus 1, z of the
-- difference of their logarithms. A row that one side hides is suppressed (NULL).
--
-- kind 'distribution': labels divide one whole, so that n is the same in all rows of a side and a label that a side lacks
-- has a count of 0 there; one more row, item 'distribution', has the chi-square of homogeneity over the labels that are
-- shown on both sides, with its degrees of freedom and p.
--
-- source: Newcombe, Interval estimation for the difference between independent proportions (1998), method 10; Zou and Donner
-- (2008); Benjamini and Hochberg (1995); comparison of datasets as in Girrbach et al. (2025), CC12M
-- param left_side relation : (item, label, count, n, value, low, high), NULL where it is hidden
-- param right_side relation : (item, label, count, n, value, low, high), of the other dataset
-- param kind varchar = 'share' : one of 'share', 'distribution', 'ratio'; what value is
WITH keys AS (
  SELECT item, label FROM left_side
  UNION
  SELECT item, label FROM right_side
),
wholes AS (
  SELECT (SELECT max(n) FROM left_side) AS n_a, (SELECT max(n) FROM right_side) AS n_b
),
-- 3.84… / (n + 3.84…) is the upper bound of Wilson's interval for none of n
pairs AS (
  SELECT
    k.item,
    k.label,
    CASE WHEN a.label IS NULL AND $kind = 'distribution' AND w.n_a IS NOT NULL THEN 0 ELSE a.count END AS count_a,
    CASE WHEN a.label IS NULL AND $kind = 'distribution' THEN w.n_a ELSE a.n END AS n_a,
    CASE WHEN a.label IS NULL AND $kind = 'distribution' AND w.n_a IS NOT NULL THEN 0 ELSE a.value END AS value_a,
    CASE WHEN a.label IS NULL AND $kind = 'distribution' AND w.n_a IS NOT NULL THEN 0 ELSE a.low END AS low_a,
    CASE
      WHEN a.label IS NULL AND $kind = 'distribution' THEN 3.841458820694124e0 / (w.n_a + 3.841458820694124e0) ELSE a.high
    END AS high_a,
    CASE WHEN b.label IS NULL AND $kind = 'distribution' AND w.n_b IS NOT NULL THEN 0 ELSE b.count END AS count_b,
    CASE WHEN b.label IS NULL AND $kind = 'distribution' THEN w.n_b ELSE b.n END AS n_b,
    CASE WHEN b.label IS NULL AND $kind = 'distribution' AND w.n_b IS NOT NULL THEN 0 ELSE b.value END AS value_b,
    CASE WHEN b.label IS NULL AND $kind = 'distribution' AND w.n_b IS NOT NULL THEN 0 ELSE b.low END AS low_b,
    CASE
      WHEN b.label IS NULL AND $kind = 'distribution' THEN 3.841458820694124e0 / (w.n_b + 3.841458820694124e0) ELSE b.high
    END AS high_b
  FROM keys AS k
  CROSS JOIN wholes AS w
  LEFT JOIN left_side AS a ON a.item = k.item AND a.label = k.label
  LEFT JOIN right_side AS b ON b.item = k.item AND b.label = k.label
),
shown AS (
  SELECT *, CAST(count_a + count_b AS DOUBLE) / (n_a + n_b) AS pooled
  FROM pairs
  WHERE value_a IS NOT NULL AND value_b IS NOT NULL AND $kind IN ('share', 'distribution', 'ratio')
),
rows_tested AS (
  SELECT
    *,
    value_a - value_b AS difference,
    value_a - value_b - sqrt((value_a - low_a) * (value_a - low_a) + (high_b - value_b) * (high_b - value_b)) AS low,
    value_a - value_b + sqrt((high_a - value_a) * (high_a - value_a) + (value_b - low_b) * (value_b - low_b)) AS high,
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
  FROM shown
),
-- the table of counts that the chi-square is of
sums AS (
  SELECT CAST(sum(count_a) AS DOUBLE) AS all_a, CAST(sum(count_b) AS DOUBLE) AS all_b, count(*) - 1 AS df
  FROM rows_tested
  WHERE $kind = 'distribution' AND count_a + count_b > 0
),
-- sums run in the order of the rows, so that the last bit is always the same
cells AS (
  SELECT
    r.count_a,
    r.n_a,
    r.count_b,
    r.n_b,
    s.df,
    row_number() OVER (ORDER BY r.place) AS step,
    sum(
      (r.count_a * s.all_b - r.count_b * s.all_a) * (r.count_a * s.all_b - r.count_b * s.all_a)
      / ((r.count_a + r.count_b) * s.all_a * s.all_b)
    ) OVER (ORDER BY r.place ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS chi2
  FROM rows_tested AS r
  CROSS JOIN sums AS s
  WHERE r.count_a + r.count_b > 0 AND s.df > 0 AND s.all_a > 0 AND s.all_b > 0
),
whole AS (
  SELECT
    CAST(sum(count_a) AS BIGINT) AS count_a,
    max(n_a) AS n_a,
    CAST(sum(count_b) AS BIGINT) AS count_b,
    max(n_b) AS n_b,
    df,
    max(CASE WHEN step = df + 1 THEN chi2 END) AS chi2
  FROM cells
  GROUP BY df
),
-- terms of the upper tail of chi-square: exp(-x / 2) times a finite sum, and erfc(sqrt(x / 2)) for odd degrees of freedom
steps AS (
  SELECT
    step,
    sum(ln(step)) OVER (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - ln(step) AS log_factorial,
    sum(ln(step - 0.5e0)) OVER (ORDER BY step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS log_gamma
  FROM cells
),
terms AS (
  SELECT
    s.step,
    w.df,
    sum(exp(
      CASE
        WHEN w.df % 2 = 0 THEN (s.step - 1) * ln(w.chi2 / 2) - s.log_factorial
        ELSE (s.step - 0.5e0) * ln(w.chi2 / 2) - 0.5723649429247001e0 - s.log_gamma
      END - w.chi2 / 2
    )) OVER (ORDER BY s.step ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS finite_part
  FROM whole AS w
  JOIN steps AS s ON s.step <= w.df // 2
  WHERE w.chi2 > 0
),
squares AS (
  SELECT false AS is_whole, place, statistic * statistic AS x FROM rows_tested WHERE statistic IS NOT NULL
  UNION ALL
  SELECT true AS is_whole, CAST(NULL AS BIGINT) AS place, chi2 AS x FROM whole WHERE chi2 IS NOT NULL
),
-- erfc(sqrt(x / 2)) as in cooccurrence: relative error under 3e-8
reduced AS (
  SELECT *, 1 / (1 + sqrt(x / 2) / 2) AS t FROM squares
),
tails AS (
  SELECT
    is_whole,
    place,
    least(t * exp(-x / 2 - 1.26551212348e0 + t * (0.999999539036e0 + t * (0.375039205952e0 + t * (0.0822840787015e0
      + t * (-0.0723798896755e0 + t * (-0.243590067818e0 + t * (0.360099153211e0 + t * (-1.26249163408e0
      + t * (2.43208863084e0 + t * (-2.2215605681e0 + t * (0.994780962681e0 - t * 0.178757287262e0))))))))))), 1) AS p
  FROM reduced
),
ranked AS (
  SELECT place, p, row_number() OVER (ORDER BY p, place) AS p_rank, count(*) OVER () AS family
  FROM tails
  WHERE NOT is_whole
),
controlled AS (
  SELECT
    place,
    p,
    greatest(
      p, least(min(p * family / p_rank) OVER (ORDER BY p_rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), 1)
    ) AS q
  FROM ranked
)
SELECT
  k.item,
  k.label,
  r.value_a,
  r.value_b,
  r.difference,
  r.low,
  r.high,
  r.count_a,
  r.n_a,
  r.count_b,
  r.n_b,
  r.statistic,
  CAST(NULL AS BIGINT) AS df,
  c.p,
  c.q,
  r.place IS NULL AS suppressed
FROM keys AS k
LEFT JOIN rows_tested AS r ON r.item = k.item AND r.label = k.label
LEFT JOIN controlled AS c ON c.place = r.place
UNION ALL
SELECT
  'distribution' AS item,
  CAST(NULL AS VARCHAR) AS label,
  CAST(NULL AS DOUBLE) AS value_a,
  CAST(NULL AS DOUBLE) AS value_b,
  CAST(NULL AS DOUBLE) AS difference,
  CAST(NULL AS DOUBLE) AS low,
  CAST(NULL AS DOUBLE) AS high,
  w.count_a,
  w.n_a,
  w.count_b,
  w.n_b,
  w.chi2 AS statistic,
  w.df,
  CASE
    WHEN w.chi2 = 0 THEN 1
    ELSE least(coalesce(t.finite_part, 0) + CASE WHEN w.df % 2 = 1 THEN e.p ELSE 0 END, 1)
  END AS p,
  CAST(NULL AS DOUBLE) AS q,
  false AS suppressed
FROM whole AS w
LEFT JOIN terms AS t ON t.step = w.df // 2
LEFT JOIN tails AS e ON e.is_whole
WHERE w.chi2 IS NOT NULL

-- tested_association: Embedding association test of two sets of target vectors with two of attributes: effect size and p.
--
-- One row: see weat, which is made of it, and ieat. Suppressed where a set has fewer than min_count vectors.
--
-- source: Caliskan, Bryson and Narayanan (2017), WEAT; Steed and Caliskan (2021), iEAT
-- param targets relation : (label, embedding)
-- param attributes relation : (label, embedding)
-- param x varchar : label of the first targets
-- param y varchar : label of the second targets
-- param a varchar : label of the first attributes
-- param b varchar : label of the second attributes
-- param permutations integer = 10000 : at least 1; so many divisions are all taken, or drawn where there are more
-- param seed integer = 0 : of the draws
-- param min_count integer = 10 : at least 0; smaller sets are suppressed
-- local: calls association_test()
WITH of_targets AS (
  SELECT
    list(embedding ORDER BY embedding) FILTER (label = $x) AS of_x,
    list(embedding ORDER BY embedding) FILTER (label = $y) AS of_y,
    count(*) FILTER (label = $x) AS n_x,
    count(*) FILTER (label = $y) AS n_y
  FROM targets
),
of_attributes AS (
  SELECT
    list(embedding ORDER BY embedding) FILTER (label = $a) AS of_a,
    list(embedding ORDER BY embedding) FILTER (label = $b) AS of_b,
    count(*) FILTER (label = $a) AS n_a,
    count(*) FILTER (label = $b) AS n_b
  FROM attributes
),
judged AS (
  SELECT *, least(n_x, n_y, n_a, n_b) < $min_count OR least(n_x, n_y, n_a, n_b) = 0 AS suppressed
  FROM of_targets
  CROSS JOIN of_attributes
),
tested AS (
  SELECT
    *,
    association_test(
      CASE WHEN NOT suppressed THEN of_x END, of_y, of_a, of_b, permutations := $permutations, seed := $seed
    ) AS test
  FROM judged
),
measures AS (
  SELECT *, sqrt(test.variance_x / n_x + test.variance_y / n_y) AS standard_error FROM tested
)
SELECT
  test.effect AS value,
  test.effect - 1.959963984540054e0 * standard_error / test.std AS low,
  test.effect + 1.959963984540054e0 * standard_error / test.std AS high,
  test.p AS p,
  test.exact AS exact,
  test.permutations AS permutations,
  test.mean_x AS mean_x,
  test.mean_y AS mean_y,
  test.std AS std,
  CASE WHEN NOT suppressed THEN n_x + n_y END AS n,
  CASE WHEN NOT suppressed THEN n_x END AS n_x,
  CASE WHEN NOT suppressed THEN n_y END AS n_y,
  CASE WHEN NOT suppressed THEN n_a END AS n_a,
  CASE WHEN NOT suppressed THEN n_b END AS n_b,
  suppressed
FROM measures

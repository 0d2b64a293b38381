/*--- toml
answers = "Embedding association test of two sets of target vectors with two of attributes: effect size and p."
details = """
One row: see weat, which is made of it, and ieat. Targets of one source with either label are a pair: they change places with
each other alone, and the interval is as in a paired t test.
"""
source = "Caliskan, Bryson and Narayanan (2017), WEAT; Steed and Caliskan (2021), iEAT"

[params.targets]
relation = ["label", "embedding", "source"]
about = "source says which were made of one, a vector a label; NULL where of none"

[params.attributes]
relation = ["label", "embedding"]

[params.x]
type = "varchar"
about = "label of the first targets"

[params.y]
type = "varchar"
about = "label of the second targets"

[params.a]
type = "varchar"
about = "label of the first attributes"

[params.b]
type = "varchar"
about = "label of the second attributes"

[params.permutations]
type = "integer"
default = 10000
min = 1
about = "so many divisions are all taken, or drawn where there are more"

[params.seed]
type = "integer"
default = 0
about = "of the draws"

[params.min_count]
type = "integer"
default = 1
min = 0
about = "fewer vectors of a label are not tested: how long that takes would tell how many they are"
---*/
WITH pairs AS (
  SELECT t.source, t.embedding AS of_x, o.embedding AS of_y
  FROM targets AS t
  JOIN targets AS o ON o.source = t.source AND o.label = $y
  WHERE t.label = $x
),
first AS (
  SELECT list(of_x ORDER BY of_x, of_y) AS of_x, list(of_y ORDER BY of_x, of_y) AS of_y, count(*) AS paired FROM pairs
),
of_targets AS (
  SELECT
    list_concat(coalesce(f.of_x, []), list(t.embedding ORDER BY t.embedding) FILTER (t.label = $x AND p.source IS NULL)) AS of_x,
    list_concat(coalesce(f.of_y, []), list(t.embedding ORDER BY t.embedding) FILTER (t.label = $y AND p.source IS NULL)) AS of_y,
    f.paired,
    count(*) FILTER (t.label = $x) AS n_x,
    count(*) FILTER (t.label = $y) AS n_y
  FROM first AS f
  LEFT JOIN targets AS t ON true
  LEFT JOIN pairs AS p ON p.source = t.source
  GROUP BY f.of_x, f.of_y, f.paired
),
of_attributes AS (
  SELECT
    list(embedding ORDER BY embedding) FILTER (label = $a) AS of_a,
    list(embedding ORDER BY embedding) FILTER (label = $b) AS of_b,
    count(*) FILTER (label = $a) AS n_a,
    count(*) FILTER (label = $b) AS n_b
  FROM attributes
),
tested AS (
  SELECT
    *,
    association_test(
      CASE WHEN least(n_x, n_y, n_a, n_b) >= greatest($min_count, 1) THEN of_x END, of_y, of_a, of_b, paired, permutations := $permutations,
      seed := $seed
    ) AS test
  FROM of_targets
  CROSS JOIN of_attributes
),
variances AS (
  SELECT
    *,
    test.variance_x * (n_x - 1) / nullif(n_x, 0) AS variance_x,
    test.variance_y * (n_y - 1) / nullif(n_y, 0) AS variance_y
  FROM tested
),
measures AS (
  SELECT
    *,
    effect_interval(
      test.mean_x - test.mean_y,
      welch_error(variance_x, n_x, variance_y, n_y, test.shared),
      welch_df(variance_x, n_x, variance_y, n_y, test.shared, paired, paired),
      variance_x, n_x, variance_y, n_y
    ) AS ends
  FROM variances
)
SELECT
  test.effect AS value,
  CASE WHEN test.effect IS NOT NULL THEN ends.low END AS low,
  CASE WHEN test.effect IS NOT NULL THEN ends.high END AS high,
  test.p AS p,
  test.exact AS exact,
  test.permutations AS permutations,
  test.mean_x AS mean_x,
  test.mean_y AS mean_y,
  test.std AS std,
  n_x + n_y AS n,
  n_x,
  n_y,
  n_a,
  n_b
FROM measures

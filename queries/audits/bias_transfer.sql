/*--- toml
answers = "How much of a model's bias follows from the bias of its data: correlation and fit over categories."
details = """
Each category has the bias of the data (concept, value) and that of the model (category, value), such as
bias_transfer(concept_ratio(min_count := 30), association(images, categories)); categories with several rows count once,
by their mean. level 'summary', metric: 'rho' (Pearson), 'r2' (share of the model's variance that the fit explains), for
degree 1 'slope' and 'intercept', and four quadrants: shares of the categories on either side of data_zero and
model_zero ('data + model -': the data leans to +, the model to -), count of n, a value at zero being on the + side.
level 'category': data, model, fitted and value = model - fitted, the residual.

The fit is by least squares on polynomials up to the degree: the same values, r2 and residuals as of Chebyshev's, which
span the same. Intervals are 95 %: 'fisher' is Fisher's z of rho, and of the multiple correlation for r2 (with n -
degree - 2; above degree 1 an approximation), of slope the usual normal one; 'bootstrap' draws categories again, with a
seed, and takes percentiles. Quadrants have Wilson's. Categories are no random sample of anything: see intervals as
rough.

Correlation over categories says nothing of cause; what is perceived of persons went into both. Rows are suppressed
(NULL) with fewer than min_count categories, or where one of the two biases is the same everywhere; n_missing counts
categories that only one side has.
"""
subject = "from data to models"
source = "Girrbach et al., Person-Centric Annotations of LAION-400M (2025), bias transfer: rho, R2, Chebyshev degree 3"
meets = { left = "model_bias.category", right = "dataset_bias.concept" }

[params.dataset_bias]
relation = ["concept", "value"]
default = "concept_ratio()"
about = "bias of the data, such as a concept_ratio"

[params.model_bias]
relation = ["category", "value"]
about = "bias of a model, such as an association or a generated_ratio"

[params.degree]
type = "integer"
default = 1
min = 1
max = 3
about = "degree of the polynomial"

[params.interval]
type = "varchar"
default = "fisher"
choices = ["fisher", "bootstrap"]
about = "how intervals of rho, r2, slope and intercept are made"

[params.resamples]
type = "integer"
default = 1000
min = 1
about = "draws of the bootstrap"

[params.seed]
type = "integer"
default = 0
about = "another seed, other draws"

[params.data_zero]
type = "double"
default = 0
about = "bias of data that leans to neither side; 0.5 for shares"

[params.model_zero]
type = "double"
default = 0
about = "bias of a model that leans to neither side"

[params.show]
type = "varchar"
default = "summary"
choices = ["summary", "categories", "all"]
about = "which levels have rows"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer categories are suppressed"
---*/
WITH data_side AS (
  SELECT concept AS category, CAST(sum(CAST(value AS DECIMAL(38, 18))) AS DOUBLE) / count(*) AS x
  FROM dataset_bias
  WHERE concept IS NOT NULL AND value IS NOT NULL AND abs(value) < 1e15
  GROUP BY concept
),
model_side AS (
  SELECT category, CAST(sum(CAST(value AS DECIMAL(38, 18))) AS DOUBLE) / count(*) AS y
  FROM model_bias
  WHERE category IS NOT NULL AND value IS NOT NULL AND abs(value) < 1e15
  GROUP BY category
),
points AS (
  SELECT d.category, d.x, m.y, row_number() OVER (ORDER BY d.category) AS place
  FROM data_side AS d
  JOIN model_side AS m ON m.category = d.category
  WHERE $degree IN (1, 2, 3) AND $interval IN ('fisher', 'bootstrap') AND $show IN ('summary', 'categories', 'all')
),
-- both on [-1, 1], so that sums of a fixed number of decimals are exact enough
ranged AS (
  SELECT
    *,
    count(*) OVER () AS n,
    min(x) OVER () AS x_low,
    max(x) OVER () AS x_high,
    min(y) OVER () AS y_low,
    max(y) OVER () AS y_high
  FROM points
),
scaled AS (
  SELECT
    *,
    (2 * x - x_low - x_high) / nullif(x_high - x_low, 0) AS u,
    (2 * y - y_low - y_high) / nullif(y_high - y_low, 0) AS v
  FROM ranged
),
-- draw 0 is the data itself
numbers AS (
  SELECT unnest(generate_series(0, CASE $interval WHEN 'bootstrap' THEN $resamples ELSE 0 END)) AS draw
),
hashed AS (
  SELECT
    d.draw,
    p.n,
    p.place,
    md5(concat(CAST($seed AS VARCHAR), ':', CAST(d.draw AS VARCHAR), ':', CAST(p.place AS VARCHAR))) AS lot
  FROM numbers AS d
  CROSS JOIN ranged AS p
),
drawn AS (
  SELECT draw, place, count(*) AS weight
  FROM (
    SELECT
      draw,
      CASE
        WHEN draw = 0 THEN place
        ELSE 1 + CAST(floor(
          n * ((((((strpos('0123456789abcdef', substr(lot, 1, 1)) - 1) * 16e0
            + strpos('0123456789abcdef', substr(lot, 2, 1)) - 1) * 16e0
            + strpos('0123456789abcdef', substr(lot, 3, 1)) - 1) * 16e0
            + strpos('0123456789abcdef', substr(lot, 4, 1)) - 1) * 16e0
            + strpos('0123456789abcdef', substr(lot, 5, 1)) - 1) * 16e0
            + strpos('0123456789abcdef', substr(lot, 6, 1)) - 1) / 16777216e0
        ) AS BIGINT)
      END AS place
    FROM hashed
  ) AS h
  GROUP BY draw, place
),
-- orthogonal polynomials of u by their recurrence (Forsythe): q0 = 1, then what u, u q1, u q2 add. Sums are windows, so that
-- engines which plan every use of an expression anew do so once
weighted AS (
  SELECT
    d.draw,
    d.weight,
    s.*,
    CAST(sum(d.weight) OVER (PARTITION BY d.draw) AS DOUBLE) AS w,
    CAST(sum(CAST(d.weight * s.u AS DECIMAL(38, 18))) OVER (PARTITION BY d.draw) AS DOUBLE) AS u_sum,
    CAST(sum(CAST(d.weight * s.v AS DECIMAL(38, 18))) OVER (PARTITION BY d.draw) AS DOUBLE) AS v_sum
  FROM drawn AS d
  JOIN scaled AS s ON s.place = d.place
  WHERE s.u IS NOT NULL AND s.v IS NOT NULL
),
centred AS (
  SELECT *, v_sum / w AS c0, v - v_sum / w AS dv, u - u_sum / w AS q1 FROM weighted
),
one AS (
  SELECT
    *,
    CAST(sum(CAST(weight * q1 * q1 AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS qq1,
    CAST(sum(CAST(weight * q1 * dv AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS qv1,
    CAST(sum(CAST(weight * dv * dv AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS vv,
    CAST(sum(CAST(weight * u * q1 * q1 AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS uqq1
  FROM centred
),
second AS (
  SELECT *, (u - uqq1 / nullif(qq1, 0)) * q1 - qq1 / w AS q2 FROM one
),
two AS (
  SELECT
    *,
    CAST(sum(CAST(weight * q2 * q2 AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS qq2,
    CAST(sum(CAST(weight * q2 * dv AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS qv2,
    CAST(sum(CAST(weight * u * q2 * q2 AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS uqq2
  FROM second
),
third AS (
  SELECT *, CASE WHEN qq2 > 1e-12 * w THEN (u - uqq2 / qq2) * q2 - qq2 / qq1 * q1 ELSE 0e0 END AS q3 FROM two
),
three AS (
  SELECT
    *,
    CAST(sum(CAST(weight * q3 * q3 AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS qq3,
    CAST(sum(CAST(weight * q3 * dv AS DECIMAL(38, 18))) OVER (PARTITION BY draw) AS DOUBLE) AS qv3
  FROM third
),
fitted AS (
  SELECT
    *,
    c0 + qv1 / qq1 * q1
    + CASE WHEN $degree >= 2 AND qq2 > 1e-12 * w THEN qv2 / qq2 * q2 ELSE 0e0 END
    + CASE WHEN $degree >= 3 AND qq3 > 1e-12 * w THEN qv3 / qq3 * q3 ELSE 0e0 END AS fit,
    qv1 * qv1 / qq1
    + CASE WHEN $degree >= 2 AND qq2 > 1e-12 * w THEN qv2 * qv2 / qq2 ELSE 0e0 END
    + CASE WHEN $degree >= 3 AND qq3 > 1e-12 * w THEN qv3 * qv3 / qq3 ELSE 0e0 END AS explained,
    qv1 / qq1 * (y_high - y_low) / (x_high - x_low) AS slope,
    (u_sum / w * (x_high - x_low) + x_low + x_high) / 2 AS x_mean,
    (v_sum / w * (y_high - y_low) + y_low + y_high) / 2 AS y_mean
  FROM three
  WHERE qq1 > 1e-12 * w AND vv > 1e-12 * w
),
-- one row a draw
lines AS (
  SELECT DISTINCT
    draw,
    n,
    greatest(least(qv1 / sqrt(qq1 * vv), 1), -1) AS rho,
    least(explained / vv, 1) AS r2,
    slope,
    y_mean - slope * x_mean AS intercept,
    (y_high - y_low) / 2 * sqrt(greatest(vv - explained, 0) / nullif(w - 2, 0)) AS spread,
    2 / (x_high - x_low) / sqrt(qq1) AS slope_scale,
    sqrt(1e0 / w + power(2 * x_mean / (x_high - x_low), 2) / qq1) AS intercept_scale
  FROM fitted
),
metrics AS (
  SELECT 'rho' AS metric, 1 AS place
  UNION ALL
  SELECT 'r2' AS metric, 2 AS place
  UNION ALL
  SELECT 'slope' AS metric, 3 AS place WHERE $degree = 1
  UNION ALL
  SELECT 'intercept' AS metric, 4 AS place WHERE $degree = 1
),
estimates AS (
  SELECT
    m.metric,
    l.draw,
    l.n,
    CASE m.metric WHEN 'rho' THEN l.rho WHEN 'r2' THEN l.r2 WHEN 'slope' THEN l.slope ELSE l.intercept END AS value,
    CASE
      WHEN m.metric = 'rho' OR (m.metric = 'r2' AND $degree = 1) THEN l.rho
      WHEN m.metric = 'r2' THEN sqrt(l.r2)
    END AS correlation,
    CASE m.metric WHEN 'r2' THEN $degree ELSE 1 END AS lost,
    CASE m.metric WHEN 'slope' THEN l.spread * l.slope_scale WHEN 'intercept' THEN l.spread * l.intercept_scale END AS error
  FROM lines AS l
  CROSS JOIN metrics AS m
),
placed AS (
  SELECT
    metric,
    value,
    row_number() OVER (PARTITION BY metric ORDER BY value) AS place,
    count(*) OVER (PARTITION BY metric) AS draws
  FROM estimates
  WHERE draw > 0
),
percentiles AS (
  SELECT
    metric,
    min(CASE WHEN place >= floor(0.025e0 * (draws + 1)) THEN value END) AS low,
    max(CASE WHEN place <= ceil(0.975e0 * (draws + 1)) THEN value END) AS high
  FROM placed
  GROUP BY metric
),
-- ends of the interval of the correlation
turned AS (
  SELECT
    t.metric,
    t.value,
    t.correlation,
    t.error,
    CASE WHEN t.n > t.lost + 2 THEN 1.959963984540054e0 / sqrt(CAST(t.n - t.lost - 2 AS DOUBLE)) END AS half,
    CASE
      WHEN abs(t.correlation) < 1 THEN 0.5e0 * ln((1 + t.correlation) / nullif(1 - t.correlation, 0))
    END AS z
  FROM estimates AS t
  WHERE t.draw = 0
),
fisher AS (
  SELECT
    *,
    CASE WHEN abs(correlation) >= 1 THEN correlation ELSE 1 - 2 / (exp(2 * (z - half)) + 1) END AS r_low,
    CASE WHEN abs(correlation) >= 1 THEN correlation ELSE 1 - 2 / (exp(2 * (z + half)) + 1) END AS r_high
  FROM turned
),
ends AS (
  SELECT
    count(*) AS n,
    (SELECT count(*) FROM data_side) + (SELECT count(*) FROM model_side) - 2 * count(*) AS n_missing
  FROM points
),
quadrants AS (
  SELECT
    concat('data ', d.sign, ' model ', m.sign) AS metric,
    count(CASE WHEN (p.x >= $data_zero) = d.plus AND (p.y >= $model_zero) = m.plus THEN 1 END) AS count
  FROM (SELECT '+' AS sign, true AS plus UNION ALL SELECT '-' AS sign, false AS plus) AS d
  CROSS JOIN (SELECT '+' AS sign, true AS plus UNION ALL SELECT '-' AS sign, false AS plus) AS m
  LEFT JOIN points AS p ON p.place > 0
  GROUP BY d.sign, m.sign
),
rows_of AS (
  SELECT
    'summary' AS level,
    m.metric,
    m.place,
    CAST(NULL AS VARCHAR) AS category,
    f.value,
    CASE
      WHEN $interval = 'bootstrap' THEN p.low
      WHEN f.metric = 'rho' THEN f.r_low
      WHEN f.metric = 'r2' THEN power(greatest(f.r_low, -f.r_high, 0), 2)
      ELSE f.value - 1.959963984540054e0 * f.error
    END AS low,
    CASE
      WHEN $interval = 'bootstrap' THEN p.high
      WHEN f.metric = 'rho' THEN f.r_high
      WHEN f.metric = 'r2' THEN power(greatest(f.r_high, -f.r_low), 2)
      ELSE f.value + 1.959963984540054e0 * f.error
    END AS high,
    CAST(NULL AS BIGINT) AS count,
    CAST(NULL AS DOUBLE) AS data,
    CAST(NULL AS DOUBLE) AS model,
    CAST(NULL AS DOUBLE) AS fitted
  FROM metrics AS m
  LEFT JOIN fisher AS f ON f.metric = m.metric
  LEFT JOIN percentiles AS p ON p.metric = m.metric
  WHERE $show IN ('summary', 'all')
  UNION ALL
  SELECT
    'summary' AS level,
    q.metric,
    5 AS place,
    CAST(NULL AS VARCHAR) AS category,
    CAST(q.count AS DOUBLE) / nullif(e.n, 0) AS value,
    wilson_low(q.count, e.n) AS low,
    wilson_high(q.count, e.n) AS high,
    q.count,
    CAST(NULL AS DOUBLE) AS data,
    CAST(NULL AS DOUBLE) AS model,
    CAST(NULL AS DOUBLE) AS fitted
  FROM quadrants AS q
  CROSS JOIN ends AS e
  WHERE $show IN ('summary', 'all')
  UNION ALL
  SELECT
    'category' AS level,
    'residual' AS metric,
    6 AS place,
    s.category,
    s.y - (f.fit * (f.y_high - f.y_low) + f.y_low + f.y_high) / 2 AS value,
    CAST(NULL AS DOUBLE) AS low,
    CAST(NULL AS DOUBLE) AS high,
    CAST(1 AS BIGINT) AS count,
    s.x AS data,
    s.y AS model,
    (f.fit * (f.y_high - f.y_low) + f.y_low + f.y_high) / 2 AS fitted
  FROM points AS s
  LEFT JOIN fitted AS f ON f.category = s.category AND f.draw = 0
  WHERE $show IN ('categories', 'all')
)
SELECT
  r.level,
  r.metric,
  r.category,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.value END AS value,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.low END AS low,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.high END AS high,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.count END AS count,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.data END AS data,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.model END AS model,
  CASE WHEN e.n >= greatest($min_count, 1) THEN r.fitted END AS fitted,
  e.n,
  e.n_missing,
  e.n < greatest($min_count, 1) OR r.value IS NULL AS suppressed
FROM rows_of AS r
CROSS JOIN ends AS e
ORDER BY r.level DESC, r.place, r.metric, r.category

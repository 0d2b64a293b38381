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
degree - 2; above degree 1 an approximation, from 0 where the F test does not tell it from 0), Student's t of slope and
intercept; 'bootstrap' draws categories again, with a seed, and takes percentiles, expanded for few categories (Hesterberg
2015): of 30 or more. Quadrants have Wilson's. Categories are not a random sample of anything: see intervals as rough.

Correlation over categories says nothing of cause; what is perceived of persons went into both. Fewer than
min_count categories are hidden with all that is computed from them; value is NULL, too, where there is none, or where one of
the two biases is the same everywhere. n_missing counts categories that only one side has.
"""
subject = "from data to models"
source = "Girrbach et al., Person-Centric Annotations of LAION-400M (2025), bias transfer: rho, R2, Chebyshev degree 3"
exact = true
meets = { left = "model_bias.category", right = "dataset_bias.concept" }
presets = { paper = "Girrbach et al. (2025), CLIP", paper_diffusion = "Girrbach et al. (2025), Stable Diffusion" }

[params.dataset_bias]
relation = ["concept", "value"]
default = "concept_ratio()"
presets = { paper = { value = "concept_ratio(preset := 'paper')", source = "section 5" }, paper_diffusion = { value = "concept_ratio(preset := 'paper')", source = "section 5" } }
about = "bias of the data, such as a concept_ratio; by default the same, as its own defaults are the values of the paper"

[params.model_bias]
relation = ["category", "value"]
about = "bias of a model, such as an association or a generated_ratio"

[params.degree]
type = "integer"
default = 1
min = 1
max = 3
presets = { paper = { value = 1, source = "section 5; 3 in G.3" }, paper_diffusion = { value = 1, source = "section 5; 3 in G.3" } }
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
presets = { paper = { value = 0.5, source = "section 5: the share of women" }, paper_diffusion = { value = 0.5, source = "section 5: the share of women" } }
about = "bias of data that leans to neither side; 0.5 for shares; the default is that of differences"

[params.model_zero]
type = "double"
default = 0
presets = { paper = { value = 0, source = "Eq. 1: a difference" }, paper_diffusion = { value = 0.5, source = "section 5: the share of women" } }
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

[[cells]]
count = "n"
within = ["level", "metric", "category"]
measures = ["value", "low", "high", "count", "data", "model", "fitted"]
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
  SELECT d.category, d.x, m.y FROM data_side AS d JOIN model_side AS m ON m.category = d.category
),
ends AS (
  SELECT
    count(*) AS n,
    (SELECT count(*) FROM data_side) + (SELECT count(*) FROM model_side) - 2 * count(*) AS n_missing,
    transfer_fit(
      list(struct_pack(category := category, x := x, y := y)), $degree, $interval, $resamples, $seed
    ) AS fit
  FROM points
),
quadrants AS (
  SELECT
    concat('data ', d.sign, ' model ', m.sign) AS metric,
    count(CASE WHEN (p.x >= $data_zero) = d.plus AND (p.y >= $model_zero) = m.plus THEN 1 END) AS count
  FROM (SELECT '+' AS sign, true AS plus UNION ALL SELECT '-' AS sign, false AS plus) AS d
  CROSS JOIN (SELECT '+' AS sign, true AS plus UNION ALL SELECT '-' AS sign, false AS plus) AS m
  LEFT JOIN points AS p ON true
  GROUP BY d.sign, m.sign
),
rows_of AS (
  SELECT
    CASE r.metric WHEN 'residual' THEN 'category' ELSE 'summary' END AS level,
    r.metric,
    CASE r.metric WHEN 'rho' THEN 1 WHEN 'r2' THEN 2 WHEN 'slope' THEN 3 WHEN 'intercept' THEN 4 ELSE 6 END AS place,
    r.category,
    r.value,
    r.low,
    r.high,
    CASE r.metric WHEN 'residual' THEN CAST(1 AS BIGINT) END AS count,
    r.data,
    r.model,
    r.fitted
  FROM (SELECT unnest(fit) AS r FROM ends) AS f
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
)
SELECT
  r.level,
  r.metric,
  r.category,
  r.value,
  r.low,
  r.high,
  r.count,
  r.data,
  r.model,
  r.fitted,
  e.n,
  e.n_missing
FROM rows_of AS r
CROSS JOIN ends AS e
WHERE $show = CASE r.level WHEN 'summary' THEN 'summary' ELSE 'categories' END OR $show = 'all'
ORDER BY r.level DESC, r.place, r.metric, r.category

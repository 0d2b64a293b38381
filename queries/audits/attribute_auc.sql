/*--- toml
answers = "How well scores of attributes tell the images that carry a label from those that do not."
details = """
One row for every category and attribute that both sides name: value, the area under the ROC curve (the chance that an
image with the label has a higher score than one without, half of it for equal scores) with its 95 % interval (area_interval), over
the n images that have a score and any label of the category, of which n_positive carry the label. 0.5 is chance. Labels
are what annotators or models perceived, and can be wrong themselves. p is that of Mann and Whitney's U, with the
variance for equal scores: is the area that of chance? q is p by Benjamini and Hochberg over all rows, hidden ones as
p = 1.

Attributes that few images carry, or lack, are hidden by the engine (docs/safety.md).
"""
subject = "what goes with whom"
source = """
Kabra et al., GELDA (2023), annotations held against labels; Newcombe (2006), method 5; Mann and Whitney (1947), with ties
as in Hollander and Wolfe, Nonparametric Statistical Methods (1999)"""
meets = { left = "scores.category", right = "labels.category" }
presets = { paper = { of = "Kabra et al. (2024)", source = "section 4.2, Table 1" } }

[params.scores]
relation = ["image_id", "category", "attribute", "score"]
about = "how likely an attribute is of an image, by a model; higher is likelier"

[params.labels]
relation = ["image_id", "category", "attribute"]
about = "one row or more an image that was labelled"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images with, or without, the label are suppressed"

[[cells]]
count = "n"
measures = ["value", "low", "high", "n_positive"]
tests = ["p", "q"]

[[cells]]
count = "n_positive"
of = "n"
out_of = "n"
by = ["attribute"]
within = ["category"]
measures = ["value", "low", "high", "n"]
tests = ["p", "q"]
---*/
SELECT category, attribute, value, low, high, n, n_positive, p, q
FROM false_discovery((
  WITH labelled AS (
    SELECT DISTINCT image_id, category, attribute
    FROM labels
    WHERE image_id IS NOT NULL AND category IS NOT NULL AND attribute IS NOT NULL
  ),
  asked AS (
    SELECT DISTINCT image_id, category FROM labelled
  ),
  named AS (
    SELECT DISTINCT category, attribute FROM labelled
  ),
  best AS (
    SELECT image_id, category, attribute, max(score) AS score
    FROM scores
    WHERE score IS NOT NULL AND NOT isnan(CAST(score AS DOUBLE))
    GROUP BY image_id, category, attribute
  ),
  judged AS (
    SELECT
      s.category,
      s.attribute,
      s.score,
      CASE WHEN l.image_id IS NULL THEN 0 ELSE 1 END AS positive
    FROM best AS s
    JOIN named AS m ON m.category = s.category AND m.attribute = s.attribute
    JOIN asked AS a ON a.image_id = s.image_id AND a.category = s.category
    LEFT JOIN labelled AS l ON l.image_id = s.image_id AND l.category = s.category AND l.attribute = s.attribute
  ),
  levels AS (
    SELECT category, attribute, score, sum(positive) AS ties_p, sum(1 - positive) AS ties_n
    FROM judged
    GROUP BY category, attribute, score
  ),
  -- twice the images of the other side below, those with the same score once
  placed AS (
    SELECT
      *,
      2 * sum(ties_n) OVER (
        PARTITION BY category, attribute ORDER BY score ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
      ) - ties_n AS below_n
    FROM levels
  ),
  sums AS (
    SELECT
      category,
      attribute,
      CAST(sum(ties_p) AS BIGINT) AS n_positive,
      CAST(sum(ties_n) AS BIGINT) AS n_negative,
      CAST(sum(CAST(ties_p * below_n AS DECIMAL(38, 0))) AS DOUBLE) AS wins,
      CAST(sum(CAST(pow(ties_p + ties_n, 3) - ties_p - ties_n AS DECIMAL(38, 0))) AS DOUBLE) AS ties
    FROM placed
    GROUP BY category, attribute
  ),
  measured AS (
    SELECT *, wins / 2 / nullif(n_positive, 0) / nullif(n_negative, 0) AS auc FROM sums
  ),
  bounded AS (
    SELECT
      *,
      area_interval(auc, n_positive, n_negative) AS ends,
      CAST(n_positive + n_negative AS DOUBLE) AS n
    FROM measured
  )
  SELECT
    category,
    attribute,
    auc AS value,
    ends.low AS low,
    ends.high AS high,
    n_positive + n_negative AS n,
    n_positive,
    two_sided_p(
      12 * (auc - 0.5) * (auc - 0.5) * n_positive * n_negative / nullif(n + 1 - ties / n / nullif(n - 1, 0), 0)
    ) AS p
  FROM bounded
))
ORDER BY category, attribute

/*--- toml
answers = "How far a model tells a text and an image from their counterfactuals, by matching scores."
details = """
A pair has an original (or real: r) text and image, and their counterfactuals (c). Differences of scores s(text, image):
IR_r = s(r, r) - s(r, c) and IR_c = s(c, c) - s(c, r) choose the image of a text; TR_r = s(r, r) - s(c, r) and
TR_c = s(c, c) - s(r, c) choose the text of an image. value is the mean over n pairs with a normal 95 % interval,
correct the share of pairs with a difference above 0 (a tie is not right) with Wilson's; small differences mean that the
model is confused. Pairs without one of two scores do not count for that difference. Where the altered word is a
perceived group, a difference is one of words and pictures, never of people.

With vectors as the recipe coco_counterfactuals makes them: scores := (SELECT edit_id AS pair_id,
array_inner_product(text_a, image_a) AS rr, array_inner_product(text_a, image_b) AS rc, array_inner_product(text_b,
image_a) AS cr, array_inner_product(text_b, image_b) AS cc FROM coco_counterfactuals_requests).
"""
subject = "what a model associates"
source = """
Le et al., COCO-Counterfactuals (2023), image-text matching; the four differences are those of the authors' code (per
original and counterfactual prompt and image; with COCO's own image as the original, those "on coco"). Their names here
and the share correct are our reading, the paper's text not being at hand"""

[params.scores]
relation = ["pair_id", "rr", "rc", "cr", "cc"]
about = "one row per pair; scores of a text with an image, text first"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "averages over fewer pairs are hidden"

[[cells]]
count = "n"
within = ["metric"]
---*/
WITH pairs AS (
  SELECT DISTINCT pair_id, rr, rc, cr, cc FROM scores WHERE pair_id IS NOT NULL
),
differences AS (
  SELECT 'IR_r' AS metric, CAST(rr AS DOUBLE) - CAST(rc AS DOUBLE) AS difference FROM pairs
  UNION ALL
  SELECT 'IR_c' AS metric, CAST(cc AS DOUBLE) - CAST(cr AS DOUBLE) AS difference FROM pairs
  UNION ALL
  SELECT 'TR_r' AS metric, CAST(rr AS DOUBLE) - CAST(cr AS DOUBLE) AS difference FROM pairs
  UNION ALL
  SELECT 'TR_c' AS metric, CAST(cc AS DOUBLE) - CAST(rc AS DOUBLE) AS difference FROM pairs
),
sums AS (
  SELECT
    metric,
    count(*) AS n,
    count(CASE WHEN difference > 0 THEN 1 END) AS hits,
    CAST(sum(CAST(difference AS DECIMAL(38, 18))) AS DOUBLE) AS total,
    CAST(sum(CAST(difference * difference AS DECIMAL(38, 18))) AS DOUBLE) AS squares
  FROM differences
  WHERE difference IS NOT NULL AND NOT isnan(difference)
  GROUP BY metric
),
bounds AS (
  SELECT
    *,
    total / n AS mean,
    student_point(n - 1) * sqrt(greatest(squares - total * total / n, 0) / nullif(n - 1, 0) / n) AS half
  FROM sums
)
SELECT
  metric,
  n,
  mean AS value,
  mean - half AS low,
  mean + half AS high,
  CAST(hits AS DOUBLE) / n AS correct,
  wilson_low(hits, n) AS correct_low,
  wilson_high(hits, n) AS correct_high
FROM bounds
ORDER BY metric

/*--- toml
answers = "How far a model tells a text and an image from their counterfactuals, by matching scores."
details = """
A pair has an original (or real: r) text and image, and their counterfactuals (c). Differences of scores s(text, image):
IR_r = s(r, r) - s(r, c) and IR_c = s(c, c) - s(c, r) choose the image of a text; TR_r = s(r, r) - s(c, r) and
TR_c = s(c, c) - s(r, c) choose the text of an image. value is the mean over n pairs with a normal 95 % interval,
correct the share of pairs with a difference above 0 (n_right; a tie is not right, n_wrong) with Wilson's, which the engine
hides where few pairs are right, or wrong (README), and value with them where few have one of up to three differences
that there are (n_alike), as of scores of 0 and 1; small differences mean that the model is confused. Pairs without one
of two scores do not count for that difference. Where the altered word is a perceived group, a difference is one of words
and pictures, never of people.

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
measures = ["value", "low", "high", "correct", "correct_low", "correct_high", "n_right", "n_wrong", "n_alike"]

[[cells]]
count = "n_alike"
within = ["metric"]
measures = ["value", "low", "high", "correct", "correct_low", "correct_high", "n_right", "n_wrong"]

[[cells]]
count = "n_right"
within = ["metric"]
measures = ["correct", "correct_low", "correct_high", "n_right", "n_wrong"]

[[cells]]
count = "n_wrong"
within = ["metric"]
measures = ["correct", "correct_low", "correct_high", "n_right", "n_wrong"]
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
kept AS (
  SELECT metric, difference FROM differences WHERE difference IS NOT NULL AND NOT isnan(difference)
),
-- a mean and its interval tell how often each of three values is there
alike AS (
  SELECT metric, CASE WHEN count(*) <= 3 THEN min(count) END AS n_alike
  FROM (SELECT metric, difference, count(*) AS count FROM kept GROUP BY metric, difference) AS d
  GROUP BY metric
),
sums AS (
  SELECT
    metric,
    count(*) AS n,
    count(CASE WHEN difference > 0 THEN 1 END) AS hits,
    CAST(sum(CAST(difference AS DECIMAL(38, 18))) AS DOUBLE) AS total,
    CAST(sum(CAST(difference * difference AS DECIMAL(38, 18))) AS DOUBLE) AS squares
  FROM kept
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
  b.metric,
  n,
  mean AS value,
  mean - half AS low,
  mean + half AS high,
  CAST(hits AS DOUBLE) / n AS correct,
  wilson_low(hits, n) AS correct_low,
  wilson_high(hits, n) AS correct_high,
  hits AS n_right,
  n - hits AS n_wrong,
  a.n_alike
FROM bounds AS b
JOIN alike AS a ON a.metric = b.metric
ORDER BY b.metric

/*--- toml
answers = "How far a model tells texts and images from counterfactual and from random ones, by matching scores."
details = """
A pair is an original text and image (o), the counterfactual text (c), and a picture drawn for either text; r is another
original text and image, drawn at random. Differences of scores, text first, the drawn pictures with the c ones: IR_c = cc -
c_o and TR_c = cc - o_c are how surely a counterfactual finds its picture, or its picture the text, and IR_r = rr - r_o
and TR_r = rr - o_r the same of real pairs that chance brought together: IR chooses the image of a text, TR the text of
an image. value is the mean over n pairs with a 95 % interval (Student's t),
correct the share of pairs with a difference above 0 (n_right; a tie is not right, n_wrong) with Wilson's. Pairs made of one
image are alike: name it in sources, and variances are by these n_sources (clustered_variance), shares of as many independent
pairs as would tell as much (effective_size). The engine
hides shares where few pairs are right, or wrong (docs/safety.md), and value with them where few have one of up to three differences
that there are (n_alike), as of scores of 0 and 1; values of IR_c and TR_c that are smaller than of IR_r and TR_r mean that
counterfactuals are harder to tell than what chance brings. Pairs without one of two scores do not count for that
difference. Where the altered word is a perceived group, a difference is one of words and pictures, never of people.

With vectors: scores := matching_scores(pairs), which says how to take them from the recipe coco_counterfactuals, draws r
by a seed and makes the six scores.
"""
subject = "what a model associates"
source = """
Le et al., COCO-Counterfactuals (2023), 4.2.2 and Figure 3: IR_r = G(C_r, I_r) - G(C_r, I_o), TR_r = G(C_r, I_r) - G(C_o,
I_r), TR_c = G(C_c, I_c) - G(C_o, I_c), and IR_c = G(C_c, I_c) - G(C_c, I_o) with the picture drawn for C_o, which our copy
of the paper prints as a difference of equal terms"""
presets = { paper = { of = "Le et al. (2023)", source = "4.2.2" } }

[params.scores]
relation = ["pair_id", "rr", "r_o", "o_r", "cc", "c_o", "o_c"]
about = "one row per pair; scores of a text with an image, text first; see matching_scores"

[params.sources]
relation = ["pair_id", "source_id"]
default = "(SELECT DISTINCT pair_id, pair_id AS source_id FROM scores)"
grid = []
about = "the image that each pair was made of; a pair that is not here was made of one of its own"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "averages over fewer pairs, or images, are hidden"

[[cells]]
count = "n"
within = ["metric"]
measures = ["value", "low", "high", "correct", "correct_low", "correct_high", "n_right", "n_wrong", "n_alike", "n_sources"]

[[cells]]
count = "n_sources"
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
  SELECT DISTINCT pair_id, rr, r_o, o_r, cc, c_o, o_c FROM scores WHERE pair_id IS NOT NULL
),
differences AS (
  SELECT pair_id, 'IR_r' AS metric, CAST(rr AS DOUBLE) - CAST(r_o AS DOUBLE) AS difference FROM pairs
  UNION ALL
  SELECT pair_id, 'IR_c' AS metric, CAST(cc AS DOUBLE) - CAST(c_o AS DOUBLE) AS difference FROM pairs
  UNION ALL
  SELECT pair_id, 'TR_r' AS metric, CAST(rr AS DOUBLE) - CAST(o_r AS DOUBLE) AS difference FROM pairs
  UNION ALL
  SELECT pair_id, 'TR_c' AS metric, CAST(cc AS DOUBLE) - CAST(o_c AS DOUBLE) AS difference FROM pairs
),
made_of AS (
  SELECT pair_id, min(source_id) AS source FROM sources WHERE pair_id IS NOT NULL AND source_id IS NOT NULL GROUP BY pair_id
),
kept AS (
  SELECT d.metric, d.difference, s.source, CASE WHEN s.source IS NULL THEN d.pair_id END AS alone
  FROM differences AS d
  LEFT JOIN made_of AS s ON s.pair_id = d.pair_id
  WHERE NOT isnan(d.difference) AND abs(d.difference) < 1e9
),
-- a mean and its interval tell how often each of three values is there
alike AS (
  SELECT metric, CASE WHEN count(*) <= 3 THEN min(count) END AS n_alike
  FROM (SELECT metric, difference, count(*) AS count FROM kept GROUP BY metric, difference) AS d
  GROUP BY metric
),
by_source AS (
  SELECT
    metric,
    CAST(count(*) AS DOUBLE) AS n,
    CAST(count(CASE WHEN difference > 0 THEN 1 END) AS DOUBLE) AS hits,
    CAST(sum(CAST(difference AS DECIMAL(38, 18))) AS DOUBLE) AS total
  FROM kept
  GROUP BY metric, source, alone
),
sums AS (
  SELECT
    metric,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(hits) AS BIGINT) AS hits,
    count(*) AS n_sources,
    sum(n * n) AS sizes,
    sum(hits * hits) AS hit_squares,
    sum(hits * n) AS hit_products,
    CAST(sum(CAST(total AS DECIMAL(38, 18))) AS DOUBLE) AS total,
    CAST(sum(CAST(total * total AS DECIMAL(38, 18))) AS DOUBLE) AS squares,
    CAST(sum(CAST(total * n AS DECIMAL(38, 18))) AS DOUBLE) AS products
  FROM by_source
  GROUP BY metric
),
bounds AS (
  SELECT
    *,
    total / n AS mean,
    student_point(n_sources - 1) * sqrt(clustered_variance(total, n, squares, products, sizes, n_sources)) AS half,
    effective_size(hits, n, hit_squares, hit_products, sizes, n_sources) AS effective
  FROM sums
)
SELECT
  b.metric,
  n,
  n_sources,
  mean AS value,
  mean - half AS low,
  mean + half AS high,
  CAST(hits AS DOUBLE) / n AS correct,
  wilson_low(hits * effective / n, effective) AS correct_low,
  wilson_high(hits * effective / n, effective) AS correct_high,
  hits AS n_right,
  n - hits AS n_wrong,
  a.n_alike
FROM bounds AS b
JOIN alike AS a ON a.metric = b.metric
ORDER BY b.metric

/*--- toml
answers = "How the scores of a classifier are distributed, by perceived group: how many lie in each range."
details = """
For every annotator (classifier), label and range of scores, from score_from to under score_to: count of the label's n scores
(of so many images) that lie in it, as share = count / n with Wilson's 95 % interval. Scores of one image, such as those of its
captions, are much alike, so intervals are of as many independent scores as would tell as much (effective_size). A quantile
would be the score of a single text or image, so none is given: add shares up, from the last range on, to see how many lie
above a score. hate_content_rate does so at thresholds.

The paper draws the scores from .15 on of the probabilities that a text is positive, and negative, for women and for men:
preset 'paper', and 'paper_negative', after the step classified_sentiment of the recipe laion400m. It is what a
classifier thinks of a text, with its errors. Without groups all images count ('all'); with a group relation, images with one
clear perceived label. Scores outside of 0 and 1 are left out.

Small counts, and what would give them away, are hidden by the engine (docs/safety.md); so are ranges that the scores of few images
lie in, or those of all but few, however many scores each has (smallest).
"""
subject = "what goes with whom"
open_labels = true
source = "Girrbach et al. (2025), G.2, Fig. 22: its first score is printed, its ranges are not"
presets = { paper = "Girrbach et al. (2025), positive", paper_negative = { of = "Girrbach et al. (2025), negative", like = "paper" } }

[params.attribute]
type = "varchar"
values = "labels.attribute"
presets = { paper = { value = "positive", source = "G.2, Fig. 22" }, paper_negative = { value = "negative", source = "G.2, Fig. 22" } }
about = "attribute of labels whose score it is, such as 'hateful' or 'positive'"

[params.bins]
type = "double[]"
default = [0.15, 0.3, 0.45, 0.6, 0.75, 0.9]
above = 0
max = 1
about = "where ranges begin, beside 0; the paper prints the first one alone (.15), so that no preset sets any"

[params.groups]
relation = ["image_id", "label"]
default = "(SELECT image_id, 'all' AS label FROM images)"
presets = { paper = { value = "image_labels('perceived_gender', preset := 'paper')", source = "G.2, Fig. 22" } }
about = "group relation; the default needs no labels"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[params.labels]
relation = ["image_id", "attribute", "score", "annotator"]
default = "labels"
about = "label rows, in table labels or elsewhere"

[[cells]]
count = "n"
by = ["label"]
within = ["annotator"]
measures = ["images", "count", "share", "low", "high", "smallest"]

[[cells]]
count = "images"
by = ["label"]
within = ["annotator"]

[[cells]]
count = "count"
by = ["score_from", "label"]
within = ["annotator"]
measures = ["share", "low", "high", "smallest"]

[[cells]]
count = "count"
of = "n"
by = ["score_from"]
within = ["annotator", "label"]
measures = ["share", "low", "high", "smallest"]

[[cells]]
count = "smallest"
within = ["annotator", "label", "score_from", "score_to"]
measures = ["count", "share", "low", "high"]
---*/
WITH ranges AS (
  SELECT
    score_from,
    lead(score_from) OVER (ORDER BY score_from) AS score_to
  FROM (SELECT DISTINCT unnest($bins) AS score_from UNION SELECT 0e0 AS score_from) AS e
),
members AS (
  SELECT image_id, label FROM clear_labels(groups)
),
-- scores are stored as float32, and so is what they are held against
scores AS (
  SELECT l.annotator, g.label, l.image_id, r.score_from, count(*) AS count
  FROM labels AS l
  JOIN members AS g ON g.image_id = l.image_id
  JOIN ranges AS r
    ON CAST(l.score AS FLOAT) >= CAST(r.score_from AS FLOAT)
    AND (r.score_to IS NULL OR CAST(l.score AS FLOAT) < CAST(r.score_to AS FLOAT))
  WHERE l.attribute = $attribute AND l.score BETWEEN 0 AND 1
  GROUP BY l.annotator, g.label, l.image_id, r.score_from
),
by_image AS (
  SELECT annotator, label, image_id, CAST(sum(count) AS BIGINT) AS n FROM scores GROUP BY annotator, label, image_id
),
sums AS (
  SELECT
    annotator,
    label,
    CAST(sum(n) AS BIGINT) AS n,
    count(*) AS images,
    CAST(sum(n * n) AS DOUBLE) AS sizes
  FROM by_image
  GROUP BY annotator, label
),
counts AS (
  SELECT
    s.annotator,
    s.label,
    s.score_from,
    CAST(sum(s.count) AS BIGINT) AS count,
    CAST(sum(s.count * s.count) AS DOUBLE) AS squares,
    CAST(sum(s.count * i.n) AS DOUBLE) AS products,
    count(*) AS images_in,
    count(CASE WHEN s.count = i.n THEN 1 END) AS images_all_in
  FROM scores AS s
  JOIN by_image AS i ON i.annotator IS NOT DISTINCT FROM s.annotator AND i.label = s.label AND i.image_id = s.image_id
  GROUP BY s.annotator, s.label, s.score_from
),
cells AS (
  SELECT
    s.annotator,
    s.label,
    r.score_from,
    r.score_to,
    coalesce(c.count, 0) AS count,
    s.n,
    s.images,
    effective_size(coalesce(c.count, 0), s.n, coalesce(c.squares, 0), coalesce(c.products, 0), s.sizes, s.images)
      AS effective,
    least(nullif(coalesce(c.images_in, 0), 0), nullif(s.images - coalesce(c.images_all_in, 0), 0)) AS smallest
  FROM sums AS s
  CROSS JOIN ranges AS r
  LEFT JOIN counts AS c
    ON c.annotator IS NOT DISTINCT FROM s.annotator AND c.label = s.label AND c.score_from = r.score_from
)
SELECT
  annotator,
  label,
  score_from,
  score_to,
  count,
  n,
  images,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count * effective / n, effective) AS low,
  wilson_high(count * effective / n, effective) AS high,
  smallest
FROM cells
ORDER BY annotator, label, score_from

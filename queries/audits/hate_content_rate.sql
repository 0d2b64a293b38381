/*--- toml
answers = "How many of 100 scored texts or images a classifier finds hateful, at one or several thresholds."
details = """
percent = 100 * share of scored labels with P > tau (strictly) with Wilson's 95 % interval, for every
annotator (classifier), threshold and label. P is the column score of table labels, for the given attribute. The three
scores of a column of hate_scores() go in as labels, too, each as an attribute of its own, 'hateful', 'targeted' and
'aggressive': the step hate of the recipe laion400m makes them. It is what a classifier thinks of a text, with its errors.
Without groups all images count ('all'); with a group relation, images with one clear perceived label. Scores of one image,
such as those of its captions, are much alike: intervals are of as many independent scores as would tell as much
(effective_size). How scores are distributed: score_distribution.

Small counts, of scores over a threshold and of the others, are hidden by the engine (docs/safety.md), and so are those of few
images, however many scores each has (smallest).
"""
subject = "what goes with whom"
open_labels = true
source = """
Birhane et al., Into the LAION's Den (2023): hate content rate; Girrbach et al. (2025), G.2, Eq. 6: for hateful, targeted and
aggressive, at a range of thresholds that is drawn and not printed"""
presets = { paper = "Girrbach et al. (2025), hateful", paper_targeted = { of = "Girrbach et al. (2025), targeted", like = "paper" }, paper_aggressive = { of = "Girrbach et al. (2025), aggressive", like = "paper" } }

[params.attribute]
type = "varchar"
default = "hateful"
values = "labels.attribute"
presets = { paper = { value = "hateful", source = "G.2, Eq. 6" }, paper_targeted = { value = "targeted", source = "G.2, Eq. 6" }, paper_aggressive = { value = "aggressive", source = "G.2, Eq. 6" } }
about = "attribute of labels whose score is the probability"

[params.value]
type = "varchar"
optional = true
grid = []
values = "labels.value"
about = "value of labels that alone can be over a threshold, the rest count as under it"

[params.tau]
type = "double[]"
default = [0.5]
about = "thresholds; the paper draws a range of them (Fig. 23) and prints none, so that no preset sets any"

[params.groups]
relation = ["image_id", "label"]
default = "(SELECT image_id, 'all' AS label FROM images)"
presets = { paper = { value = "image_labels('perceived_gender', preset := 'paper')", source = "G.2, Fig. 23" } }
about = "group relation; the default needs no labels"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rows that rest on fewer scores are suppressed"

[params.labels]
relation = ["image_id", "attribute", "value", "score", "annotator"]
default = "labels"
about = "label rows, in table labels or elsewhere"

[[cells]]
count = "n"
by = ["label"]
within = ["annotator", "tau"]

[[cells]]
count = "images"
by = ["label"]
within = ["annotator", "tau"]

[[cells]]
count = "smallest"
within = ["annotator", "tau", "label"]

[[cells]]
count = "count"
out_of = "n"
by = ["label"]
within = ["annotator", "tau"]
---*/
WITH cuts AS (
  SELECT DISTINCT unnest($tau) AS tau
),
members AS (
  SELECT image_id, label FROM clear_labels(groups)
),
scores AS (
  SELECT image_id, annotator, CASE WHEN $value IS NULL OR value = $value THEN score ELSE 0 END AS score
  FROM labels
  WHERE attribute = $attribute AND score IS NOT NULL AND NOT isnan(score)
),
by_image AS (
  SELECT
    s.annotator,
    c.tau,
    g.label,
    s.image_id,
    count(*) AS n,
    -- scores are stored as float32, and so is the threshold they are held against
    count(CASE WHEN s.score > CAST(c.tau AS FLOAT) THEN 1 END) AS count
  FROM scores AS s
  JOIN members AS g ON g.image_id = s.image_id
  CROSS JOIN cuts AS c
  GROUP BY s.annotator, c.tau, g.label, s.image_id
),
sums AS (
  SELECT
    annotator,
    tau,
    label,
    CAST(sum(count) AS BIGINT) AS count,
    CAST(sum(n) AS BIGINT) AS n,
    count(*) AS images,
    least(
      nullif(count(CASE WHEN count > 0 THEN 1 END), 0), nullif(count(CASE WHEN count < n THEN 1 END), 0)
    ) AS smallest,
    effective_size(
      sum(count), sum(n), CAST(sum(count * count) AS DOUBLE), CAST(sum(count * n) AS DOUBLE),
      CAST(sum(n * n) AS DOUBLE), count(*)
    ) AS effective
  FROM by_image
  GROUP BY annotator, tau, label
)
SELECT
  annotator,
  tau,
  label,
  count,
  n,
  images,
  100e0 * count / n AS percent,
  100 * wilson_low(count * effective / n, effective) AS low,
  100 * wilson_high(count * effective / n, effective) AS high,
  smallest
FROM sums
ORDER BY annotator, tau, label

/*--- toml
answers = "How many of 100 scored texts or images a classifier finds hateful, at one or several thresholds."
details = """
rate = 100 * share of scored labels with P > tau (strictly) with Wilson's 95 % interval, in percent, for every
annotator (classifier), threshold and label. P is the column score of table labels, for the given attribute; the
scores of a column of hate_scores() go in as labels, too. It is what a classifier thinks of a text, with its errors.
Without groups all images count ('all'); with a group relation, images with one clear perceived label.

Small counts, of scores over a threshold and of the others, are hidden by the engine (README).
"""
subject = "what goes with whom"
source = "Birhane et al., Into the LAION's Den (2023): hate content rate"

[params.attribute]
type = "varchar"
default = "hateful"
values = "labels.attribute"
about = "attribute of labels whose score is the probability"

[params.value]
type = "varchar"
optional = true
values = "labels.value"
about = "value of labels that alone can be over a threshold, the rest count as under it"

[params.tau]
type = "double[]"
default = [0.5]
about = "thresholds"

[params.groups]
relation = ["image_id", "label"]
default = "(SELECT image_id, 'all' AS label FROM images)"
about = "group relation"

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
measures = ["count", "rate", "low", "high"]

[[cells]]
count = "count"
out_of = "n"
by = ["label"]
within = ["annotator", "tau"]
measures = ["n", "rate", "low", "high"]
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
sums AS (
  SELECT
    s.annotator,
    c.tau,
    g.label,
    count(*) AS n,
    -- scores are stored as float32, and so is the threshold they are held against
    count(CASE WHEN s.score > CAST(c.tau AS FLOAT) THEN 1 END) AS count
  FROM scores AS s
  JOIN members AS g ON g.image_id = s.image_id
  CROSS JOIN cuts AS c
  GROUP BY s.annotator, c.tau, g.label
)
SELECT
  annotator,
  tau,
  label,
  count,
  n,
  100e0 * count / n AS rate,
  100 * wilson_low(count, n) AS low,
  100 * wilson_high(count, n) AS high
FROM sums
ORDER BY annotator, tau, label

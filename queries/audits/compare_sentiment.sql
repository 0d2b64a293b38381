/*--- toml
answers = "Which share of the texts of perceived groups is negative, in two datasets (VADER)."
details = """
The share is that of the audit sentiment: negative texts among those whose score is not 0. Columns and tests as in
compare_demographics, without a row for the distribution; intervals and tests go by images, of which there are images_a
and images_b, since texts of one image are much alike. VADER scores texts, not people, and labels are perceived.
"""
subject = "two datasets"
source = "comparison of datasets as in Girrbach et al. (2025), CC12M beside LAION-400M; tests as in compared"
local = "calls vader()"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation of the first dataset"

[params.others]
relation = ["image_id", "label"]
about = "group relation of the second one, such as b.caption_gender"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "of the first dataset"

[params.other_texts]
relation = ["image_id", "text"]
about = "of the second one, such as b.captions"

[params.rules]
type = "varchar"
default = "vader"
choices = ["vader", "nltk"]
about = "results of the vaderSentiment package or of NLTK's port"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count_a"
of = "n_a"
within = ["item", "label"]
tests = ["p", "q"]

[[cells]]
count = "n_a"

[[cells]]
count = "count_b"
of = "n_b"

[[cells]]
count = "n_b"

[[cells]]
count = "images_a"

[[cells]]
count = "images_b"

[[cells]]
count = "smallest"
---*/
SELECT
  c.item,
  c.label,
  c.value_a,
  c.value_b,
  c.difference,
  c.low,
  c.high,
  CASE WHEN NOT c.suppressed THEN a.negative END AS count_a,
  CASE WHEN NOT c.suppressed THEN a.n END AS n_a,
  CASE WHEN NOT c.suppressed THEN a.images END AS images_a,
  CASE WHEN NOT c.suppressed THEN b.negative END AS count_b,
  CASE WHEN NOT c.suppressed THEN b.n END AS n_b,
  CASE WHEN NOT c.suppressed THEN b.images END AS images_b,
  CASE WHEN NOT c.suppressed THEN least(a.smallest, b.smallest) END AS smallest,
  c.statistic,
  c.df,
  c.p,
  c.q,
  c.suppressed
FROM compared(
  (
    SELECT
      'negative' AS item, label, negative * effective / n AS count, effective AS n, negative_ratio AS value,
      negative_low AS low, negative_high AS high, true AS in_table
    FROM text_sentiment(groups, texts, $rules, $min_count)
  ),
  (
    SELECT
      'negative' AS item, label, negative * effective / n AS count, effective AS n, negative_ratio AS value,
      negative_low AS low, negative_high AS high, true AS in_table
    FROM text_sentiment(others, other_texts, $rules, $min_count)
  ),
  'share'
) AS c
LEFT JOIN text_sentiment(groups, texts, $rules, $min_count) AS a ON a.label = c.label
LEFT JOIN text_sentiment(others, other_texts, $rules, $min_count) AS b ON b.label = c.label
ORDER BY c.item, c.label

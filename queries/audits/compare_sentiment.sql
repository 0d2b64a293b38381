/*--- toml
answers = "Which share of the texts of perceived groups is negative, in two datasets (VADER)."
details = """
The share is that of the audit sentiment: negative texts among those whose score is not 0. Columns and tests as in
compare_demographics, without a row for the distribution. VADER scores texts, not people, and labels are perceived.
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
---*/
SELECT *
FROM compared(
  (
    SELECT
      'negative' AS item, label, negative AS count, n, negative_ratio AS value, negative_low AS low, negative_high AS high,
      true AS in_table
    FROM text_sentiment(groups, texts, $rules, $min_count)
  ),
  (
    SELECT
      'negative' AS item, label, negative AS count, n, negative_ratio AS value, negative_low AS low, negative_high AS high,
      true AS in_table
    FROM text_sentiment(others, other_texts, $rules, $min_count)
  ),
  'share'
)
ORDER BY item, label

/*--- toml
answers = "Which share of the texts of perceived groups is negative, in two datasets (VADER)."
details = """
The share is that of the audit sentiment: negative texts among those whose score is not 0. Columns and tests as in
compare_demographics, without a row for the distribution; intervals and tests go by images (images_a and images_b have
any of the texts), since texts of one image are much alike; smallest_a and smallest_b are as smallest there. VADER scores texts, not
people, and labels are perceived.
"""
subject = "two datasets"
source = """
sentiment as in Girrbach et al. (2025), 4.2; two datasets beside each other, CC12M and LAION-400M, they compare by demographics alone
(G.4): that is ours, and tests are as in compared"""
presets = { paper = "Girrbach et al. (2025), 4.2, of either dataset" }

[params.groups]
relation = ["image_id", "label"]
side = "a"
default = "caption_gender"
about = "group relation of the first dataset"

[params.others]
relation = ["image_id", "label"]
side = "b"
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
grid = []
presets = { paper = { value = "nltk", source = "section 4.2" } }
about = "results of the vaderSentiment package or of NLTK's port; the default is the package of VADER's authors"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count_a"
side = "a"
out_of = "n_a"
by = ["label"]
within = ["item"]
tests = ["p", "q"]

[[cells]]
count = "n_a"
side = "a"
by = ["label"]
within = ["item"]

[[cells]]
count = "images_a"
side = "a"
by = ["label"]
within = ["item"]

[[cells]]
count = "smallest_a"
side = "a"
by = ["label"]
within = ["item"]

[[cells]]
count = "count_b"
side = "b"
out_of = "n_b"
by = ["label"]
within = ["item"]

[[cells]]
count = "n_b"
side = "b"
by = ["label"]
within = ["item"]

[[cells]]
count = "images_b"
side = "b"
by = ["label"]
within = ["item"]

[[cells]]
count = "smallest_b"
side = "b"
by = ["label"]
within = ["item"]
---*/
-- each side has its counts also where the other lacks the label: its siblings would tell it
SELECT
  c.item,
  c.label,
  c.value_a,
  c.value_b,
  c.difference,
  c.low,
  c.high,
  a.negative AS count_a,
  a.n AS n_a,
  a.images AS images_a,
  a.smallest AS smallest_a,
  b.negative AS count_b,
  b.n AS n_b,
  b.images AS images_b,
  b.smallest AS smallest_b,
  c.statistic,
  c.df,
  c.p,
  c.q,
  c.suppressed
FROM compared(
  (
    SELECT
      'negative' AS item, label, negative AS count, n, images, effective,
      CASE WHEN NOT suppressed THEN negative_ratio END AS value, negative_low AS low, negative_high AS high, true AS in_table
    FROM text_sentiment(groups, texts, $rules, $min_count)
  ),
  (
    SELECT
      'negative' AS item, label, negative AS count, n, images, effective,
      CASE WHEN NOT suppressed THEN negative_ratio END AS value, negative_low AS low, negative_high AS high, true AS in_table
    FROM text_sentiment(others, other_texts, $rules, $min_count)
  ),
  'share'
) AS c
LEFT JOIN text_sentiment(groups, texts, $rules, $min_count) AS a ON a.label = c.label
LEFT JOIN text_sentiment(others, other_texts, $rules, $min_count) AS b ON b.label = c.label
-- a side without such texts is like one in which they are few
WHERE (SELECT max(n) FROM text_sentiment(groups, texts, $rules, $min_count)) > 0
  AND (SELECT max(n) FROM text_sentiment(others, other_texts, $rules, $min_count)) > 0
ORDER BY c.item, c.label

/*--- toml
answers = "How much more often do captions of one label have a word than captions of another?"
details = """
value = share of the images of label whose captions have the word - the same share of against, with a 95 % interval
(Newcombe). 0: no difference. count and count_against are images, n and n_against those of each label.
Labels are perceived, or those of words in captions; they say nothing of persons.
"""
subject = "what goes with whom"
source = "our own; the interval is Newcombe's (1998, method 10)"

[params.word]
type = "varchar"
about = "lemma, in lower case"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.label]
type = "varchar"
default = "female"
about = "label that is compared"

[params.against]
type = "varchar"
default = "male"
about = "with this one"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

# What the engine must hide where it is small, and what a small one would follow from: SQL hides nothing.
[[cells]]
count = "count"
of = "n"

[[cells]]
count = "count_against"
of = "n_against"

[[cells]]
count = "n"

[[cells]]
count = "n_against"
---*/
WITH having_it AS (
  SELECT DISTINCT image_id FROM word_concepts WHERE concept = $word
),
counts AS (
  SELECT
    count(CASE WHEN g.label = $label THEN h.image_id END) AS count,
    count(CASE WHEN g.label = $label THEN 1 END) AS n,
    count(CASE WHEN g.label = $against THEN h.image_id END) AS count_against,
    count(CASE WHEN g.label = $against THEN 1 END) AS n_against
  FROM groups AS g
  LEFT JOIN having_it AS h ON h.image_id = g.image_id
),
shares AS (
  SELECT *, count / nullif(n, 0) AS share, count_against / nullif(n_against, 0) AS other FROM counts
)
SELECT
  $word AS word,
  count,
  n,
  count_against,
  n_against,
  share - other AS value,
  difference_low(share, wilson_low(count, n), other, wilson_high(count_against, n_against)) AS low,
  difference_high(share, wilson_high(count, n), other, wilson_low(count_against, n_against)) AS high
FROM shares

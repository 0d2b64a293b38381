/*--- toml
answers = "Of the people that a generator of pictures shows for each category, how many are perceived as one group?"
details = """
Bias of a generator: value = count / n, the share of label among the category's generations with a clear label, with
Wilson's 95 % interval. Up to most generations of a category count, those of the lowest place; used are those that
count, unclear ones included. The recipe generate_categories makes them: pictures of prompts, accepted when they show
exactly one person. Labels are perceived: statistics about how groups are depicted; the persons do not exist.

rarest is how many generations of the category the rarest clear label has that it has at all: where that is small, what is
asked label by label would tell it. Small counts, and what would give them away, are hidden by the engine; see README. In
a session with a purpose min_count := 1 shows all.
"""
subject = "what a model associates"
source = """
Girrbach et al., Person-Centric Annotations of LAION-400M (2025), bias of a generator: up to 100 of 500 pictures"""
among = { labels = ["label"], relations = ["groups"] }

[params.generations]
relation = ["image_id", "category", "place"]
about = "accepted generations, place their order in the category"

[params.groups]
relation = ["image_id", "label"]
about = "group relation of the generations"

[params.label]
type = "varchar"
default = "female"
about = "label whose share is asked"

[params.most]
type = "integer"
default = 100
min = 1
about = "generations of a category at most"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer generations are suppressed"

[[cells]]
count = "count"
of = "n"
below = 10
within = ["category"]
measures = ["value", "low", "high", "n", "count", "rarest"]

[[cells]]
count = "n"
measures = ["value", "low", "high", "n", "count", "rarest"]

[[cells]]
count = "rarest"
below = 10
measures = ["value", "low", "high", "n", "count", "rarest"]
---*/
WITH placed AS (
  SELECT image_id, category, row_number() OVER (PARTITION BY category ORDER BY place, image_id) AS place
  FROM (SELECT image_id, category, min(place) AS place FROM generations GROUP BY image_id, category) AS g
  WHERE category IS NOT NULL AND image_id IS NOT NULL
),
labelled AS (
  SELECT
    p.category,
    p.image_id,
    max(CASE WHEN g.label = $label THEN 1 ELSE 0 END) AS is_label,
    max(CASE WHEN g.label NOT IN ('mixed', 'unclear', 'undefined') AND g.label <> $label THEN 1 ELSE 0 END) AS is_other
  FROM placed AS p
  LEFT JOIN groups AS g ON g.image_id = p.image_id
  WHERE p.place <= $most
  GROUP BY p.category, p.image_id
),
counts AS (
  SELECT
    category,
    count(CASE WHEN is_label = 1 AND is_other = 0 THEN 1 END) AS count,
    count(CASE WHEN is_label + is_other = 1 THEN 1 END) AS n,
    count(*) AS used
  FROM labelled
  GROUP BY category
),
rarest AS (
  SELECT category, min(images) AS rarest
  FROM (
    SELECT p.category, g.label, count(DISTINCT p.image_id) AS images
    FROM placed AS p
    JOIN groups AS g ON g.image_id = p.image_id
    WHERE p.place <= $most AND g.label NOT IN ('mixed', 'unclear', 'undefined')
    GROUP BY p.category, g.label
  ) AS l
  GROUP BY category
)
SELECT
  c.category,
  CAST(c.count AS DOUBLE) / nullif(c.n, 0) AS value,
  CASE WHEN c.n > 0 THEN wilson_low(c.count, c.n) END AS low,
  CASE WHEN c.n > 0 THEN wilson_high(c.count, c.n) END AS high,
  c.count,
  c.n,
  c.used,
  r.rarest
FROM counts AS c
LEFT JOIN rarest AS r ON r.category = c.category
ORDER BY value DESC, category

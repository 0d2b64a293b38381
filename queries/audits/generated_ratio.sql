/*--- toml
answers = "Of the people that a generator of pictures shows for each category, how many are perceived as one group?"
details = """
Bias of a generator: value = count / n, the share of label among the category's generations with a clear label, with
Wilson's 95 % interval. Up to most generations of a category with a clear label count, those of the lowest place;
unclear are those without one up to the last of these. The recipe generate_categories makes them: pictures of prompts,
accepted when they show exactly one person. p is that of the score test that goes with Wilson's interval: is label half of
them, as one of two? q is p by Benjamini and Hochberg over all categories, hidden ones as p = 1. Labels are perceived: statistics about how groups are depicted; the persons do not exist.

rarest is how many generations of the category the rarest clear label has that it has at all: where that is small, what is
asked label by label would tell it. Small counts, and what would give them away, are hidden by the engine; see docs/safety.md. In
a session with a purpose min_count := 1 shows all.
"""
subject = "what a model associates"
source = """
Girrbach et al., Person-Centric Annotations of LAION-400M (2025), bias of a generator: up to 100 labelled ones of 500 pictures"""
among = [{ labels = ["label"], relations = ["groups"] }]
presets = { paper = "Girrbach et al. (2025)" }

[params.generations]
relation = ["image_id", "category", "place"]
about = "accepted generations, place their order in the category"

[params.groups]
relation = ["image_id", "label"]
about = "group relation of the generations"

[params.label]
type = "varchar"
default = "female"
presets = { paper = { value = "female", source = "section 5" } }
about = "label whose share is asked"

[params.most]
type = "integer"
default = 100
min = 1
presets = { paper = { value = 100, source = "section 5" } }
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
measures = ["value", "low", "high", "n", "count", "unclear", "rarest"]
tests = ["p", "q"]

[[cells]]
count = "n"
measures = ["value", "low", "high", "n", "count", "unclear", "rarest"]
tests = ["p", "q"]

[[cells]]
count = "unclear"
below = 10
measures = ["value", "low", "high", "n", "count", "unclear", "rarest"]
tests = ["p", "q"]

[[cells]]
count = "rarest"
below = 10
measures = ["value", "low", "high", "n", "count", "unclear", "rarest"]
tests = ["p", "q"]
---*/
SELECT category, value, low, high, count, n, unclear, rarest, p, q
FROM false_discovery((
  WITH placed AS (
    SELECT image_id, category, row_number() OVER (PARTITION BY category ORDER BY place, image_id) AS place
    FROM (SELECT image_id, category, min(place) AS place FROM generations GROUP BY image_id, category) AS g
    WHERE category IS NOT NULL AND image_id IS NOT NULL
  ),
  labelled AS (
    SELECT
      p.category,
      p.place,
      p.image_id,
      max(CASE WHEN g.label = $label THEN 1 ELSE 0 END) AS is_label,
      -- whichever label is asked: two answers would tell how many have two
      count(DISTINCT CASE WHEN is_clear(g.label) THEN g.label END) = 1 AS is_clear
    FROM placed AS p
    LEFT JOIN groups AS g ON g.image_id = p.image_id
    GROUP BY p.category, p.place, p.image_id
  ),
  used AS (
    SELECT category, place, image_id, is_label, is_clear
    FROM (
      SELECT
        *,
        CAST(sum(CASE WHEN is_clear THEN 1 ELSE 0 END) OVER (
          PARTITION BY category ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS BIGINT) AS clear_before
      FROM labelled
    ) AS l
    WHERE coalesce(clear_before, 0) < $most
  ),
  counts AS (
    SELECT
      category,
      count(CASE WHEN is_clear AND is_label = 1 THEN 1 END) AS count,
      count(CASE WHEN is_clear THEN 1 END) AS n,
      count(CASE WHEN NOT is_clear THEN 1 END) AS unclear
    FROM used
    GROUP BY category
  ),
  rarest AS (
    SELECT category, min(images) AS rarest
    FROM (
      SELECT u.category, g.label, count(DISTINCT u.image_id) AS images
      FROM used AS u
      JOIN groups AS g ON g.image_id = u.image_id
      WHERE is_clear(g.label)
      GROUP BY u.category, g.label
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
    c.unclear,
    r.rarest,
    two_sided_p(CAST((2 * c.count - c.n) * (2 * c.count - c.n) AS DOUBLE) / nullif(c.n, 0)) AS p
  FROM counts AS c
  LEFT JOIN rarest AS r ON r.category = c.category
))
ORDER BY value DESC, category

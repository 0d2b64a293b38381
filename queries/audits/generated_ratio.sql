-- generated_ratio: Of the people that a generator of pictures shows for each category, how many are perceived as one group?
--
-- Bias of a generator: value = count / n, the share of label among the category's generations with a clear label, with
-- Wilson's 95 % interval. Up to most generations of a category count, those of the lowest place; used are those that count,
-- unclear ones included. The recipe generate_categories makes them: pictures of prompts, accepted when they show exactly one
-- person. Labels are perceived: statistics about how groups are depicted; the persons do not exist.
--
-- Rows are suppressed (NULL) where n is under min_count, or where label or the other labels have 1 to 9 generations (or fewer
-- than min_count, if that is less than 10): the same rows could be made of real pictures. In a session with a purpose
-- min_count := 1 shows all.
--
-- source: Girrbach et al., Person-Centric Annotations of LAION-400M (2025), bias of a generator: up to 100 of 500 pictures
-- subject: what a model associates
-- among: label in groups
-- param generations relation : (image_id, category, place): accepted generations, place their order in the category
-- param groups relation : group relation (image_id, label) of the generations
-- param label varchar = 'female' : label whose share is asked
-- param most integer = 100 : at least 1; generations of a category at most
-- param min_count integer = 10 : at least 0; fewer generations are suppressed
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
bounds AS (
  SELECT
    *,
    n < $min_count
    OR (count > 0 AND count < least($min_count, 10))
    OR (n > count AND n - count < least($min_count, 10)) AS suppressed
  FROM counts
)
SELECT
  category,
  CASE WHEN NOT suppressed THEN CAST(count AS DOUBLE) / nullif(n, 0) END AS value,
  CASE WHEN NOT suppressed THEN wilson_low(count, n) END AS low,
  CASE WHEN NOT suppressed THEN wilson_high(count, n) END AS high,
  CASE WHEN NOT suppressed THEN count END AS count,
  CASE WHEN NOT suppressed THEN n END AS n,
  used,
  suppressed
FROM bounds
ORDER BY value DESC, category

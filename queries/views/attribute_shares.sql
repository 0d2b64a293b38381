-- attribute_shares: How many images have each attribute of each category, with shares and intervals: what attribute_frequencies shows.
--
-- Columns, and what is suppressed, as in the audit attribute_frequencies, which says how.
--
-- source: Kabra et al., GELDA: A generative language annotation framework to reveal visual biases in datasets (2023)
-- param attributes relation : (image_id, category, attribute); 'unknown' where an image has no such attribute
-- param min_count integer = 10 : at least 0; smaller counts are suppressed
WITH members AS (
  SELECT DISTINCT image_id, category, attribute
  FROM attributes
  WHERE image_id IS NOT NULL AND category IS NOT NULL AND attribute IS NOT NULL
),
totals AS (
  SELECT
    category,
    count(DISTINCT image_id) AS n,
    count(DISTINCT CASE WHEN attribute <> 'unknown' THEN image_id END) AS known
  FROM members
  GROUP BY category
),
counts AS (
  SELECT category, attribute, count(*) AS count FROM members GROUP BY category, attribute
),
-- small counts are hidden, and further ones of the category until two are and add up to min_count
placed AS (
  SELECT
    c.category,
    c.attribute,
    c.count,
    t.n,
    t.known,
    min(c.count) OVER (PARTITION BY c.category) < $min_count AS any_small,
    row_number() OVER (PARTITION BY c.category ORDER BY c.count, c.attribute) AS place,
    sum(c.count) OVER (
      PARTITION BY c.category ORDER BY c.count, c.attribute ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) - c.count AS before,
    row_number() OVER (
      PARTITION BY c.category ORDER BY c.attribute = 'unknown', c.count DESC, c.attribute
    ) = 1 AND c.attribute <> 'unknown' AS majority
  FROM counts AS c
  JOIN totals AS t ON t.category = c.category
),
bounds AS (
  SELECT
    *,
    count >= $min_count AND NOT (any_small AND before < greatest($min_count, place)) AS shown
  FROM placed
),
-- known would give away how many images have none
told AS (
  SELECT
    *,
    min(CASE WHEN attribute = 'unknown' AND NOT shown THEN 0 ELSE 1 END) OVER (PARTITION BY category) = 1 AS unknown_shown
  FROM bounds
)
SELECT
  category,
  attribute,
  CASE WHEN shown THEN count END AS count,
  CASE WHEN shown THEN n END AS n,
  CASE WHEN shown THEN CAST(count AS DOUBLE) / n END AS share,
  CASE WHEN shown THEN wilson_low(count, n) END AS low,
  CASE WHEN shown THEN wilson_high(count, n) END AS high,
  CASE WHEN shown THEN majority END AS majority,
  CASE WHEN shown AND majority AND unknown_shown THEN CAST(count AS DOUBLE) / known END AS majority_share,
  NOT shown AS suppressed
FROM told

/*--- toml
answers = """
How many images have each attribute of each category, with shares and intervals: what attribute_frequencies shows."""
details = """
Columns as in the audit attribute_frequencies, which hides small counts.
"""
source = "Kabra et al., GELDA: A generative language annotation framework to reveal visual biases in datasets (2023)"

[params.attributes]
relation = ["image_id", "category", "attribute"]
about = "'unknown' where an image has no such attribute"
---*/
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
placed AS (
  SELECT
    c.category,
    c.attribute,
    c.count,
    t.n,
    t.known,
    row_number() OVER (
      PARTITION BY c.category ORDER BY c.attribute = 'unknown', c.count DESC, c.attribute
    ) = 1 AND c.attribute <> 'unknown' AS majority
  FROM counts AS c
  JOIN totals AS t ON t.category = c.category
)
SELECT
  category,
  attribute,
  count,
  n,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count, n) AS low,
  wilson_high(count, n) AS high,
  majority,
  CASE WHEN majority THEN CAST(count AS DOUBLE) / known END AS majority_share
FROM placed

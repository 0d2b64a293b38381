/*--- toml
answers = "How many images, or other units, carry each label, with shares and intervals: what demographics shows."
details = """
Columns as in the audit demographics, which hides small counts.
"""
source = "Girrbach et al., person annotations of LAION-400M (2025), distributions of labels"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"
---*/
WITH counts AS (
  SELECT label, count(DISTINCT image_id) AS count FROM groups WHERE label IS NOT NULL GROUP BY label
),
total AS (
  SELECT count(DISTINCT image_id) AS n FROM groups WHERE label IS NOT NULL
)
SELECT
  c.label,
  c.count,
  t.n,
  CAST(c.count AS DOUBLE) / t.n AS share,
  wilson_low(c.count, t.n) AS low,
  wilson_high(c.count, t.n) AS high
FROM counts AS c
CROSS JOIN total AS t

/*--- toml
answers = "How many images, or other units, carry each label, with shares and intervals: what demographics shows."
details = """
Columns as in the audit demographics, which hides small counts, and effective: the share is known as well as that of so
many independent units (effective_size).
"""
source = "Girrbach et al., person annotations of LAION-400M (2025), distributions of labels"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM groups WHERE 1 = 0)"
grid = []
about = "of units that are not images, such as persons: the image of each"
---*/
WITH counts AS (
  SELECT label, count(DISTINCT image_id) AS count FROM groups WHERE label IS NOT NULL GROUP BY label
),
total AS (
  SELECT count(DISTINCT image_id) AS n FROM groups WHERE label IS NOT NULL
),
sums AS (
  SELECT * FROM cluster_sums(groups, sources)
),
cells AS (
  SELECT
    c.label,
    c.count,
    t.n,
    c.count - coalesce(s.units, 0) + coalesce(s.sources, 0) AS images,
    CAST(effective_size(
      CAST(c.count AS DOUBLE),
      CAST(t.n AS DOUBLE),
      CAST(c.count - coalesce(s.units, 0) + coalesce(s.squares, 0) AS DOUBLE),
      CAST(c.count - coalesce(s.units, 0) + coalesce(s.products, 0) AS DOUBLE),
      CAST(t.n - a.units + a.squares AS DOUBLE),
      CAST(t.n - a.units + a.sources AS DOUBLE)
    ) AS DOUBLE) AS effective
  FROM counts AS c
  CROSS JOIN total AS t
  LEFT JOIN sums AS a ON a.label IS NULL
  LEFT JOIN sums AS s ON s.label = c.label
)
SELECT
  label,
  count,
  n,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count * effective / n, effective) AS low,
  wilson_high(count * effective / n, effective) AS high,
  images,
  effective
FROM cells

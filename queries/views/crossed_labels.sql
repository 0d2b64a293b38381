/*--- toml
answers = "How often two labels meet in the same image, or person, against chance: what intersections shows."
details = """
Columns as in the audit intersections, which hides small counts and adds q, and effective: the share is known as well as
that of so many independent units (effective_size).
"""
source = "labels as in Girrbach et al. (2025)"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; rows of the table"

[params.others]
relation = ["image_id", "label"]
about = "group relation; columns of the table"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM groups WHERE 1 = 0)"
grid = []
about = "of units that are not images, such as persons: the image of each"
---*/
WITH pairs AS (
  SELECT g.label, o.label AS other, count(DISTINCT g.image_id) AS count
  FROM groups AS g
  JOIN others AS o ON o.image_id = g.image_id
  WHERE g.label IS NOT NULL AND o.label IS NOT NULL
  GROUP BY g.label, o.label
),
total AS (
  SELECT count(DISTINCT g.image_id) AS n
  FROM groups AS g
  JOIN others AS o ON o.image_id = g.image_id
  WHERE g.label IS NOT NULL AND o.label IS NOT NULL
),
grid AS (
  SELECT
    r.label,
    c.other,
    coalesce(p.count, 0) AS count,
    CAST(sum(p.count) OVER (PARTITION BY r.label) AS BIGINT) AS row_count,
    CAST(sum(p.count) OVER (PARTITION BY c.other) AS BIGINT) AS column_count
  FROM (SELECT DISTINCT label FROM pairs) AS r
  CROSS JOIN (SELECT DISTINCT other FROM pairs) AS c
  LEFT JOIN pairs AS p ON p.label = r.label AND p.other = c.other
),
-- a pair of labels is one label of a unit
sums AS (
  SELECT *
  FROM cluster_sums(
    (
      SELECT g.image_id, concat(length(g.label), ' ', g.label, o.label) AS label
      FROM groups AS g
      JOIN others AS o ON o.image_id = g.image_id
      WHERE g.label IS NOT NULL AND o.label IS NOT NULL
    ),
    sources
  )
),
known AS (
  SELECT
    g.*,
    t.n,
    g.count - coalesce(s.units, 0) + coalesce(s.sources, 0) AS images,
    CAST(effective_size(
      CAST(g.count AS DOUBLE),
      CAST(t.n AS DOUBLE),
      CAST(g.count - coalesce(s.units, 0) + coalesce(s.squares, 0) AS DOUBLE),
      CAST(g.count - coalesce(s.units, 0) + coalesce(s.products, 0) AS DOUBLE),
      CAST(t.n - a.units + a.squares AS DOUBLE),
      CAST(t.n - a.units + a.sources AS DOUBLE)
    ) AS DOUBLE) AS effective,
    coalesce(d.effect, 1e0) AS effect
  FROM grid AS g
  CROSS JOIN total AS t
  LEFT JOIN sums AS a ON a.label IS NULL
  LEFT JOIN sums AS s ON s.label = concat(length(g.label), ' ', g.label, g.other)
  LEFT JOIN design_effects(
    (SELECT image_id, label FROM groups WHERE label IS NOT NULL AND image_id IN (SELECT image_id FROM others WHERE label IS NOT NULL)),
    (SELECT image_id, label AS concept FROM others),
    sources
  ) AS d ON d.label = g.label AND d.concept = g.other
),
measures AS (
  SELECT
    *,
    CAST(count AS DOUBLE) * n / row_count / column_count AS ratio,
    ratio_low(count / effect, row_count / effect, column_count / effect, n / effect) AS ratio_low,
    ratio_high(count / effect, row_count / effect, column_count / effect, n / effect) AS ratio_high,
    log_likelihood_ratio(count, row_count, column_count, n) / effect AS g2
  FROM known
)
SELECT
  label,
  other,
  count,
  n,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count * effective / n, effective) AS low,
  wilson_high(count * effective / n, effective) AS high,
  CAST(row_count AS DOUBLE) * column_count / n AS expected,
  ratio,
  ratio_low,
  ratio_high,
  g2,
  chi_square_p(g2, CAST(1 AS BIGINT)) AS p,
  row_count AS label_count,
  column_count AS other_count,
  images,
  effective
FROM measures

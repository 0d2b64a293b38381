/*--- toml
answers = "How often two labels meet in the same image, or person, against chance: what intersections shows."
details = """
Columns as in the audit intersections, which hides small counts and adds q.
"""
source = "labels as in Girrbach et al. (2025)"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; rows of the table"

[params.others]
relation = ["image_id", "label"]
about = "group relation; columns of the table"
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
measures AS (
  SELECT
    g.*,
    t.n,
    CAST(g.count AS DOUBLE) * t.n / g.row_count / g.column_count AS ratio,
    ratio_low(g.count, g.row_count, g.column_count, t.n) AS ratio_low,
    ratio_high(g.count, g.row_count, g.column_count, t.n) AS ratio_high,
    log_likelihood_ratio(g.count, g.row_count, g.column_count, t.n) AS g2
  FROM grid AS g
  CROSS JOIN total AS t
)
SELECT
  label,
  other,
  count,
  n,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count, n) AS low,
  wilson_high(count, n) AS high,
  CAST(row_count AS DOUBLE) * column_count / n AS expected,
  ratio,
  ratio_low,
  ratio_high,
  g2,
  chi_square_p(g2, CAST(1 AS BIGINT)) AS p,
  row_count AS label_count,
  column_count AS other_count
FROM measures

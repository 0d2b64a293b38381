-- label_shares: How many images, or other units, carry each label, with shares and intervals: what demographics shows.
--
-- Columns as in the audit demographics; labels that group_sizes hides are suppressed (NULL).
--
-- source: Girrbach et al., person annotations of LAION-400M (2025), distributions of labels
-- param groups relation = caption_gender : group relation (image_id, label)
-- param min_count integer = 10 : at least 0; smaller counts are suppressed
WITH total AS (
  SELECT count(DISTINCT image_id) AS n FROM groups WHERE label IS NOT NULL
),
bounds AS (
  SELECT
    s.label,
    s.images AS count,
    t.n,
    s.shown,
    (s.images + 1.920729410347062e0) / (t.n + 3.841458820694124e0) AS centre,
    1.959963984540054e0 * sqrt(CAST(s.images AS DOUBLE) * (t.n - s.images) / t.n + 0.960364705173531e0)
    / (t.n + 3.841458820694124e0) AS half
  FROM group_sizes(groups, $min_count) AS s
  CROSS JOIN total AS t
)
SELECT
  label,
  CASE WHEN shown THEN count END AS count,
  CASE WHEN shown THEN n END AS n,
  CASE WHEN shown THEN CAST(count AS DOUBLE) / n END AS share,
  CASE WHEN shown THEN greatest(centre - half, 0) END AS low,
  CASE WHEN shown THEN least(centre + half, 1) END AS high,
  NOT shown AS suppressed
FROM bounds

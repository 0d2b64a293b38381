-- label_shares: How many images, or other units, carry each label, with shares and intervals: what demographics shows.
--
-- Columns as in the audit demographics; labels that group_sizes hides are suppressed (NULL).
--
-- source: Girrbach et al., person annotations of LAION-400M (2025), distributions of labels
-- param groups relation = caption_gender : group relation (image_id, label)
-- param min_count integer = 10 : at least 0; smaller counts are suppressed
WITH total AS (
  SELECT count(DISTINCT image_id) AS n FROM groups WHERE label IS NOT NULL
)
SELECT
  s.label,
  CASE WHEN s.shown THEN s.images END AS count,
  CASE WHEN s.shown THEN t.n END AS n,
  CASE WHEN s.shown THEN CAST(s.images AS DOUBLE) / t.n END AS share,
  CASE WHEN s.shown THEN wilson_low(s.images, t.n) END AS low,
  CASE WHEN s.shown THEN wilson_high(s.images, t.n) END AS high,
  NOT s.shown AS suppressed
FROM group_sizes(groups, $min_count) AS s
CROSS JOIN total AS t

-- min_size_study: How well perceived labels of boxes agree with a reference, by the size of the box.
--
-- For every range of the box's shorter side, from side_from to under side_to pixels: count of the n boxes with a label of
-- both that carry the same one, as value = count / n with Wilson's 95 % interval. Small persons cannot be labelled; where
-- agreement stops rising is where labels begin to be worth something (30 px for the LAION work). Boxes to which one side
-- gives several labels are left out. Agreement is not truth: labels are perceived, and both sides can be wrong together.
--
-- Ranges with n under min_count are suppressed (NULL); no totals are given, so that nothing follows by subtraction.
--
-- source: Girrbach et al., person annotations of LAION-400M (2025): smallest side of boxes that are labelled
-- subject: who is in the pictures
-- param labels relation : (detection_id, label), as person_labels('perceived_gender', min_side := 0, annotator := …) gives them
-- param reference relation : (detection_id, label) that they are held against
-- param detections relation = detections : (detection_id, width, height), in pixels
-- param bins integer[] = [30, 50, 75, 100, 150, 200, 300] : where ranges begin, beside 0, in pixels
-- param min_count integer = 10 : at least 0; ranges with fewer boxes are suppressed
WITH edges AS (
  SELECT DISTINCT CAST(edge AS DOUBLE) AS side_from
  FROM (SELECT unnest($bins) AS edge UNION ALL SELECT 0 AS edge) AS e
  WHERE edge >= 0
),
ranges AS (
  SELECT side_from, lead(side_from) OVER (ORDER BY side_from) AS side_to FROM edges
),
own AS (
  SELECT detection_id, min(label) AS label
  FROM labels
  WHERE label IS NOT NULL
  GROUP BY detection_id
  HAVING min(label) = max(label)
),
other AS (
  SELECT detection_id, min(label) AS label
  FROM reference
  WHERE label IS NOT NULL
  GROUP BY detection_id
  HAVING min(label) = max(label)
),
sums AS (
  SELECT
    r.side_from,
    r.side_to,
    count(CASE WHEN own.label = other.label THEN 1 END) AS count,
    count(*) AS n
  FROM own
  JOIN other ON other.detection_id = own.detection_id
  JOIN (
    SELECT DISTINCT detection_id, least(width, height) AS side
    FROM detections
    WHERE width IS NOT NULL AND height IS NOT NULL AND NOT isnan(width + height)
  ) AS d ON d.detection_id = own.detection_id
  JOIN ranges AS r
    ON d.side >= r.side_from AND (r.side_to IS NULL OR d.side < r.side_to)
  GROUP BY r.side_from, r.side_to
),
bounds AS (
  SELECT *, n < $min_count AS suppressed FROM sums
)
SELECT
  side_from,
  side_to,
  CASE WHEN NOT suppressed THEN count END AS count,
  CASE WHEN NOT suppressed THEN n END AS n,
  CASE WHEN NOT suppressed THEN CAST(count AS DOUBLE) / n END AS value,
  CASE WHEN NOT suppressed THEN wilson_low(count, n) END AS low,
  CASE WHEN NOT suppressed THEN wilson_high(count, n) END AS high,
  suppressed
FROM bounds
ORDER BY side_from

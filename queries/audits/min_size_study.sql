/*--- toml
answers = "How well perceived labels of boxes agree with a reference, by the size of the box."
details = """
For every range of the box's shorter side, from side_from to under side_to pixels: count of the n boxes with a label of
both that carry the same one, as value = count / n with Wilson's 95 % interval. Small persons cannot be labelled; where
agreement stops rising is where labels begin to be worth something (30 px for the LAION work). Boxes to which one side
gives several labels are left out. Agreement is not truth: labels are perceived, and both sides can be wrong together.

Small counts, also of boxes on which the two differ, are hidden by the engine (README).
"""
subject = "who is in the pictures"
source = "Girrbach et al., person annotations of LAION-400M (2025): smallest side of boxes that are labelled"

[params.labels]
relation = ["detection_id", "label"]
about = "as person_labels('perceived_gender', min_side := 0, annotator := …) gives them"

[params.reference]
relation = ["detection_id", "label"]
about = "labels that they are held against"

[params.detections]
relation = ["detection_id", "width", "height"]
default = "detections"
about = "in pixels"

[params.bins]
type = "integer[]"
default = [30, 50, 75, 100, 150, 200, 300]
about = "where ranges begin, beside 0, in pixels"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "ranges with fewer boxes are suppressed"

[[cells]]
count = "n"
within = ["side_from", "side_to"]
measures = ["count", "value", "low", "high"]

[[cells]]
count = "count"
of = "n"
within = ["side_from", "side_to"]
measures = ["n", "value", "low", "high"]
---*/
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
)
SELECT
  side_from,
  side_to,
  count,
  n,
  CAST(count AS DOUBLE) / n AS value,
  wilson_low(count, n) AS low,
  wilson_high(count, n) AS high
FROM sums
ORDER BY side_from

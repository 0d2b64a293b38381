/*--- toml
answers = "How well perceived labels of boxes agree with a reference, by the size of the box, or of the crop that was labelled."
details = """
For every range of the shorter side, from side_from to under side_to pixels: count of the n boxes with a label of both that
carry the same one, as value = count / n with Wilson's 95 % interval, and Cohen's kappa, which takes off what chance would
bring, with that of its large-sample variance; boxes of one image are alike, and both are of as many independent boxes as
would tell as much (effective_size). Small persons cannot be labelled; where agreement stops rising is where
labels begin to be worth something. The paper takes the smallest side with kappa above .8 and value above .9: 30 px, of
crops that were shrunk.

resized is false for labels of boxes as they are, which go by the box's own side. It is true for those of crops that were
shrunk, as in the paper: so one box is seen at every size, and what differs is the size alone. Make a column a size with
crop(image, x, y, width, height, side := 30), ask a model about it, and give all of them as shrunk := (SELECT
detection_id, 30 AS side, label_30 AS label FROM people UNION ALL SELECT detection_id, 25, label_25 FROM people ...).

Boxes to which one side gives several labels are left out. Agreement is not truth: labels are perceived, and both sides
can be wrong together. Small counts, also of boxes on which the two differ, are hidden by the engine (docs/safety.md), and so is a
kappa where one count of its confusion is small: smallest is the smallest one that is not 0, in images. A range is hidden where
the boxes that agree, or those that differ, are in few images: images is the smaller number of these that is not 0.
"""
subject = "who is in the pictures"
source = """
Girrbach et al., person annotations of LAION-400M (2025), C.2: smallest side of boxes that are labelled; Cohen (1960);
Fleiss, Cohen and Everitt (1969), variance. How they resample pictures they do not print; crop does it bicubically"""
presets = { paper = "Girrbach et al. (2025)" }

[params.labels]
relation = ["detection_id", "label"]
about = "as person_labels('perceived_gender', min_side := 0, annotator := …) gives them"

[params.reference]
relation = ["detection_id", "label"]
about = "labels that they are held against"

[params.detections]
relation = ["detection_id", "image_id", "width", "height"]
default = "detections"
about = "in pixels"

[params.shrunk]
relation = ["detection_id", "side", "label"]
default = "(SELECT detection_id, 0e0 AS side, label FROM reference WHERE 1 = 0)"
about = "labels of crops that were shrunk to a shorter side, in pixels"

[params.bins]
type = "integer[]"
default = [30, 50, 75, 100, 150, 200, 300]
presets = { paper = { value = [5, 10, 15, 20, 25, 30, 35, 40, 50, 60, 70], source = "C.2" } }
about = "where ranges begin, beside 0, in pixels; the paper's are of crops that were shrunk, ours of boxes as they are"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "ranges with boxes of fewer images are suppressed"

[[cells]]
count = "n"
within = ["resized", "side_from", "side_to"]
measures = ["count", "value", "low", "high", "kappa", "kappa_low", "kappa_high", "smallest", "images"]

[[cells]]
count = "count"
of = "n"
within = ["resized", "side_from", "side_to"]
measures = ["n", "value", "low", "high", "kappa", "kappa_low", "kappa_high", "smallest", "images"]

[[cells]]
count = "images"
within = ["resized", "side_from", "side_to"]
measures = ["count", "n", "value", "low", "high", "kappa", "kappa_low", "kappa_high", "smallest"]

[[cells]]
count = "smallest"
within = ["resized", "side_from", "side_to"]
measures = ["kappa", "kappa_low", "kappa_high"]
---*/
WITH edges AS (
  SELECT DISTINCT CAST(edge AS DOUBLE) AS side_from
  FROM (SELECT unnest($bins) AS edge UNION ALL SELECT 0 AS edge) AS e
  WHERE edge >= 0
),
ranges AS (
  SELECT side_from, lead(side_from) OVER (ORDER BY side_from) AS side_to FROM edges
),
boxes AS (
  SELECT DISTINCT detection_id, least(width, height) AS side
  FROM detections
  WHERE width IS NOT NULL AND height IS NOT NULL AND NOT isnan(CAST(width + height AS DOUBLE))
),
own AS (
  SELECT false AS resized, d.side, l.detection_id, min(l.label) AS label
  FROM labels AS l
  JOIN boxes AS d ON d.detection_id = l.detection_id
  WHERE l.label IS NOT NULL
  GROUP BY d.side, l.detection_id
  HAVING min(l.label) = max(l.label)
  UNION ALL
  SELECT true AS resized, side, detection_id, min(label) AS label
  FROM shrunk
  WHERE label IS NOT NULL AND side IS NOT NULL AND NOT isnan(CAST(side AS DOUBLE))
  GROUP BY side, detection_id
  HAVING min(label) = max(label)
),
other AS (
  SELECT detection_id, min(label) AS label
  FROM reference
  WHERE label IS NOT NULL
  GROUP BY detection_id
  HAVING min(label) = max(label)
),
-- boxes whose image nobody knows may be of one
pairs AS (
  SELECT
    own.resized, r.side_from, r.side_to, own.label, other.label AS other_label, coalesce(i.image_id, -1) AS image_id,
    CASE WHEN i.image_id IS NULL THEN own.detection_id END AS stray
  FROM own
  JOIN other ON other.detection_id = own.detection_id
  LEFT JOIN (SELECT detection_id, min(image_id) AS image_id FROM detections GROUP BY detection_id) AS i
    ON i.detection_id = own.detection_id
  JOIN ranges AS r
    ON own.side >= r.side_from AND (r.side_to IS NULL OR own.side < r.side_to)
),
confusion AS (
  SELECT
    resized, side_from, side_to, label, other_label, count(*) AS count, count(DISTINCT image_id) AS images
  FROM pairs
  GROUP BY resized, side_from, side_to, label, other_label
),
parts AS (
  SELECT
    resized,
    side_from,
    count(DISTINCT CASE WHEN label = other_label THEN image_id END) AS same,
    count(DISTINCT CASE WHEN label <> other_label THEN image_id END) AS different
  FROM pairs
  GROUP BY resized, side_from
),
by_image AS (
  SELECT resized, side_from, count(CASE WHEN label = other_label THEN 1 END) AS count, count(*) AS n
  FROM pairs
  GROUP BY resized, side_from, image_id, stray
),
clusters AS (
  SELECT
    resized,
    side_from,
    effective_size(
      CAST(sum(count) AS DOUBLE),
      CAST(sum(n) AS DOUBLE),
      CAST(sum(count * count) AS DOUBLE),
      CAST(sum(count * n) AS DOUBLE),
      CAST(sum(n * n) AS DOUBLE),
      CAST(count(*) AS DOUBLE)
    ) AS effective
  FROM by_image
  GROUP BY resized, side_from
),
sums AS (
  SELECT
    resized,
    side_from,
    side_to,
    CAST(sum(CASE WHEN label = other_label THEN count ELSE 0 END) AS BIGINT) AS count,
    CAST(sum(count) AS BIGINT) AS n,
    min(images) AS smallest,
    cohen_kappa(list(struct_pack(label := label, other_label := other_label, count := count))) AS cohen
  FROM confusion
  GROUP BY resized, side_from, side_to
)
SELECT
  s.resized,
  s.side_from,
  s.side_to,
  count,
  n,
  CAST(count AS DOUBLE) / n AS value,
  wilson_low(count * c.effective / n, c.effective) AS low,
  wilson_high(count * c.effective / n, c.effective) AS high,
  cohen.kappa AS kappa,
  beyond_chance_low(cohen.agreed, cohen.chance, cohen.effective * (c.effective / n)) AS kappa_low,
  beyond_chance_high(cohen.agreed, cohen.chance, cohen.effective * (c.effective / n)) AS kappa_high,
  smallest,
  least(nullif(p.same, 0), nullif(p.different, 0)) AS images
FROM sums AS s
JOIN parts AS p ON p.resized = s.resized AND p.side_from = s.side_from
JOIN clusters AS c ON c.resized = s.resized AND c.side_from = s.side_from
ORDER BY s.resized, s.side_from

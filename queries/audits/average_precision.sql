/*--- toml
answers = "How well do the scores of a multi-label classifier rank the images that show each object (mAP)?"
details = """
One row for every concept, metric 'ap': average precision, the sum over scores, the highest first, of the precision
among images with at least that score times the share of the concept's images that have just it (equal scores are one
step, nothing is interpolated). One row 'map', concept 'all': the mean over the n_concepts concepts that at least
'least' of the images show. Counted are the n images with any score; an image without a score of a concept is
ranked below all that have one, and a concept that has no score at all is found by chance. 95 % intervals are over 20 parts
of the images, leaving one out at a time (jackknife), on the scale of the logit, with Student's t of as many degrees of
freedom as there are parts, or images of the concept (of the rarest one in the mean), less one (docs/coverage.md). They are of
the precision that more images would give: that of few images is too high, by as much as the jackknife tells, so that an
interval may lie below its value. There is none, NULL, where a part holds all images of a concept, or all of them come first:
what is left out then tells of no spread. The mean hides who is seen worse: ask it of
predictions and truth of the images of one perceived group, too.

Concepts of few images are hidden by the engine (docs/safety.md).
"""
subject = "from data to models"
exact = true
source = """
Hirota et al., Resampled datasets are not enough (2024), Tables 1, 5 and 6: mAP; the sum is that of scikit-learn's
average_precision_score; Kott, The delete-a-group jackknife (2001); Boyd, Eng and Page, Area under the precision-recall curve:
point estimates and confidence intervals (2013): the logit"""
meets = { left = "predictions.concept", right = "truth.concept" }
presets = { paper = "Hirota et al. (2024), COCO", paper_open_images = "Hirota et al. (2024), Open Images" }

[params.predictions]
relation = ["image_id", "concept", "score"]
about = "a score an image and concept"

[params.truth]
relation = ["image_id", "concept"]
default = "category_concepts"
presets = { paper = { value = "(SELECT image_id, concept FROM category_concepts WHERE concept IN (SELECT term FROM lists.hirota_objects WHERE class = 'COCO'))", source = "3.1; B.1" }, paper_open_images = { value = "(SELECT image_id, concept FROM category_concepts WHERE lower(concept) IN (SELECT term FROM lists.hirota_objects WHERE class = 'OpenImages'))", source = "B.1" } }
about = "what is truly there; the default has all categories, persons too"

[params.least]
type = "integer"
default = 10
min = 1
presets = { paper = { value = 1, source = "Table 1: of all 51 objects" }, paper_open_images = { value = 1, source = "Table 5: of all 126" } }
about = "concepts of fewer images are not in the mean; by default those are left out whose precision few images tell"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "concepts of fewer images are hidden"

[[cells]]
count = "n"
by = ["concept"]
within = ["metric"]

[[cells]]
count = "n_positive"
of = "n"
out_of = "n"
by = ["concept"]
within = ["metric"]
---*/
WITH scored AS (
  SELECT image_id, concept, max(CAST(score AS DOUBLE)) AS score
  FROM predictions
  WHERE image_id IS NOT NULL AND concept IS NOT NULL AND NOT isnan(CAST(score AS DOUBLE))
  GROUP BY image_id, concept
),
placed AS (
  SELECT
    image_id,
    count(*) OVER () AS n,
    row_number() OVER (ORDER BY md5(CAST(image_id AS VARCHAR)), image_id) AS place
  FROM (SELECT DISTINCT image_id FROM scored) AS s
),
-- every image is in one of 20 parts
parts AS (
  SELECT image_id, n, place % least(n, 20) AS part FROM placed
),
seen AS (
  SELECT DISTINCT t.image_id, t.concept
  FROM truth AS t
  JOIN parts AS p ON p.image_id = t.image_id
  WHERE t.concept IS NOT NULL
),
sizes AS (
  SELECT concept, count(*) AS n_positive FROM seen GROUP BY concept
),
judged AS (
  SELECT
    z.concept,
    p.part,
    s.score,
    CASE WHEN t.image_id IS NULL THEN 0 ELSE 1 END AS positive
  FROM sizes AS z
  CROSS JOIN parts AS p
  LEFT JOIN scored AS s ON s.image_id = p.image_id AND s.concept = z.concept
  LEFT JOIN seen AS t ON t.image_id = p.image_id AND t.concept = z.concept
),
tied AS (
  SELECT concept, part, score, CAST(sum(positive) AS BIGINT) AS positives, count(*) AS images
  FROM judged
  GROUP BY concept, part, score
),
-- -1 leaves no part out
runs AS (
  SELECT -1 AS omitted
  UNION ALL
  SELECT DISTINCT CAST(part AS INTEGER) AS omitted FROM parts
),
levels AS (
  SELECT r.omitted, t.concept, t.score, CAST(sum(t.positives) AS BIGINT) AS positives, CAST(sum(t.images) AS BIGINT) AS images
  FROM tied AS t
  JOIN runs AS r ON r.omitted <> t.part
  GROUP BY r.omitted, t.concept, t.score
),
ranked AS (
  SELECT
    omitted,
    concept,
    positives,
    CAST(sum(positives) OVER (
      PARTITION BY omitted, concept ORDER BY score DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS found,
    CAST(sum(images) OVER (
      PARTITION BY omitted, concept ORDER BY score DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ) AS BIGINT) AS taken
  FROM levels
),
areas AS (
  SELECT
    omitted,
    concept,
    CAST(sum(CAST(CAST(positives AS DOUBLE) * found / taken AS DECIMAL(38, 15))) AS DOUBLE)
    / nullif(CAST(sum(positives) AS BIGINT), 0) AS area
  FROM ranked
  GROUP BY omitted, concept
),
kinds AS (
  SELECT 'ap' AS metric, a.concept, a.omitted, a.area, z.n_positive
  FROM areas AS a
  JOIN sizes AS z ON z.concept = a.concept
  UNION ALL
  SELECT
    'map' AS metric,
    'all' AS concept,
    a.omitted,
    CASE WHEN count(a.area) = count(*) THEN CAST(sum(CAST(a.area AS DECIMAL(38, 15))) AS DOUBLE) / count(*) END AS area,
    min(z.n_positive) AS n_positive
  FROM areas AS a
  JOIN sizes AS z ON z.concept = a.concept
  WHERE z.n_positive >= $least
  GROUP BY a.omitted
),
means AS (
  SELECT
    metric,
    concept,
    min(n_positive) AS rarest,
    count(*) - 1 AS parts,
    count(area) AS known,
    max(CASE WHEN omitted = -1 THEN area END) AS value,
    CAST(sum(CASE WHEN omitted >= 0 THEN CAST(area AS DECIMAL(38, 15)) END) AS DOUBLE) / (count(*) - 1) AS mean
  FROM kinds
  GROUP BY metric, concept
),
-- what the areas without a part tell of more images: the middle, less what few images add, and half of the interval
spread AS (
  SELECT
    m.metric,
    m.concept,
    m.value,
    CASE WHEN m.known = m.parts + 1 AND m.parts > 1 THEN m.parts * m.value - (m.parts - 1) * m.mean END AS middle,
    student_point(least(m.parts, m.rarest) - 1) * sqrt(
      CAST(sum(CASE WHEN k.omitted >= 0 THEN CAST((k.area - m.mean) * (k.area - m.mean) AS DECIMAL(38, 20)) END) AS DOUBLE)
      * (m.parts - 1) / m.parts
    ) AS half
  FROM means AS m
  JOIN kinds AS k ON k.metric = m.metric AND k.concept = m.concept
  GROUP BY m.metric, m.concept, m.value, m.mean, m.parts, m.known, m.rarest
),
-- on the scale of the logit, whose ends stay between 0 and 1
ends AS (
  SELECT metric, concept, middle, half / (middle * (1 - middle)) AS reach
  FROM spread
  WHERE middle > 0 AND middle < 1
)
SELECT
  s.metric,
  s.concept,
  s.value,
  e.middle / (e.middle + (1 - e.middle) * exp(e.reach)) AS low,
  e.middle / (e.middle + (1 - e.middle) * exp(-e.reach)) AS high,
  (SELECT count(*) FROM parts) AS n,
  z.n_positive,
  CASE WHEN s.metric = 'map' THEN (SELECT count(*) FROM sizes WHERE n_positive >= $least) END AS n_concepts
FROM spread AS s
LEFT JOIN ends AS e ON e.metric = s.metric AND e.concept = s.concept
LEFT JOIN sizes AS z ON s.metric = 'ap' AND z.concept = s.concept
ORDER BY s.metric DESC, s.concept

/*--- toml
answers = "How well a model's labels agree with annotators who answered a sheet of `counterbalance validate`."
details = """
Rows by metric, for every annotator, and where there are several for 'majority' (the answer with more votes than any other),
against 'model';
label is what the annotator said, other_label what the model said. 'cohen_kappa', 'agreement' (accuracy in the sample)
and 'confusion' are as in the audit agreement. 'weighted_agreement' is accuracy in the population: a sheet draws its
sample within each label of the model, so that an answer stands for (units with that label) / (answers about such
units), its inverse inclusion probability. 'covered' is the share of the population whose label has answers at all
(count of n units); the weighted values are about these. 'precision' of other_label: share of the units so labelled (n)
that the annotator labels the same (count). 'recall' of label: estimated share of the units in the population that the
annotator would label so (n in the sample) which the model labels the same. Between annotators: 'fleiss_kappa', and
'cohen_kappa' and 'agreement' of two.

95 % intervals: kappas and shares as in agreement, weighted values by adding the squared distances
to Wilson's limits of each label (for recall, of its two parts); no finite-population correction, so they are rather too
wide. Persons of one image are alike: shares are of as many independent ones as would tell as much (effective_size).
Annotators are not the truth: labels are perceived, never facts about persons, and an answer 'unclear' counts as
an answer.

Small counts, and what would give them away, are hidden by the engine, see docs/safety.md: counts of a confusion as in agreement;
precision and recall where a count of their row or column is; kappas and weighted_agreement where one that they rest on is
small (smallest); 'covered' where group_sizes hides a label of the model. What few images hold is small, however many persons each has. With a purpose min_count := 1 shows all. The model's labels must not hold the answers themselves: name their annotator, as in person_units('perceived_gender', annotator := 'siglip').
"""
subject = "who is in the pictures"
source = """
Girrbach et al., person annotations of LAION-400M (2025), human validation of labels; Cohen (1960); Fleiss (1971);
Horvitz and Thompson (1952), weights; Zou and Donner (2008), intervals from limits of parts"""
presets = { paper = "Girrbach et al. (2025)" }

[params.model]
relation = ["image_id", "label"]
about = "group relation, the labels to validate; of persons as person_units gives them"

[params.attribute]
type = "varchar"
values = "labels.attribute"
about = "attribute of labels that the sheet asked for, such as 'perceived_gender'"

[params.unit]
type = "varchar"
default = "image"
choices = ["image", "person"]
presets = { paper = { value = "person", source = "section 3: what classifiers label, boxes of people" } }
about = "what the sheet asked about; the default needs no boxes"

[params.sheet]
type = "varchar"
optional = true
about = "id of the sheet whose answers count; NULL counts those of all sheets"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rows that rest on fewer images, and smaller counts, are suppressed"

[[cells]]
count = "n"
within = ["metric", "annotator", "other", "label", "other_label"]
measures = ["count", "value", "low", "high", "smallest"]

[[cells]]
count = "count"
of = "n"
within = ["metric", "annotator", "other", "label", "other_label"]
measures = ["value", "low", "high", "n", "smallest"]

[[cells]]
count = "count"
by = ["label", "other_label"]
within = ["annotator", "other"]
joint = true
lines = true
measures = ["value", "low", "high", "n", "smallest"]

[[cells]]
count = "count"
by = ["label", "other_label"]
within = ["metric", "annotator", "other", "is_same"]
joint = true
measures = ["value", "low", "high", "n", "smallest"]

[[cells]]
count = "smallest"
within = ["metric", "annotator", "other", "label", "other_label"]
measures = ["value", "low", "high", "count", "n"]
---*/
WITH ratings AS (
  SELECT image_id, detection_id, annotator, value FROM sheet_ratings(model, $attribute, $unit, $sheet)
),
units AS (
  SELECT m.label, coalesce(d.image_id, m.image_id) AS image_id
  FROM (
    SELECT image_id, min(label) AS label
    FROM model
    WHERE label IS NOT NULL AND image_id IS NOT NULL
    GROUP BY image_id
    HAVING min(label) = max(label)
  ) AS m
  LEFT JOIN detections AS d ON $unit = 'person' AND d.detection_id = m.image_id
),
sizes AS (
  SELECT label, count(*) AS units FROM units GROUP BY label
),
-- how often an annotator said label about units that the model labels other_label
said_by_image AS (
  SELECT a.annotator, a.value AS label, m.value AS other_label, a.image_id, count(*) AS count
  FROM ratings AS a
  JOIN ratings AS m ON m.image_id = a.image_id AND m.detection_id = a.detection_id AND m.annotator = 'model'
  WHERE a.annotator <> 'model'
  GROUP BY a.annotator, a.value, m.value, a.image_id
),
said AS (
  SELECT annotator, label, other_label, CAST(sum(count) AS BIGINT) AS count
  FROM said_by_image
  GROUP BY annotator, label, other_label
),
-- in how many images they said the same about such units, and in how many something else
said_images AS (
  SELECT
    a.annotator,
    m.value AS other_label,
    count(DISTINCT CASE WHEN a.value = m.value THEN a.image_id END) AS same,
    count(DISTINCT CASE WHEN a.value <> m.value THEN a.image_id END) AS different
  FROM ratings AS a
  JOIN ratings AS m ON m.image_id = a.image_id AND m.detection_id = a.detection_id AND m.annotator = 'model'
  WHERE a.annotator <> 'model'
  GROUP BY a.annotator, m.value
),
strata AS (
  SELECT s.annotator, s.other_label, z.units, CAST(sum(s.count) AS BIGINT) AS n
  FROM said AS s
  JOIN sizes AS z ON z.label = s.other_label
  GROUP BY s.annotator, s.other_label, z.units
),
populations AS (
  SELECT annotator, CAST(sum(units) AS BIGINT) AS units, CAST(sum(n) AS BIGINT) AS n FROM strata GROUP BY annotator
),
-- images with units of labels that have answers, and with others
covered_images AS (
  SELECT
    a.annotator,
    count(DISTINCT CASE WHEN t.n IS NOT NULL THEN u.image_id END) AS covered,
    count(DISTINCT CASE WHEN t.n IS NULL THEN u.image_id END) AS others
  FROM populations AS a
  CROSS JOIN units AS u
  LEFT JOIN strata AS t ON t.annotator = a.annotator AND t.other_label = u.label
  GROUP BY a.annotator
),
answered AS (
  SELECT annotator, label, CAST(sum(count) AS BIGINT) AS n FROM said GROUP BY annotator, label
),
labels_seen AS (
  SELECT annotator, label FROM said
  UNION
  SELECT annotator, other_label AS label FROM said
),
-- within a label of the model: share of each answer, its weight in the population, and Wilson's limits
cells AS (
  SELECT
    t.annotator,
    l.label,
    t.other_label,
    t.n,
    coalesce(s.count, 0) AS count,
    CAST(t.units AS DOUBLE) / p.units AS weight,
    CAST(coalesce(s.count, 0) AS DOUBLE) / t.n AS share
  FROM strata AS t
  JOIN populations AS p ON p.annotator = t.annotator
  JOIN labels_seen AS l ON l.annotator = t.annotator
  LEFT JOIN said AS s ON s.annotator = t.annotator AND s.label = l.label AND s.other_label = t.other_label
),
-- what each image adds to a cell: its units of the label of the model, and those of them that have the answer (said_by_image)
image_sizes AS (
  SELECT annotator, other_label, image_id, sum(count) AS n FROM said_by_image GROUP BY annotator, other_label, image_id
),
residuals AS (
  SELECT
    c.annotator,
    c.label,
    c.other_label,
    z.image_id,
    coalesce(i.count, 0) AS count,
    z.n,
    CAST(c.weight * (coalesce(i.count, 0) - c.share * z.n) / c.n AS DECIMAL(38, 18)) AS residual
  FROM cells AS c
  JOIN image_sizes AS z ON z.annotator = c.annotator AND z.other_label = c.other_label
  LEFT JOIN said_by_image AS i
    ON i.annotator = c.annotator AND i.other_label = c.other_label AND i.label = c.label AND i.image_id = z.image_id
),
clusters AS (
  SELECT
    annotator,
    label,
    other_label,
    effective_size(
      CAST(sum(count) AS DOUBLE),
      CAST(sum(n) AS DOUBLE),
      CAST(sum(count * count) AS DOUBLE),
      CAST(sum(count * n) AS DOUBLE),
      CAST(sum(n * n) AS DOUBLE),
      CAST(count(*) AS DOUBLE)
    ) AS effective
  FROM residuals
  GROUP BY annotator, label, other_label
),
limits AS (
  SELECT
    c.*,
    wilson_low(c.count * e.effective / c.n, e.effective) AS low,
    wilson_high(c.count * e.effective / c.n, e.effective) AS high
  FROM cells AS c
  JOIN clusters AS e ON e.annotator = c.annotator AND e.label = c.label AND e.other_label = c.other_label
),
-- units of several labels of the model may share an image: how much more that is than the variances of the labels added up
weighted_effects AS (
  SELECT
    annotator,
    greatest(CAST(sum(CAST(power(CAST(residual AS DOUBLE), 2) AS DECIMAL(38, 18))) AS DOUBLE) / nullif(max(apart), 0), 1) AS effect
  FROM (
    SELECT
      annotator,
      image_id,
      sum(residual) AS residual,
      CAST(sum(sum(CAST(power(CAST(residual AS DOUBLE), 2) AS DECIMAL(38, 18)))) OVER (PARTITION BY annotator) AS DOUBLE) AS apart
    FROM residuals
    WHERE label = other_label
    GROUP BY annotator, image_id
  ) AS i
  GROUP BY annotator
),
weighted AS (
  SELECT
    annotator,
    CAST(sum(CAST(weight * share AS DECIMAL(38, 18))) AS DOUBLE) AS value,
    CAST(sum(CAST(power(weight * (share - low), 2) AS DECIMAL(38, 18))) AS DOUBLE) AS below,
    CAST(sum(CAST(power(weight * (high - share), 2) AS DECIMAL(38, 18))) AS DOUBLE) AS above
  FROM limits
  WHERE label = other_label
  GROUP BY annotator
),
-- of all units that an annotator would label so: those the model labels so too (hit), and the others (miss)
parts AS (
  SELECT
    annotator,
    label,
    CAST(sum(CAST(CASE WHEN label = other_label THEN weight * share ELSE 0 END AS DECIMAL(38, 18))) AS DOUBLE) AS hit,
    CAST(sum(CAST(CASE WHEN label = other_label THEN weight * low ELSE 0 END AS DECIMAL(38, 18))) AS DOUBLE) AS hit_low,
    CAST(sum(CAST(CASE WHEN label = other_label THEN weight * high ELSE 0 END AS DECIMAL(38, 18))) AS DOUBLE) AS hit_high,
    CAST(sum(CAST(CASE WHEN label = other_label THEN 0 ELSE weight * share END AS DECIMAL(38, 18))) AS DOUBLE) AS miss,
    CAST(sum(CAST(
      CASE WHEN label = other_label THEN 0 ELSE power(weight * (share - low), 2) END AS DECIMAL(38, 18)
    )) AS DOUBLE) AS below,
    CAST(sum(CAST(
      CASE WHEN label = other_label THEN 0 ELSE power(weight * (high - share), 2) END AS DECIMAL(38, 18)
    )) AS DOUBLE) AS above
  FROM limits
  GROUP BY annotator, label
),
recall_effects AS (
  SELECT
    annotator,
    label,
    greatest(CAST(sum(CAST(power(CAST(residual AS DOUBLE), 2) AS DECIMAL(38, 18))) AS DOUBLE) / nullif(max(apart), 0), 1) AS effect
  FROM (
    SELECT
      annotator,
      label,
      image_id,
      sum(residual) AS residual,
      CAST(
        sum(sum(CAST(power(CAST(residual AS DOUBLE), 2) AS DECIMAL(38, 18)))) OVER (PARTITION BY annotator, label) AS DOUBLE
      ) AS apart
    FROM (
      SELECT
        r.annotator,
        r.label,
        r.image_id,
        CAST(
          CASE WHEN r.label = r.other_label THEN p.miss ELSE -p.hit END / nullif(p.hit + p.miss, 0) * r.residual AS DECIMAL(38, 18)
        ) AS residual
      FROM residuals AS r
      JOIN parts AS p ON p.annotator = r.annotator AND p.label = r.label
    ) AS f
    GROUP BY annotator, label, image_id
  ) AS i
  GROUP BY annotator, label
),
recalls AS (
  SELECT
    p.annotator,
    p.label,
    a.n,
    coalesce(e.effect, 1e0) AS effect,
    hit / (hit + miss) AS value,
    hit_low / nullif(hit_low + miss, 0) AS if_fewer_hits,
    hit_high / nullif(hit_high + miss, 0) AS if_more_hits,
    hit / nullif(hit + miss + sqrt(above), 0) AS if_more_misses,
    hit / nullif(hit + greatest(miss - sqrt(below), 0), 0) AS if_fewer_misses
  FROM parts AS p
  JOIN answered AS a ON a.annotator = p.annotator AND a.label = p.label
  LEFT JOIN recall_effects AS e ON e.annotator = p.annotator AND e.label = p.label
),
against_model AS (
  SELECT
    metric,
    CASE WHEN annotator = 'model' THEN other ELSE annotator END AS annotator,
    'model' AS other,
    CASE WHEN annotator = 'model' THEN other_label ELSE label END AS label,
    CASE WHEN annotator = 'model' THEN label ELSE other_label END AS other_label,
    count,
    value,
    low,
    high,
    n,
    smallest
  FROM rater_agreement(sheet_ratings(model, $attribute, $unit, $sheet))
  WHERE metric IN ('cohen_kappa', 'agreement', 'confusion') AND (annotator = 'model' OR other = 'model')
),
-- what other annotators said of the same units, which is in none of the sums below, would follow from them
agreed AS (
  SELECT annotator, smallest FROM against_model WHERE metric = 'agreement'
)
SELECT metric, annotator, other, label, other_label, count, value, low, high, n, label = other_label AS is_same, smallest
FROM (
  SELECT metric, annotator, other, label, other_label, count, value, low, high, n, smallest
  FROM against_model
  UNION ALL
  SELECT metric, annotator, other, label, other_label, count, value, low, high, n, smallest
  FROM rater_agreement(sheet_answers($attribute, $unit, $sheet))
  WHERE metric IN ('cohen_kappa', 'agreement', 'fleiss_kappa')
  UNION ALL
  SELECT
    'weighted_agreement' AS metric, w.annotator, 'model' AS other, CAST(NULL AS VARCHAR) AS label,
    CAST(NULL AS VARCHAR) AS other_label, CAST(NULL AS BIGINT) AS count, w.value,
    greatest(w.value - sqrt(w.below * coalesce(e.effect, 1)), 0) AS low,
    least(w.value + sqrt(w.above * coalesce(e.effect, 1)), 1) AS high, p.n, least(s.smallest, a.smallest) AS smallest
  FROM weighted AS w
  JOIN agreed AS a ON a.annotator = w.annotator
  LEFT JOIN weighted_effects AS e ON e.annotator = w.annotator
  JOIN populations AS p ON p.annotator = w.annotator
  JOIN (
    SELECT annotator, min(least(nullif(same, 0), nullif(different, 0))) AS smallest FROM said_images GROUP BY annotator
  ) AS s ON s.annotator = w.annotator
  UNION ALL
  SELECT
    'covered' AS metric, p.annotator, 'model' AS other, CAST(NULL AS VARCHAR) AS label,
    CAST(NULL AS VARCHAR) AS other_label, p.units AS count, CAST(p.units AS DOUBLE) / t.units AS value,
    CAST(NULL AS DOUBLE) AS low, CAST(NULL AS DOUBLE) AS high, t.units AS n,
    least(nullif(i.covered, 0), nullif(i.others, 0), CASE WHEN h.hides THEN 1 END) AS smallest
  FROM populations AS p
  JOIN covered_images AS i ON i.annotator = p.annotator
  CROSS JOIN (SELECT CAST(sum(units) AS BIGINT) AS units FROM sizes) AS t
  CROSS JOIN (SELECT bool_or(clear AND NOT used) AS hides FROM group_sizes(model, $min_count)) AS h
  UNION ALL
  SELECT
    'precision' AS metric, l.annotator, 'model' AS other, CAST(NULL AS VARCHAR) AS label, other_label, count,
    share AS value, low, high, n, a.smallest
  FROM limits AS l
  JOIN agreed AS a ON a.annotator = l.annotator
  WHERE label = other_label
  UNION ALL
  SELECT
    'recall' AS metric, r.annotator, 'model' AS other, label, CAST(NULL AS VARCHAR) AS other_label,
    CAST(NULL AS BIGINT) AS count, value,
    greatest(value - sqrt(
      effect * (power(value - coalesce(if_fewer_hits, 0), 2) + power(value - coalesce(if_more_misses, 0), 2))
    ), 0) AS low,
    least(value + sqrt(
      effect * (power(coalesce(if_more_hits, 1) - value, 2) + power(coalesce(if_fewer_misses, 1) - value, 2))
    ), 1) AS high,
    n, a.smallest
  FROM recalls AS r
  JOIN agreed AS a ON a.annotator = r.annotator
) AS r
ORDER BY metric, annotator, other, label, other_label

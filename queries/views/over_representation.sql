/*--- toml
answers = "Over- and under-representation of labels among the images that have a concept."
details = """
For every concept and clear label: count of the n labelled images (or persons) with the concept, share = count / n with
Wilson's 95 % interval, base_share among all labelled images, and delta = share / base_share - 1, with the 95 % interval
of ratio_low and ratio_high, less 1: of a part taken from the whole it is compared with. 'mixed', 'unclear' and
'undefined' images are left out of both, and where images are counted those with two labels (see clear_labels).
crime_words and geography are made of this.

base_count is how many of the base_n have the label. Labels that group_sizes hides take no part: their rows are suppressed.
Small counts are hidden by the audits that show them.
"""
source = "Girrbach et al. (2025), crime words: share among matching images / share in the baseline - 1"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.concepts]
relation = ["image_id", "concept"]
default = "category_concepts"

[params.unit]
type = "varchar"
default = "image"
choices = ["image", "person"]
about = "count images, or the rows of groups, one per person"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels of fewer images, as group_sizes says, take no part"
---*/
WITH sizes AS (
  SELECT label, used
  FROM group_sizes(
    (
      SELECT image_id, label FROM clear_labels(groups) WHERE $unit = 'image'
      UNION ALL
      SELECT image_id, label FROM groups WHERE $unit = 'person'
    ),
    $min_count
  )
  WHERE clear
),
units AS (
  SELECT g.image_id, g.label, g.units
  FROM (
    SELECT image_id, label, 1 AS units FROM clear_labels(groups) WHERE $unit = 'image'
    UNION ALL
    SELECT image_id, label, count(*) AS units FROM groups WHERE $unit = 'person' GROUP BY image_id, label
  ) AS g
  JOIN sizes AS s ON s.label = g.label AND s.used
  WHERE g.image_id IS NOT NULL
),
baseline AS (
  SELECT
    s.label,
    s.used,
    CAST(sum(u.units) AS BIGINT) AS base_count,
    CAST(sum(sum(u.units)) OVER () AS BIGINT) AS base_n
  FROM sizes AS s
  LEFT JOIN units AS u ON u.label = s.label
  GROUP BY s.label, s.used
),
counts AS (
  SELECT f.concept, u.label, CAST(sum(u.units) AS BIGINT) AS count
  FROM (SELECT DISTINCT image_id, concept FROM concepts WHERE concept IS NOT NULL) AS f
  JOIN units AS u ON u.image_id = f.image_id
  GROUP BY f.concept, u.label
),
cells AS (
  SELECT
    c.concept,
    b.label,
    b.used,
    CASE WHEN b.used THEN coalesce(n.count, 0) END AS count,
    CASE WHEN b.used THEN CAST(sum(coalesce(n.count, 0)) OVER (PARTITION BY c.concept) AS BIGINT) END AS n,
    b.base_count,
    CASE WHEN b.used THEN b.base_n END AS base_n
  FROM (SELECT DISTINCT concept FROM counts) AS c
  CROSS JOIN baseline AS b
  LEFT JOIN counts AS n ON n.concept = c.concept AND n.label = b.label
),
measures AS (
  SELECT
    *,
    CAST(count AS DOUBLE) * base_n / n / base_count AS ratio,
    ratio_low(count, n, base_count, base_n) AS ratio_low,
    ratio_high(count, n, base_count, base_n) AS ratio_high
  FROM cells
)
SELECT
  concept,
  label,
  count,
  n,
  CAST(count AS DOUBLE) / n AS share,
  wilson_low(count, n) AS share_low,
  wilson_high(count, n) AS share_high,
  CAST(base_count AS DOUBLE) / base_n AS base_share,
  base_count,
  base_n,
  ratio - 1 AS delta,
  ratio_low - 1 AS delta_low,
  ratio_high - 1 AS delta_high,
  NOT used AS suppressed
FROM measures

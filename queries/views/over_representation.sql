/*--- toml
answers = "Over- and under-representation of labels among the images that have a concept."
details = """
For every concept and clear label: count of the n labelled images (or persons) with the concept, share = count / n with
Wilson's 95 % interval, base_share among all labelled images, and delta = share / base_share - 1, with the 95 % interval
of ratio_low and ratio_high, less 1: of a part taken from the whole it is compared with. p is that of G2 of the
two-by-two table (chi-square, one degree of freedom): has the concept to do with the label? 'mixed', 'unclear' and
'undefined' images are left out of both, and where images are counted those with two labels (see clear_labels).
crime_words and geography are made of this. Persons of one image are alike: intervals are of as many independent persons
as would tell as much (effective_size; for delta as in design_effects).

base_count is how many of the base_n have the label. images of the base_images with the label have the concept: as many as are
counted, or fewer where persons are. Labels that group_sizes hides take no part: their rows are suppressed.
Small counts are hidden by the audits that show them.
"""
source = "Girrbach et al. (2025), crime words: share among matching images / share in the baseline - 1"
presets = { paper = "Girrbach et al. (2025)" }

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
presets = { paper = { value = "image", source = "section 4.2" } }
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
  SELECT g.image_id, g.label, g.units, sum(g.units) OVER (PARTITION BY g.image_id) AS image_units
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
    CAST(sum(sum(u.units)) OVER () AS BIGINT) AS base_n,
    count(u.image_id) AS base_images,
    CAST(sum(u.units * u.units) AS DOUBLE) AS base_squares,
    CAST(sum(u.units * u.image_units) AS DOUBLE) AS base_products,
    CAST(sum(sum(u.units * u.image_units)) OVER () AS DOUBLE) AS base_sizes
  FROM sizes AS s
  LEFT JOIN units AS u ON u.label = s.label
  GROUP BY s.label, s.used
),
found AS (
  SELECT f.concept, u.*
  FROM (SELECT DISTINCT image_id, concept FROM concepts WHERE concept IS NOT NULL) AS f
  JOIN units AS u ON u.image_id = f.image_id
),
counts AS (
  SELECT
    concept,
    label,
    CAST(sum(units) AS BIGINT) AS count,
    count(*) AS seen,
    CAST(sum(units * units) AS DOUBLE) AS squares,
    CAST(sum(units * image_units) AS DOUBLE) AS products
  FROM found
  GROUP BY concept, label
),
images AS (
  SELECT concept, count(DISTINCT image_id) AS images FROM found GROUP BY concept
),
cells AS (
  SELECT
    c.concept,
    b.label,
    b.used,
    CASE WHEN b.used THEN coalesce(n.count, 0) END AS count,
    CASE WHEN b.used THEN CAST(sum(coalesce(n.count, 0)) OVER (PARTITION BY c.concept) AS BIGINT) END AS n,
    b.base_count,
    CASE WHEN b.used THEN b.base_n END AS base_n,
    CASE WHEN b.used THEN coalesce(n.seen, 0) END AS label_images,
    CASE WHEN b.used THEN b.base_images END AS base_images,
    c.images,
    coalesce(n.seen, 0) AS seen,
    coalesce(n.squares, 0) AS squares,
    coalesce(n.products, 0) AS products,
    CAST(sum(coalesce(n.products, 0)) OVER (PARTITION BY c.concept) AS DOUBLE) AS sizes,
    b.base_squares,
    b.base_products,
    b.base_sizes
  FROM images AS c
  CROSS JOIN baseline AS b
  LEFT JOIN counts AS n ON n.concept = c.concept AND n.label = b.label
),
shares AS (
  SELECT
    *,
    CAST(count AS DOUBLE) / n AS share,
    CAST(base_count AS DOUBLE) / base_n AS base_share,
    CAST(n AS DOUBLE) / base_n AS size,
    effective_size(count, n, squares, products, sizes, images) AS effective
  FROM cells
),
-- squares of (persons with the label - its share of the persons) * (has the concept - its share), with persons of an image
-- added up and not
variances AS (
  SELECT
    *,
    (1 - 2 * size) * (squares - 2 * base_share * products + base_share * base_share * sizes)
    + size * size * (base_squares - 2 * base_share * base_products + base_share * base_share * base_sizes) AS within,
    (1 - 2 * size) * (count - 2 * base_share * count + base_share * base_share * n)
    + size * size * (base_count - 2 * base_share * base_count + base_share * base_share * base_n) AS apart,
    base_n * base_share * (1 - base_share) * size * (1 - size) AS whole,
    base_sizes / base_n AS most
  FROM shares
),
designs AS (
  SELECT *, design_effect(within, apart, whole, most, seen) AS effect FROM variances
),
scaled AS (
  SELECT
    *,
    count / effect AS both,
    n / effect AS one,
    base_count / effect AS other,
    base_n / effect AS whole_n,
    log_likelihood_ratio(count, n, base_count, base_n) / effect AS g2
  FROM designs
),
measures AS (
  SELECT
    *,
    CAST(count AS DOUBLE) * base_n / n / base_count AS ratio,
    ratio_low(both, one, other, whole_n) AS ratio_low,
    ratio_high(both, one, other, whole_n) AS ratio_high
  FROM scaled
)
SELECT
  concept,
  label,
  count,
  n,
  share,
  wilson_low(count * effective / n, effective) AS share_low,
  wilson_high(count * effective / n, effective) AS share_high,
  base_share,
  base_count,
  base_n,
  ratio - 1 AS delta,
  ratio_low - 1 AS delta_low,
  ratio_high - 1 AS delta_high,
  two_sided_p(g2) AS p,
  label_images AS images,
  base_images,
  NOT used AS suppressed
FROM measures

/*--- toml
answers = "How negative the texts of images are, by group (VADER): what the audit sentiment shows."
details = """
Columns as in the audit sentiment, which hides small counts; effective is how many independent texts would tell the
share as well; smallest is the smallest number of images with negative texts, with others, or with neutral ones. suppressed
is true of labels with fewer images than min_count and ten; their rows have numbers, too, which are a part of those of all
texts.
"""
source = "Girrbach et al. (2025), sentiment of alt-texts, with rules := 'nltk'; Hutto and Gilbert (2014)"
presets = { paper = "Girrbach et al. (2025)" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.texts]
relation = ["image_id", "text"]
default = "captions"

[params.rules]
type = "varchar"
default = "vader"
choices = ["vader", "nltk"]
presets = { paper = { value = "nltk", source = "section 4.2" } }
about = "results of the vaderSentiment package or of NLTK's port; the default is the package of VADER's authors"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels of fewer images are suppressed, but none of ten"
---*/
WITH scores AS (
  -- the score has four decimals: as an integer, sums are exact
  SELECT image_id, CAST(round(vader(text, rules := $rules) * 10000) AS BIGINT) AS score
  FROM texts
  WHERE text IS NOT NULL
),
members AS (
  SELECT image_id, label FROM clear_labels(groups)
),
-- texts of one image are not independent
by_image AS (
  SELECT
    g.label,
    s.image_id,
    count(*) AS texts,
    count(CASE WHEN s.score <> 0 THEN 1 END) AS n,
    count(CASE WHEN s.score < 0 THEN 1 END) AS negative,
    CAST(sum(s.score) AS BIGINT) AS total
  FROM members AS g
  JOIN scores AS s ON s.image_id = g.image_id
  GROUP BY g.label, s.image_id
),
sums AS (
  SELECT
    label,
    CAST(sum(texts) AS BIGINT) AS texts,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(negative) AS BIGINT) AS negative,
    count(*) AS images,
    count(CASE WHEN n > 0 THEN 1 END) AS scored,
    least(
      nullif(count(CASE WHEN negative > 0 THEN 1 END), 0),
      nullif(count(CASE WHEN n > negative THEN 1 END), 0),
      nullif(count(CASE WHEN texts > n THEN 1 END), 0)
    ) AS smallest,
    CAST(sum(CAST(total AS DECIMAL(38, 0))) AS DOUBLE) AS total,
    CAST(sum(CAST(total AS DECIMAL(38, 0)) * total) AS DOUBLE) AS total_squares,
    CAST(sum(CAST(total AS DECIMAL(38, 0)) * n) AS DOUBLE) AS total_products,
    CAST(sum(negative * negative) AS DOUBLE) AS negative_squares,
    CAST(sum(negative * n) AS DOUBLE) AS negative_products,
    CAST(sum(n * n) AS DOUBLE) AS sizes
  FROM by_image
  GROUP BY label
),
cells AS (
  SELECT
    z.label,
    z.images < least($min_count, 10) AS is_few,
    coalesce(s.texts, 0) AS texts,
    coalesce(s.n, 0) AS n,
    coalesce(s.images, 0) AS images,
    s.smallest,
    coalesce(s.negative, 0) AS negative,
    CASE
      WHEN s.n > 0 THEN effective_size(s.negative, s.n, s.negative_squares, s.negative_products, s.sizes, s.scored)
    END AS effective,
    s.total / nullif(s.n, 0) / 10000 AS mean,
    clustered_point(s.n, s.sizes)
    * sqrt(clustered_variance(s.total, s.n, s.total_squares, s.total_products, s.sizes, s.scored)) / 10000 AS half
  FROM group_sizes(groups, $min_count) AS z
  LEFT JOIN sums AS s ON s.label = z.label
  WHERE z.clear
)
SELECT
  label,
  texts,
  n,
  images,
  negative,
  CAST(negative AS DOUBLE) / nullif(n, 0) AS negative_ratio,
  wilson_low(negative * effective / n, effective) AS negative_low,
  wilson_high(negative * effective / n, effective) AS negative_high,
  mean,
  mean - half AS mean_low,
  mean + half AS mean_high,
  effective,
  smallest,
  is_few AS suppressed
FROM cells

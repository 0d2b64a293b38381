/*--- toml
answers = "How much does the ratio of men to women that a model names change when a part of each picture is painted anew?"
details = """
Given captions, or predicted labels, that a model gives of images and of the same images with a random body part painted
anew, nobody's look being asked to change: a model that does not go by traces of painting names as many men and women as
before. r_original and r_inpainted are male / female, counts of texts with words of that class only, as in ratio, over
the images that both sides have. value = r_inpainted / r_original, 1 at best; delta = 100 * |value - 1| is the paper's,
in percent, 0 at best. 95 % intervals are of the logarithm of value, linearised by image (an image's texts on both sides
go together), with half an image more that turns from either class to the other; that of delta follows, and begins at 0
where that of value holds 1. NULL, with a note, where a side names one class never.

n_a and n_b: texts of the images as they are, and painted, that name one class only. What a text names is perceived by a
model, and says nothing of who is in a picture.

The engine hides the row where one class has few texts of a side, but not none (docs/safety.md), and where these are of few
images: smallest is the smallest number of these images, or of those left out, that is not 0.
"""
subject = "contrast sets"
exact = true
source = "Hirota et al., Resampled datasets are not enough (2024), section 3.3 and Table 3; the interval is our own"
presets = { paper = { of = "Hirota et al. (2024)", source = "3.3, Table 3; which words name a woman or a man is not printed" } }

[params.original]
relation = ["image_id", "text"]
about = "texts of a model about the images as they are"

[params.inpainted]
relation = ["image_id", "text"]
about = "texts of the same model about the images with a part painted anew"

[params.words]
relation = ["term", "class"]
default = "lists.gender_words"
about = "classes 'male' and 'female', terms of one word, in lower case"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer texts, or texts of fewer images, are hidden"

[[cells]]
count = "male_original"
of = "n_a"

[[cells]]
count = "n_a"

[[cells]]
count = "male_inpainted"
of = "n_b"

[[cells]]
count = "n_b"

[[cells]]
count = "smallest"
---*/
WITH said AS (
  SELECT 0 AS side, image_id, text FROM original WHERE text IS NOT NULL AND image_id IS NOT NULL
  UNION ALL
  SELECT 1 AS side, image_id, text FROM inpainted WHERE text IS NOT NULL AND image_id IS NOT NULL
),
both AS (
  SELECT image_id FROM said GROUP BY image_id HAVING min(side) < max(side)
),
numbered AS (
  SELECT side, image_id, text, row_number() OVER (ORDER BY side, image_id, text) AS number
  FROM said
  WHERE image_id IN (SELECT image_id FROM both)
),
tokens AS (
  SELECT number, unnest(regexp_extract_all(lower(text), '[\p{L}\p{N}_]+')) AS token FROM numbered
),
named AS (
  SELECT t.number, min(w.class) AS class
  FROM tokens AS t
  JOIN words AS w ON w.term = t.token
  WHERE w.class IN ('male', 'female')
  GROUP BY t.number
  HAVING min(w.class) = max(w.class)
),
by_image AS (
  SELECT
    t.image_id,
    count(CASE WHEN t.side = 0 AND n.class = 'male' THEN 1 END) AS m0,
    count(CASE WHEN t.side = 0 AND n.class = 'female' THEN 1 END) AS f0,
    count(CASE WHEN t.side = 0 AND n.class IS NULL THEN 1 END) AS o0,
    count(CASE WHEN t.side = 1 AND n.class = 'male' THEN 1 END) AS m1,
    count(CASE WHEN t.side = 1 AND n.class = 'female' THEN 1 END) AS f1,
    count(CASE WHEN t.side = 1 AND n.class IS NULL THEN 1 END) AS o1
  FROM numbered AS t
  LEFT JOIN named AS n ON n.number = t.number
  GROUP BY t.image_id
),
sums AS (
  SELECT
    count(*) AS images,
    CAST(coalesce(sum(m0), 0) AS BIGINT) AS m0,
    CAST(coalesce(sum(f0), 0) AS BIGINT) AS f0,
    CAST(coalesce(sum(m1), 0) AS BIGINT) AS m1,
    CAST(coalesce(sum(f1), 0) AS BIGINT) AS f1,
    CAST(sum(m0 * m0) AS DOUBLE) AS m0m0,
    CAST(sum(f0 * f0) AS DOUBLE) AS f0f0,
    CAST(sum(m1 * m1) AS DOUBLE) AS m1m1,
    CAST(sum(f1 * f1) AS DOUBLE) AS f1f1,
    CAST(sum(m0 * f0) AS DOUBLE) AS m0f0,
    CAST(sum(m1 * f1) AS DOUBLE) AS m1f1,
    CAST(sum(m0 * m1) AS DOUBLE) AS m0m1,
    CAST(sum(f0 * f1) AS DOUBLE) AS f0f1,
    CAST(sum(m0 * f1) AS DOUBLE) AS m0f1,
    CAST(sum(f0 * m1) AS DOUBLE) AS f0m1,
    least(
      nullif(count(CASE WHEN m0 > 0 THEN 1 END), 0),
      nullif(count(CASE WHEN f0 > 0 THEN 1 END), 0),
      nullif(count(CASE WHEN o0 > 0 THEN 1 END), 0),
      nullif(count(CASE WHEN m1 > 0 THEN 1 END), 0),
      nullif(count(CASE WHEN f1 > 0 THEN 1 END), 0),
      nullif(count(CASE WHEN o1 > 0 THEN 1 END), 0)
    ) AS smallest
  FROM by_image
),
-- each count's part in the logarithm; NULL where one is 0
parts AS (
  SELECT
    *,
    1e0 / nullif(m0, 0) AS a,
    1e0 / nullif(f0, 0) AS b,
    1e0 / nullif(m1, 0) AS c,
    1e0 / nullif(f1, 0) AS d
  FROM sums
),
spread AS (
  SELECT
    *,
    CASE WHEN c IS NOT NULL THEN m1 * d / (m0 * b) END AS value,
    sqrt(
      greatest(
        c * c * m1m1 + d * d * f1f1 + a * a * m0m0 + b * b * f0f0
        - 2 * (c * d * m1f1 + a * c * m0m1 + b * d * f0f1 + a * b * m0f0)
        + 2 * (b * c * f0m1 + a * d * m0f1), 0
      ) * images / nullif(images - 1, 0)
      + 0.5e0 * (a + d) * (a + d) + 0.5e0 * (b + c) * (b + c)
    ) AS error
  FROM parts
),
bounds AS (
  SELECT
    *,
    value / exp(half_interval(error)) AS low,
    value * exp(half_interval(error)) AS high
  FROM spread
)
SELECT
  value,
  low,
  high,
  100 * abs(value - 1) AS delta,
  CASE WHEN low <= 1 AND high >= 1 THEN 0e0 ELSE 100 * least(abs(low - 1), abs(high - 1)) END AS delta_low,
  100 * greatest(abs(low - 1), abs(high - 1)) AS delta_high,
  CAST(m0 AS DOUBLE) / nullif(f0, 0) AS r_original,
  CAST(m1 AS DOUBLE) / nullif(f1, 0) AS r_inpainted,
  m0 AS male_original,
  f0 AS female_original,
  m0 + f0 AS n_a,
  m1 AS male_inpainted,
  f1 AS female_inpainted,
  m1 + f1 AS n_b,
  images,
  CASE
    WHEN images = 0 THEN 'no image has texts on both sides'
    WHEN m0 = 0 OR m1 = 0 THEN 'no text of a side names men only'
    WHEN f0 = 0 OR f1 = 0 THEN 'no text of a side names women only'
  END AS note,
  smallest
FROM bounds

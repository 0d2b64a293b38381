/*--- toml
answers = "Of captions that name only men or only women, how much more frequent is the more frequent kind?"
details = """
Given captions that a model makes of images in which all persons are masked: nothing there tells a perceived gender, so
a model without bias would name both equally often. r = male / female, counts of captions with words of that class only
(n together); captions with words of both or of neither are left out. value = max(r, 1 / r), 1 at best; infinite, with a
note, where one class is never named. 95 % interval from Wilson's of male / n, of as many independent captions as would tell
as much, since those of one image are alike (effective_size; images have the n captions); it begins at 1 where that of r
holds 1.

The engine hides a row where either class has few captions, but not none (docs/safety.md), and where captions of either, or those
that are left out, are of few images: smallest is the smallest number of these images that is not 0.
"""
subject = "who is in the pictures"
source = "Hirota et al., Resampled datasets are not enough (2024): Ratio"
presets = { paper = { of = "Hirota et al. (2024)", source = "3.1, 3.2; which words name a woman or a man is not printed" } }

[params.texts]
relation = ["image_id", "text"]
default = "(SELECT image_id, text FROM captions WHERE origin = 'generated')"
about = "captions of images with masked persons"

[params.words]
relation = ["term", "class"]
default = "lists.gender_words"
about = "classes 'male' and 'female', terms of one word, in lower case"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer captions, or captions of fewer images, are hidden"

[[cells]]
count = "male"
of = "n"

[[cells]]
count = "n"

[[cells]]
count = "smallest"
---*/
WITH numbered AS (
  SELECT image_id, text, row_number() OVER (ORDER BY image_id, text) AS number FROM texts WHERE text IS NOT NULL
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
-- of every image: its captions of one class, and those of men
by_image AS (
  SELECT t.image_id, CAST(count(*) AS DOUBLE) AS n, CAST(count(CASE WHEN n.class = 'male' THEN 1 END) AS DOUBLE) AS male
  FROM numbered AS t
  JOIN named AS n ON n.number = t.number
  GROUP BY t.image_id
),
clusters AS (
  SELECT sum(male * male) AS squares, sum(male * n) AS products, sum(n * n) AS sizes, count(*) AS images FROM by_image
),
counts AS (
  SELECT
    count(CASE WHEN n.class = 'male' THEN 1 END) AS male,
    count(CASE WHEN n.class = 'female' THEN 1 END) AS female,
    count(n.class) AS n,
    least(
      nullif(count(DISTINCT CASE WHEN n.class = 'male' THEN t.image_id END), 0),
      nullif(count(DISTINCT CASE WHEN n.class = 'female' THEN t.image_id END), 0),
      nullif(count(DISTINCT CASE WHEN n.class IS NULL THEN t.image_id END), 0)
    ) AS smallest
  FROM numbered AS t
  LEFT JOIN named AS n ON n.number = t.number
),
sized AS (
  SELECT c.*, k.images, effective_size(c.male, c.n, k.squares, k.products, k.sizes, k.images) AS effective
  FROM counts AS c
  CROSS JOIN clusters AS k
),
shares AS (
  SELECT
    *,
    wilson_low(male * effective / nullif(n, 0), effective) AS low,
    wilson_high(male * effective / nullif(n, 0), effective) AS high
  FROM sized
),
-- odds at both ends; infinite where a share of 1 is in the interval
bounds AS (
  SELECT
    *,
    CASE WHEN female = 0 THEN CAST('Infinity' AS DOUBLE) ELSE CAST(male AS DOUBLE) / nullif(female, 0) END AS r,
    CASE WHEN male = 0 THEN 0e0 ELSE low / nullif(1 - low, 0) END AS r_low,
    CASE WHEN female = 0 THEN CAST('Infinity' AS DOUBLE) ELSE high / nullif(1 - high, 0) END AS r_high
  FROM shares
),
turned AS (
  SELECT
    *,
    CASE WHEN r_low <= 0 THEN CAST('Infinity' AS DOUBLE) ELSE 1 / nullif(r_low, 0) END AS back_high,
    CASE WHEN n = 0 THEN CAST(NULL AS DOUBLE) WHEN male >= female THEN r
      WHEN male = 0 THEN CAST('Infinity' AS DOUBLE) ELSE CAST(female AS DOUBLE) / nullif(male, 0) END AS value
  FROM bounds
)
SELECT
  value,
  CASE WHEN n > 0 THEN
    CASE WHEN r_low > 1 THEN r_low WHEN r_high < 1 THEN 1 / nullif(r_high, 0) ELSE 1e0 END
  END AS low,
  CASE WHEN n > 0 THEN
    CASE WHEN r_low > 1 THEN r_high WHEN r_high < 1 THEN back_high ELSE greatest(r_high, back_high) END
  END AS high,
  CASE WHEN n > 0 THEN r END AS r,
  male,
  female,
  n,
  images,
  CASE
    WHEN n = 0 THEN 'no caption names one gender only'
    WHEN female = 0 THEN 'no caption names women only'
    WHEN male = 0 THEN 'no caption names men only'
  END AS note,
  smallest
FROM turned

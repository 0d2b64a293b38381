-- ratio: Of captions that name only men or only women, how much more frequent is the more frequent kind?
--
-- Given captions that a model makes of images in which all persons are masked: nothing there tells a perceived gender, so a
-- model without bias would name both equally often. r = male / female, counts of captions with words of that class only (n
-- together); captions with words of both or of neither are left out. value = max(r, 1 / r), 1 at best; infinite, with a
-- note, where one class is never named. 95 % interval from Wilson's of male / n, captions taken as independent draws; it
-- begins at 1 where that of r holds 1.
--
-- A row with n under min_count is suppressed (NULL).
--
-- source: Hirota et al., Resampled datasets are not enough (2024): Ratio
-- subject: who is in the pictures
-- param texts relation = (SELECT image_id, text FROM captions WHERE origin = 'generated') : (image_id, text), captions of images with masked persons
-- param words relation = lists.gender_words : (term, class); classes 'male' and 'female', terms of one word, in lower case
-- param min_count integer = 10 : at least 0; fewer captions are suppressed
WITH numbered AS (
  SELECT text, row_number() OVER (ORDER BY image_id, text) AS number FROM texts WHERE text IS NOT NULL
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
counts AS (
  SELECT
    count(CASE WHEN class = 'male' THEN 1 END) AS male,
    count(CASE WHEN class = 'female' THEN 1 END) AS female,
    count(*) AS n
  FROM named
),
shares AS (
  SELECT
    *,
    n < $min_count AS suppressed,
    wilson_low(male, n) AS low,
    wilson_high(male, n) AS high
  FROM counts
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
  CASE WHEN NOT suppressed THEN value END AS value,
  CASE WHEN NOT suppressed AND n > 0 THEN
    CASE WHEN r_low > 1 THEN r_low WHEN r_high < 1 THEN 1 / nullif(r_high, 0) ELSE 1e0 END
  END AS low,
  CASE WHEN NOT suppressed AND n > 0 THEN
    CASE WHEN r_low > 1 THEN r_high WHEN r_high < 1 THEN back_high ELSE greatest(r_high, back_high) END
  END AS high,
  CASE WHEN NOT suppressed AND n > 0 THEN r END AS r,
  CASE WHEN NOT suppressed THEN male END AS male,
  CASE WHEN NOT suppressed THEN female END AS female,
  CASE WHEN NOT suppressed THEN n END AS n,
  CASE
    WHEN suppressed THEN 'fewer than min_count captions name one gender only'
    WHEN n = 0 THEN 'no caption names one gender only'
    WHEN female = 0 THEN 'no caption names women only'
    WHEN male = 0 THEN 'no caption names men only'
  END AS note,
  suppressed
FROM turned

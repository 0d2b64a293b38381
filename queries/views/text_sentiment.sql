-- text_sentiment: How negative the texts of images are, by group (VADER): what the audit sentiment shows.
--
-- Columns, and what is suppressed, as in the audit sentiment.
--
-- source: Girrbach et al. (2025), sentiment of alt-texts, with rules := 'nltk'; Hutto and Gilbert (2014)
-- param groups relation = caption_gender : group relation (image_id, label)
-- param texts relation = captions : (image_id, text)
-- param rules varchar = 'vader' : one of 'vader', 'nltk'; results of the vaderSentiment package or of NLTK's port
-- param min_count integer = 10 : at least 0; rows that rest on fewer texts are suppressed
-- local: calls vader()
WITH scores AS (
  -- the score has four decimals: as an integer, sums are exact
  SELECT image_id, CAST(round(vader(text, rules := $rules) * 10000) AS BIGINT) AS score
  FROM texts
  WHERE text IS NOT NULL
),
members AS (
  SELECT image_id, label FROM clear_labels(groups)
),
sums AS (
  SELECT
    g.label,
    count(*) AS texts,
    count(CASE WHEN s.score <> 0 THEN 1 END) AS n,
    count(CASE WHEN s.score < 0 THEN 1 END) AS negative,
    CAST(sum(s.score) AS DECIMAL(38, 0)) AS total,
    CAST(sum(s.score * s.score) AS DECIMAL(38, 0)) AS squares
  FROM members AS g
  JOIN scores AS s ON s.image_id = g.image_id
  GROUP BY g.label
),
cells AS (
  SELECT
    z.label,
    z.used AND coalesce(s.n, 0) >= greatest($min_count, 1) AS shown,
    s.texts,
    s.n,
    s.negative,
    CAST(s.total AS DOUBLE) / nullif(s.n, 0) / 10000 AS mean,
    -- the sum of squared deviations, times n, is an integer
    sqrt(CAST(s.n * s.squares - s.total * s.total AS DOUBLE) / nullif(s.n, 0) / nullif(s.n - 1, 0) / s.n)
    / 10000 AS standard_error
  FROM group_sizes(groups, $min_count) AS z
  LEFT JOIN sums AS s ON s.label = z.label
  WHERE z.clear
)
SELECT
  label,
  CASE WHEN shown THEN texts END AS texts,
  CASE WHEN shown THEN n END AS n,
  CASE WHEN shown THEN negative END AS negative,
  CASE WHEN shown THEN CAST(negative AS DOUBLE) / n END AS negative_ratio,
  CASE WHEN shown THEN wilson_low(negative, n) END AS negative_low,
  CASE WHEN shown THEN wilson_high(negative, n) END AS negative_high,
  CASE WHEN shown THEN mean END AS mean,
  CASE WHEN shown THEN mean - 1.959963984540054e0 * standard_error END AS mean_low,
  CASE WHEN shown THEN mean + 1.959963984540054e0 * standard_error END AS mean_high,
  NOT shown AS suppressed
FROM cells

/*--- toml
answers = "How negative the texts of images are, by group (VADER): what the audit sentiment shows."
details = """
Columns as in the audit sentiment, which hides small counts. Labels that group_sizes hides take no part: their rows are
suppressed.
"""
source = "Girrbach et al. (2025), sentiment of alt-texts, with rules := 'nltk'; Hutto and Gilbert (2014)"
local = "calls vader()"

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
about = "results of the vaderSentiment package or of NLTK's port"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels of fewer images, as group_sizes says, take no part"
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
    z.used,
    CASE WHEN z.used THEN coalesce(s.texts, 0) END AS texts,
    CASE WHEN z.used THEN coalesce(s.n, 0) END AS n,
    CASE WHEN z.used THEN coalesce(s.negative, 0) END AS negative,
    CASE WHEN z.used THEN CAST(s.total AS DOUBLE) / nullif(s.n, 0) / 10000 END AS mean,
    -- the sum of squared deviations, times n, is an integer
    CASE
      WHEN z.used
        THEN sqrt(
          CAST(s.n * s.squares - s.total * s.total AS DOUBLE) / nullif(s.n, 0) / nullif(s.n - 1, 0) / nullif(s.n, 0)
        ) / 10000
    END AS standard_error
  FROM group_sizes(groups, $min_count) AS z
  LEFT JOIN sums AS s ON s.label = z.label
  WHERE z.clear
)
SELECT
  label,
  texts,
  n,
  negative,
  CAST(negative AS DOUBLE) / nullif(n, 0) AS negative_ratio,
  CASE WHEN n > 0 THEN wilson_low(negative, n) END AS negative_low,
  CASE WHEN n > 0 THEN wilson_high(negative, n) END AS negative_high,
  mean,
  mean - half_interval(standard_error) AS mean_low,
  mean + half_interval(standard_error) AS mean_high,
  NOT used AS suppressed
FROM cells

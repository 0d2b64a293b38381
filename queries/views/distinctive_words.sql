/*--- toml
answers = "The words that mark each part of some texts against all other parts: log-odds with an informative prior."
details = """
Every part is given prior words, spread as in all texts, before words are counted: this draws the log-odds of rare words
towards 0. log_odds: the logarithm of the odds of the word in the part over its odds in the other parts; low and high:
its 95 % interval; z = log_odds / standard error, by which words are ranked. count of the n words of the part are this
one, rest of the rest_n words of the others. Words are runs of letters, digits and underscores in lower case.

Only words that stand at least min_count times in the part and are more frequent there than elsewhere. For the words of
perceived groups see keyword_profile, which counts images and hides small counts.
"""
source = "Monroe, Colaresi and Quinn, Fightin' Words (2008), section 3.5.1: the informative Dirichlet prior"

[params.texts]
relation = ["part", "text"]

[params.without]
relation = ["term"]
default = "lists.stop_words"
about = "words to leave out, as if they stood nowhere"

[params.prior]
type = "double"
default = 500
above = 0
about = "words of the prior; the more, the less rare words count"

[params.top]
type = "integer"
default = 20
min = 1
about = "words per part"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rarer words of a part are left out"
---*/
WITH words AS (
  SELECT part, unnest(regexp_extract_all(lower(text), '[\p{L}\p{N}_]+')) AS word FROM texts WHERE part IS NOT NULL
),
counts AS (
  SELECT w.part, w.word, count(*) AS count
  FROM words AS w
  LEFT JOIN (SELECT DISTINCT term FROM without) AS o ON o.term = w.word
  WHERE o.term IS NULL
  GROUP BY w.part, w.word
),
totals AS (
  SELECT
    part,
    word,
    count,
    CAST(sum(count) OVER (PARTITION BY part) AS BIGINT) AS n,
    CAST(sum(count) OVER (PARTITION BY word) AS BIGINT) AS word_n,
    CAST(sum(count) OVER () AS BIGINT) AS all_n
  FROM counts
),
smoothed AS (
  SELECT
    part,
    word,
    count,
    n,
    word_n - count AS rest,
    all_n - n AS rest_n,
    count + CAST($prior AS DOUBLE) * word_n / all_n AS own,
    word_n - count + CAST($prior AS DOUBLE) * word_n / all_n AS other,
    n - count + CAST($prior AS DOUBLE) * (all_n - word_n) / all_n AS own_not,
    all_n - n - word_n + count + CAST($prior AS DOUBLE) * (all_n - word_n) / all_n AS other_not
  FROM totals
),
odds AS (
  SELECT
    part,
    word,
    count,
    n,
    rest,
    rest_n,
    ln(own / own_not) - ln(other / other_not) AS log_odds,
    sqrt(1e0 / own + 1e0 / other) AS error
  FROM smoothed
  WHERE own_not > 0 AND other > 0 AND other_not > 0 AND rest_n > 0
),
placed AS (
  SELECT *, row_number() OVER (PARTITION BY part ORDER BY log_odds / error DESC, count DESC, word) AS place
  FROM odds
  WHERE count >= $min_count AND log_odds > 0
)
SELECT
  part,
  CAST(place AS INTEGER) AS place,
  word,
  count,
  n,
  rest,
  rest_n,
  log_odds,
  log_odds - half_interval(error) AS low,
  log_odds + half_interval(error) AS high,
  log_odds / error AS z
FROM placed
WHERE place <= $top
ORDER BY part, place

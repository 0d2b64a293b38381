/*--- toml
answers = "Which subjects were altered into which others in pairs of an original and a counterfactual text."
details = """
count of the n pairs whose texts differ in one word, its share and Wilson's 95 % interval: of pairs of words (by
'pair'), or of what was taken out (by 'original') or put in (by 'counterfactual'), the other column being NULL. With
fold 'plural' a word and its plural in -s are one, shown in the form that is most frequent. unaltered counts the pairs
that differ in no word, in several, or in length. Words for people are perceived labels of what is depicted.

Small counts are left out by the engine, and what would tell one (docs/safety.md): also the pairs of a word that is left out by
'original' or by 'counterfactual', of which original_n and counterfactual_n pairs have the word; n_suppressed counts
them. Where few pairs are unaltered, neither that nor n is shown, nor a share of it. For the published pairs, as ingested:
pairs := (SELECT pair AS pair_id, original, counterfactual FROM caption_pairs()).
"""
subject = "contrast sets"
source = """
Le et al., COCO-Counterfactuals (2023), 3.1: one noun is altered. They count alterations among errors alone (Table 10, see
subject_errors), so that there is no preset; the authors' code folds words by Porter's stemmer and takes the first word that the
other caption lacks, see altered_words. What folds here is our definition"""

[params.pairs]
relation = ["pair_id", "original", "counterfactual"]
about = "keys and two versions of a text"

[params.by]
type = "varchar"
default = "pair"
choices = ["pair", "original", "counterfactual"]
about = "what is counted"

[params.fold]
type = "varchar"
default = "plural"
choices = ["plural", "none"]
grid = []
about = "whether a word and its plural in -s are one"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are left out"

[[cells]]
count = "count"
of = "n"
by = ["original", "counterfactual"]
joint = true
omit = true

[[cells]]
count = "count"
of = "original_n"
by = ["counterfactual"]
within = ["original"]
omit = true
whole = ["original_n"]

[[cells]]
count = "count"
of = "counterfactual_n"
by = ["original"]
within = ["counterfactual"]
omit = true
whole = ["counterfactual_n"]

[[cells]]
count = "unaltered"
measures = ["n", "share", "low", "high"]
---*/
WITH altered AS (
  SELECT pair_id, original, counterfactual
  FROM altered_words(pairs)
  WHERE $by IN ('pair', 'original', 'counterfactual') AND $fold IN ('plural', 'none')
),
-- final -s falls away, -ies becomes -y; not of -ss, -us, -is
folded AS (
  SELECT
    *,
    CASE
      WHEN $fold = 'none' OR length(original) <= 3 THEN original
      WHEN original LIKE '%ies' THEN concat(left(original, length(original) - 3), 'y')
      WHEN original LIKE '%sses' THEN left(original, length(original) - 2)
      WHEN original LIKE '%ss' OR original LIKE '%us' OR original LIKE '%is' THEN original
      WHEN original LIKE '%s' THEN left(original, length(original) - 1)
      ELSE original
    END AS original_key,
    CASE
      WHEN $fold = 'none' OR length(counterfactual) <= 3 THEN counterfactual
      WHEN counterfactual LIKE '%ies' THEN concat(left(counterfactual, length(counterfactual) - 3), 'y')
      WHEN counterfactual LIKE '%sses' THEN left(counterfactual, length(counterfactual) - 2)
      WHEN counterfactual LIKE '%ss' OR counterfactual LIKE '%us' OR counterfactual LIKE '%is' THEN counterfactual
      WHEN counterfactual LIKE '%s' THEN left(counterfactual, length(counterfactual) - 1)
      ELSE counterfactual
    END AS counterfactual_key
  FROM altered
),
-- the most frequent form of a word, in either column
forms AS (
  SELECT word_key, word, row_number() OVER (PARTITION BY word_key ORDER BY count(*) DESC, word) AS place
  FROM (
    SELECT original_key AS word_key, original AS word FROM folded WHERE $by <> 'counterfactual'
    UNION ALL
    SELECT counterfactual_key AS word_key, counterfactual AS word FROM folded WHERE $by <> 'original'
  ) AS w
  GROUP BY word_key, word
),
wholes AS (
  SELECT a.n, p.pairs - a.n AS unaltered
  FROM (SELECT count(*) AS n FROM folded) AS a
  CROSS JOIN (SELECT count(DISTINCT pair_id) AS pairs FROM pairs) AS p
),
-- how many pairs each word has on either side; few unaltered ones follow from all words of a side
words AS (
  SELECT 'original' AS side, original_key AS word_key, count(*) AS count FROM folded GROUP BY original_key
  UNION ALL
  SELECT 'counterfactual' AS side, counterfactual_key AS word_key, count(*) AS count FROM folded GROUP BY counterfactual_key
  UNION ALL
  SELECT s.side, '' AS word_key, w.unaltered AS count
  FROM (VALUES ('original'), ('counterfactual')) AS s(side)
  CROSS JOIN wholes AS w
  WHERE w.unaltered > 0 AND w.unaltered < $min_count
),
-- what rows by one side hide is hidden in all, as group_sizes does it: small counts, and further ones, small ones first.
-- Each side by itself: as cells of one table, a word that only the other side hides would shelter a small one
sides AS (
  SELECT
    side,
    word_key,
    count,
    min(count) OVER (PARTITION BY side) < $min_count AND (count < $min_count OR before < $min_count) AS suppressed
  FROM (
    SELECT
      *,
      sum(count) OVER (PARTITION BY side ORDER BY count, word_key ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) - count
        AS before
    FROM words
  ) AS w
),
counts AS (
  SELECT original_key, counterfactual_key, count(*) AS count
  FROM (
    SELECT
      CASE WHEN $by <> 'counterfactual' THEN original_key END AS original_key,
      CASE WHEN $by <> 'original' THEN counterfactual_key END AS counterfactual_key
    FROM folded
  ) AS f
  GROUP BY original_key, counterfactual_key
)
SELECT
  o.word AS original,
  c.word AS counterfactual,
  b.count,
  w.n,
  a.count AS original_n,
  z.count AS counterfactual_n,
  CAST(b.count AS DOUBLE) / w.n AS share,
  wilson_low(b.count, w.n) AS low,
  wilson_high(b.count, w.n) AS high,
  w.unaltered,
  coalesce(a.suppressed, false) OR coalesce(z.suppressed, false) AS suppressed,
  CAST(0 AS BIGINT) AS n_suppressed
FROM counts AS b
CROSS JOIN wholes AS w
LEFT JOIN sides AS a ON a.side = 'original' AND a.word_key = b.original_key
LEFT JOIN sides AS z ON z.side = 'counterfactual' AND z.word_key = b.counterfactual_key
LEFT JOIN forms AS o ON o.word_key = b.original_key AND o.place = 1
LEFT JOIN forms AS c ON c.word_key = b.counterfactual_key AND c.place = 1
ORDER BY b.count DESC, original, counterfactual

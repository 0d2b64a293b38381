/*--- toml
answers = "The words that are most over-represented in the texts of each perceived group."
details = """
For every clear label the words that surely go with it most, by G2 of the table of label and word. log_odds: the logarithm
of the odds that an image of the label has the word over the odds that an image of another clear label has it, half an
image added to each of the four counts; low and high its 95 % interval. count of the n images of the label have the
word, rest_n are those of the other labels. p is that of G2 (chi-square, one degree of freedom), q by Benjamini and
Hochberg over all pairs of a label and a word of min_count images, with those that are hidden as p = 1. It says how
texts are written, not what people are; labels are perceived, or those of words in captions.

Where fewer than min_count images of another label have the word, that label is taken to have min_count of them
(rest_floor is true): a few images make no odds, and a word never looks more typical than it is. lacks: the images of the
label without the word, where at least min_count have it. n_keyword: the images with the word, whatever their label; but
fewer than ten without a clear one are not in it, unless a clear one has as few, or is hidden with all its words. Words of small counts are left out by the
engine, also where the images of a label without the word are few, and with them what would tell their counts (docs/safety.md), such
as the same word of another label; n_suppressed counts pairs of a label and a word.
"""
subject = "what goes with whom"
source = """
Haldane (1956), half an image; Fagerland and Newcombe, Confidence intervals for odds ratio and relative risk based on the
inverse hyperbolic sine transformation (2013); Dunning (1993), G2; compare Monroe et al., Fightin' Words (2008)"""

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.concepts]
relation = ["image_id", "concept"]
default = "word_concepts"
about = "see cooccurrence for others"

[params.without]
relation = ["term"]
default = "(SELECT '' AS term)"
about = "words to leave out, such as lists.gender_words"

[params.top]
type = "integer"
default = 20
min = 1
free = true
about = "words per label"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "words of fewer images are left out"

[[cells]]
count = "count"
of = "n"
by = ["keyword"]
within = ["label"]
overlap = true
omit = true
places = ["place", "top"]

[[cells]]
count = "count"
of = "n_keyword"
by = ["label"]
within = ["keyword"]
measures = ["log_odds", "low", "high"]
omit = true

[[cells]]
count = "lacks"
by = ["label"]
within = ["keyword"]
measures = ["log_odds", "low", "high", "p", "q"]
tests = ["p", "q"]
omit = true
---*/
SELECT
  label,
  CAST(row_number() OVER (
    PARTITION BY label ORDER BY CASE WHEN log_odds > 0 THEN g2 ELSE -g2 END DESC, count DESC, keyword
  ) AS INTEGER) AS place,
  keyword,
  count,
  n,
  lacks,
  n_keyword,
  rest_n,
  rest_floor,
  log_odds,
  low,
  high,
  p,
  q
FROM false_discovery((
  WITH members AS (
    SELECT DISTINCT g.image_id, g.label
    FROM groups AS g
    JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label AND s.used
    WHERE g.image_id IS NOT NULL
  ),
  labels_n AS (
    SELECT label, count(*) AS n, CAST(sum(count(*)) OVER () AS BIGINT) AS all_n, count(*) OVER () AS labels
    FROM members
    GROUP BY label
  ),
  found AS (
    SELECT DISTINCT c.image_id, c.concept
    FROM concepts AS c
    LEFT JOIN without AS w ON w.term = c.concept
    WHERE c.concept IS NOT NULL AND w.term IS NULL
  ),
  counts AS (
    SELECT m.label, f.concept, count(*) AS count
    FROM members AS m
    JOIN found AS f ON f.image_id = m.image_id
    GROUP BY m.label, f.concept
  ),
  wholes AS (
    SELECT f.concept, count(*) AS images
    FROM (SELECT DISTINCT image_id FROM groups WHERE label IS NOT NULL) AS g
    JOIN found AS f ON f.image_id = g.image_id
    GROUP BY f.concept
  ),
  cells AS (
    SELECT
      c.label,
      c.concept,
      c.count,
      l.n,
      l.all_n - l.n AS rest_n,
      -- the other labels' images with the word, each label's taken as min_count at least, also where it has none
      CAST(sum(greatest(c.count, $min_count)) OVER (PARTITION BY c.concept) AS BIGINT) - greatest(c.count, $min_count)
      + $min_count * (l.labels - count(*) OVER (PARTITION BY c.concept)) AS rest,
      count(CASE WHEN c.count >= $min_count THEN 1 END) OVER (PARTITION BY c.concept) < l.labels AS rest_floor,
      -- what a rest tells of a label: nothing where it is taken as min_count
      CASE WHEN c.count >= $min_count THEN l.n - c.count END AS lacks,
      w.images,
      CAST(sum(c.count) OVER (PARTITION BY c.concept) AS BIGINT) AS clear,
      min(c.count) OVER (PARTITION BY c.concept) AS fewest,
      (SELECT coalesce(bool_or(clear AND NOT used), false) FROM group_sizes(groups, $min_count)) AS hides
    FROM counts AS c
    JOIN labels_n AS l ON l.label = c.label
    JOIN wholes AS w ON w.concept = c.concept
  ),
  tested AS (
    SELECT
      *,
      log_likelihood_ratio(count, n, count + rest, n + rest_n) AS g2,
      ln((count + 0.5e0) / (n - count + 0.5e0)) - ln((rest + 0.5e0) / (rest_n - rest + 0.5e0)) AS log_odds,
      2 * asinh(half_interval(sqrt(
        1 / (count + 0.25e0) + 1 / (n - count + 0.25e0) + 1 / (rest + 0.25e0) + 1 / (rest_n - rest + 0.25e0)
      )) / 2) AS half
    FROM cells
    WHERE rest_n > 0
  )
  SELECT
    label,
    concept AS keyword,
    count,
    n,
    lacks,
    CASE
      WHEN NOT hides AND images > clear AND images - clear < least($min_count, 10) AND fewest >= least($min_count, 10)
        THEN clear
      ELSE images
    END AS n_keyword,
    rest_n,
    rest_floor,
    log_odds,
    log_odds - half AS low,
    log_odds + half AS high,
    g2,
    CASE WHEN count >= $min_count THEN two_sided_p(g2) END AS p
  FROM tested
))
ORDER BY label, place

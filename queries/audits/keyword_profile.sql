/*--- toml
answers = "The words that are most over-represented in the texts of each perceived group."
details = """
For every clear label the top words by the lower end of the 95 % interval of log_odds: the logarithm of the odds that an
image of the label has the word over the odds that an image of another clear label has it, half an image added to each
of the four counts. count of the n images of the label have the word, rest_n are those of the other labels. It says
how texts are written, not what people are; labels are perceived, or those of words in captions.

Words with a count under min_count are left out, and those that fewer than min_count images of a label lack;
n_suppressed counts them, a label each. Where fewer than min_count images of another label have the word, that label is taken to have min_count of them (rest_floor is true): this tells no
small count, and never makes a word look more typical than it is.
"""
subject = "what goes with whom"
source = "log-odds with Haldane and Anscombe's correction; compare Monroe et al., Fightin' Words (2008)"

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
about = "words a label"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "words of fewer images are left out"

[[cells]]
count = "count"
of = "n"
omit = true
---*/
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
counts AS (
  SELECT m.label, c.concept, count(*) AS count
  FROM members AS m
  JOIN (SELECT DISTINCT image_id, concept FROM concepts WHERE concept IS NOT NULL) AS c ON c.image_id = m.image_id
  LEFT JOIN without AS w ON w.term = c.concept
  WHERE w.term IS NULL
  GROUP BY m.label, c.concept
),
drawn AS (
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
    c.count < $min_count
    OR max(CASE WHEN l.n > c.count AND l.n - c.count < $min_count THEN 1 ELSE 0 END) OVER (PARTITION BY c.concept) = 1
    AS is_small
  FROM counts AS c
  JOIN labels_n AS l ON l.label = c.label
),
-- where every image has one concept, what is left out would follow from the images of a label: one more word is left out
short AS (
  SELECT max(CASE WHEN n > told AND n - told < $min_count THEN 1 ELSE 0 END) AS short
  FROM (
    SELECT label, max(n) AS n, sum(CASE WHEN is_small THEN 0 ELSE count END) AS told FROM drawn GROUP BY label
  ) AS s
),
spare AS (
  SELECT concept, row_number() OVER (ORDER BY count(*) DESC, sum(count), concept) AS place
  FROM drawn
  WHERE NOT is_small
  GROUP BY concept
),
cells AS (
  SELECT d.*, d.is_small OR p.concept IS NOT NULL AS left_out
  FROM drawn AS d
  CROSS JOIN short AS s
  LEFT JOIN spare AS p ON p.concept = d.concept AND p.place = 1 AND s.short = 1
),
odds AS (
  SELECT
    c.*,
    s.n_suppressed,
    ln((count + 0.5e0) / (n - count + 0.5e0)) - ln((rest + 0.5e0) / (rest_n - rest + 0.5e0)) AS log_odds,
    1.959963984540054e0 * sqrt(
      1 / (count + 0.5e0) + 1 / (n - count + 0.5e0) + 1 / (rest + 0.5e0) + 1 / (rest_n - rest + 0.5e0)
    ) AS half
  FROM cells AS c
  JOIN (
    SELECT label, CAST(sum(CASE WHEN left_out THEN 1 ELSE 0 END) AS BIGINT) AS n_suppressed FROM cells GROUP BY label
  ) AS s ON s.label = c.label
  WHERE NOT left_out AND rest_n > 0
),
placed AS (
  SELECT *, row_number() OVER (PARTITION BY label ORDER BY log_odds - half DESC, count DESC, concept) AS place FROM odds
)
SELECT
  label,
  CAST(place AS INTEGER) AS place,
  concept AS keyword,
  count,
  n,
  rest_n,
  rest_floor,
  log_odds,
  log_odds - half AS low,
  log_odds + half AS high,
  n_suppressed
FROM placed
WHERE place <= $top
ORDER BY label, place

/*--- toml
answers = "Which concepts go with which perceived label: PMI and NPMI with counts, intervals and q-values."
details = """
pmi = ln(P(i, t) / (P(i) P(t))) for label i and concept t over n images; npmi = pmi / -ln P(i, t), NULL where P(i, t) is
1; of a pair that never meets they are -infinity and -1. Beside them: count of the images that have both, those of the
label and of the concept, the count expected by chance, a 95 % interval of pmi (low and high, by ratio_low and ratio_high), G2 of
the two-by-two table with its p-value (chi-square, one degree of freedom) and the q-value of Benjamini and Hochberg over
all pairs that meet, of a clear label and a concept with at least min_count images; pairs that are left out count with
p = 1. Association in a dataset, not cause; labels are perceived, or those of words in captions.

concepts: category_concepts (detections), word_concepts (words), term_concepts(lists.crime_words) (a list of terms),
label_concepts('topic') (labels), or any (image_id, concept). For captions instead of images give relations whose
image_id is the caption's id: groups := (SELECT caption_id AS image_id, label FROM caption_labels), concepts :=
word_concepts((SELECT caption_id AS image_id, text FROM captions)), and sources := (SELECT caption_id AS image_id, image_id
AS source_id FROM captions). Captions of one image are much alike: count of the n captions are of that many images, and the
interval, G2 and p are those of as many independent captions as would tell as much (design_effects).

Pairs of small counts are left out by the engine, also where the images of a label without the concept are few, and
with them what would tell their counts (docs/safety.md); n_suppressed counts the pairs left out. Rows are of clear labels only.
"""
subject = "what goes with whom"
source = """
Church and Hanks (1990); Aka et al., Measuring Model Biases in the Absence of Ground Truth (2021); Dunning (1993)"""

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.concepts]
relation = ["image_id", "concept"]
default = "category_concepts"
about = "what is in the images: objects, or words by word_concepts"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM groups WHERE 1 = 0)"
grid = []
about = "of units that are not images, such as captions: the image of each"

[params.population]
type = "varchar"
default = "all"
choices = ["all", "labelled"]
grid = ["all", "labelled"]
about = "probabilities over all images of groups or clear labels only"

[params.smoothing]
type = "double"
default = 0
min = 0
free = true
about = "added to each of the four counts of a pair before pmi, npmi and their interval"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "pairs with fewer images are left out"

[[cells]]
count = "count"
of = "n_concept"
out_of = "n_label"
by = ["label"]
within = ["concept"]
tests = ["p", "q"]
omit = true

[[cells]]
count = "images"
within = ["label", "concept"]
omit = true

[[cells]]
count = "count"
of = "n_label"
by = ["concept"]
within = ["label"]
overlap = true
omit = true

[[cells]]
count = "n_label"
of = "n"
by = ["label"]
overlap = true
omit = true
---*/
SELECT
  label,
  concept,
  count,
  images,
  n,
  n_label,
  n_concept,
  expected,
  pmi,
  low,
  high,
  npmi,
  g2,
  p,
  q,
  n_suppressed
FROM false_discovery((
  WITH sizes AS (
    SELECT label, used AS shown FROM group_sizes(groups, $min_count)
  ),
  members AS (
    SELECT DISTINCT g.image_id, g.label
    FROM groups AS g
    JOIN sizes AS s ON s.label = g.label
    WHERE g.image_id IS NOT NULL AND ($population = 'all' OR ($population = 'labelled' AND s.shown))
  ),
  images AS (
    SELECT DISTINCT image_id FROM members
  ),
  total AS (
    SELECT count(*) AS n FROM images
  ),
  found AS (
    SELECT DISTINCT c.image_id, c.concept
    FROM concepts AS c
    JOIN images AS i ON i.image_id = c.image_id
    WHERE c.concept IS NOT NULL
  ),
  labels_n AS (
    SELECT m.label, s.shown, count(*) AS n_label
    FROM members AS m
    JOIN sizes AS s ON s.label = m.label
    GROUP BY m.label, s.shown
  ),
  concepts_n AS (
    SELECT concept, count(*) AS n_concept FROM found GROUP BY concept
  ),
  pairs_n AS (
    SELECT m.label, f.concept, count(*) AS count
    FROM members AS m
    JOIN found AS f ON f.image_id = m.image_id
    GROUP BY m.label, f.concept
  ),
  cells AS (
    SELECT
      l.label,
      c.concept,
      coalesce(p.count, 0) AS count,
      l.n_label,
      c.n_concept,
      t.n
    FROM labels_n AS l
    CROSS JOIN concepts_n AS c
    CROSS JOIN total AS t
    LEFT JOIN pairs_n AS p ON p.label = l.label AND p.concept = c.concept
    WHERE l.shown AND c.n_concept >= $min_count
  ),
  -- log-likelihood ratio of observed against expected counts in the four cells of the table of a pair
  tested AS (
    SELECT
      c.*,
      c.count - coalesce(d.met, 0) + coalesce(d.sources, 0) AS images,
      coalesce(d.effect, 1e0) AS effect,
      CAST(c.n_label AS DOUBLE) * c.n_concept / c.n AS expected,
      log_likelihood_ratio(c.count, c.n_label, c.n_concept, c.n) / coalesce(d.effect, 1e0) AS g2
    FROM cells AS c
    LEFT JOIN design_effects(
      (
        SELECT g.image_id, g.label
        FROM groups AS g
        JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label
        WHERE $population = 'all' OR ($population = 'labelled' AND s.used)
      ),
      concepts,
      sources
    ) AS d ON d.label = c.label AND d.concept = c.concept
  ),
  judged AS (
    SELECT *, two_sided_p(g2) AS p FROM tested WHERE count > 0 OR $min_count = 0
  ),
  smoothed AS (
    SELECT
      *,
      (count + CAST($smoothing AS DOUBLE)) / effect AS both_s,
      (n_label + 2 * CAST($smoothing AS DOUBLE)) / effect AS label_s,
      (n_concept + 2 * CAST($smoothing AS DOUBLE)) / effect AS concept_s,
      (n + 4 * CAST($smoothing AS DOUBLE)) / effect AS n_s
    FROM judged
  ),
  measured AS (
    SELECT
      *,
      CASE WHEN both_s > 0 THEN ln(both_s * n_s / label_s / concept_s) ELSE CAST('-Infinity' AS DOUBLE) END AS pmi,
      CASE WHEN both_s > 0 THEN -ln(both_s / n_s) END AS surprise,
      ratio_low(both_s, concept_s, label_s, n_s) AS ratio_low,
      ratio_high(both_s, concept_s, label_s, n_s) AS ratio_high
    FROM smoothed
  ),
  pairs_found AS (
    SELECT count(*) AS pairs FROM pairs_n AS p JOIN sizes AS s ON s.label = p.label AND s.shown
  )
  SELECT
    m.label,
    m.concept,
    m.count,
    m.images,
    m.n,
    m.n_label,
    m.n_concept,
    m.expected,
    m.pmi,
    CASE WHEN m.ratio_low > 0 THEN ln(m.ratio_low) ELSE CAST('-Infinity' AS DOUBLE) END AS low,
    ln(m.ratio_high) AS high,
    CASE WHEN m.both_s > 0 THEN m.pmi / nullif(m.surprise, 0) ELSE -1e0 END AS npmi,
    m.g2,
    m.p,
    f.pairs - count(CASE WHEN m.count > 0 THEN 1 END) OVER () AS n_suppressed
  FROM measured AS m
  CROSS JOIN pairs_found AS f
))
ORDER BY label, pmi DESC, concept

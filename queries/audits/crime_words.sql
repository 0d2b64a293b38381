/*--- toml
answers = "Over- and under-representation of perceived groups among images whose text holds a crime word."
details = """
delta = share of a label among the labelled images whose text matches / its share among all labelled images - 1, with a
95 % interval; 'mixed' and 'unclear' images are left out of both. Rows of three levels: 'pooled' (any of the words),
'class' (any word of the class), 'term'. A delta says what the texts of a dataset say, nothing about people: labels are
perceived, or those of words in captions. See over_representation for the columns; q is p by Benjamini and Hochberg over
all rows, with those that are hidden as p = 1. Small counts, and what would give them away, are hidden by the engine;
see docs/safety.md.

Texts are matched by lemma: in lower case, function words left out; a term of several words when all its lemmas occur.
Terms that match no labelled image have no row.
"""
subject = "what goes with whom"
source = "Girrbach et al. (2025), crime words (the text says 63 words, its Table 2 has 71)"
presets = { paper = "Girrbach et al. (2025)" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; the default needs captions only. The paper's labels are perceived ones, which presets leave to you: image_labels('perceived_gender', preset := 'paper')"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "what is searched"

[params.terms]
relation = ["term", "class"]
default = "lists.crime_words"
presets = { paper = { value = "lists.crime_words", source = "Table 2" } }
about = "words that count, each with its class"

[params.unit]
type = "varchar"
default = "image"
choices = ["image", "person"]
presets = { paper = { value = "image", source = "section 4.2" } }
about = "for 'person' give groups a row per person, as person_labels does (of perceived labels with a purpose)"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count"
of = "n"
out_of = "base_count"
by = ["label"]
totals = ["class", "term"]
measures = ["n", "share", "share_low", "share_high", "base_share", "base_count", "base_n", "delta", "delta_low", "delta_high", "p", "q", "images", "base_images"]
tests = ["p", "q"]

[[cells]]
count = "images"
out_of = "base_images"
by = ["label"]
totals = ["class", "term"]
measures = ["count", "n", "share", "share_low", "share_high", "base_share", "base_count", "base_n", "delta", "delta_low", "delta_high", "p", "q", "base_images"]
---*/
SELECT
  level,
  class,
  term,
  label,
  count,
  n,
  share,
  share_low,
  share_high,
  base_share,
  base_count,
  base_n,
  delta,
  delta_low,
  delta_high,
  p,
  q,
  images,
  base_images,
  suppressed
FROM false_discovery((
  SELECT
    CASE WHEN o.concept = 'any' THEN 'pooled' WHEN o.concept LIKE 'class %' THEN 'class' ELSE 'term' END AS level,
    CASE WHEN o.concept LIKE 'class %' THEN substr(o.concept, 7) ELSE t.class END AS class,
    CASE WHEN o.concept LIKE 'term %' THEN substr(o.concept, 6) END AS term,
    o.*
  FROM over_representation(
    groups,
    (
      SELECT image_id, 'any' AS concept FROM term_concepts(terms, texts)
      UNION ALL
      SELECT m.image_id, concat('class ', t.class) AS concept
      FROM term_concepts(terms, texts) AS m
      JOIN terms AS t ON t.term = m.concept
      WHERE t.class IS NOT NULL
      UNION ALL
      SELECT image_id, concat('term ', concept) AS concept FROM term_concepts(terms, texts)
    ),
    $unit,
    $min_count
  ) AS o
  LEFT JOIN (
    SELECT DISTINCT term, class
    FROM (SELECT term, class, count(class) OVER (PARTITION BY term) AS classes FROM terms) AS c
    WHERE class IS NOT NULL OR classes = 0
  ) AS t ON concat('term ', t.term) = o.concept
))
ORDER BY term IS NOT NULL, class IS NULL, class, term, label

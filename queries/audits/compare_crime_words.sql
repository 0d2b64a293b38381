/*--- toml
answers = "Over- and under-representation of perceived groups among texts with a crime word, in two datasets."
details = """
value is delta of the audit crime_words: share among the images whose text matches / share in the baseline - 1; item is
'any' or a class of words. difference (first minus second) with a 95 % interval made of those of both deltas, z test of
the logarithms of the two ratios with p and q (Benjamini and Hochberg). base_count_a and base_count_b
are all images of the label, images_a of base_images_a those of images where persons are counted. Small counts of either dataset, and what would give them away, are hidden by the engine; see
docs/safety.md. A delta says what texts of a dataset say, nothing about people: labels are perceived, or those of words in captions.
"""
subject = "two datasets"
source = """
crime words as in Girrbach et al. (2025), 4.2; two datasets beside each other, CC12M and LAION-400M, they compare by demographics alone
(G.4): that is ours, and tests are as in compared"""
presets = { paper = "Girrbach et al. (2025), 4.2, of either dataset" }

[params.groups]
relation = ["image_id", "label"]
side = "a"
default = "caption_gender"
about = "group relation of the first dataset"

[params.others]
relation = ["image_id", "label"]
side = "b"
about = "group relation of the second one, such as b.caption_gender"

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "of the first dataset"

[params.other_texts]
relation = ["image_id", "text"]
about = "of the second one, such as b.captions"

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
count = "count_a"
side = "a"
of = "n_a"
out_of = "base_count_a"
by = ["label"]
totals = ["class"]
measures = ["value_a", "value_b", "difference", "low", "high", "n_a", "n_b", "count_a", "count_b", "base_count_a", "base_count_b", "statistic", "df", "p", "q", "images_a", "base_images_a", "images_b", "base_images_b"]
tests = ["p", "q"]

[[cells]]
count = "count_b"
side = "b"
of = "n_b"
out_of = "base_count_b"
by = ["label"]
totals = ["class"]
measures = ["value_a", "value_b", "difference", "low", "high", "n_a", "n_b", "count_a", "count_b", "base_count_a", "base_count_b", "statistic", "df", "p", "q", "images_a", "base_images_a", "images_b", "base_images_b"]

[[cells]]
count = "images_a"
side = "a"
out_of = "base_images_a"
by = ["label"]
totals = ["class"]
measures = ["value_a", "value_b", "difference", "low", "high", "n_a", "n_b", "count_a", "count_b", "base_count_a", "base_count_b", "statistic", "df", "p", "q", "images_a", "base_images_a", "images_b", "base_images_b"]

[[cells]]
count = "images_b"
side = "b"
out_of = "base_images_b"
by = ["label"]
totals = ["class"]
measures = ["value_a", "value_b", "difference", "low", "high", "n_a", "n_b", "count_a", "count_b", "base_count_a", "base_count_b", "statistic", "df", "p", "q", "images_a", "base_images_a", "images_b", "base_images_b"]
---*/
SELECT
  c.item,
  CASE WHEN c.item <> 'any' THEN c.item END AS class,
  c.label,
  c.value_a,
  c.value_b,
  c.difference,
  c.low,
  c.high,
  coalesce(c.count_a, CASE WHEN NOT a.suppressed THEN a.count END) AS count_a,
  coalesce(c.n_a, CASE WHEN NOT a.suppressed THEN a.n END) AS n_a,
  coalesce(c.count_b, CASE WHEN NOT b.suppressed THEN b.count END) AS count_b,
  coalesce(c.n_b, CASE WHEN NOT b.suppressed THEN b.n END) AS n_b,
  c.statistic,
  c.df,
  c.p,
  c.q,
  c.suppressed,
  a.base_count AS base_count_a,
  b.base_count AS base_count_b,
  a.images AS images_a,
  a.base_images AS base_images_a,
  b.images AS images_b,
  b.base_images AS base_images_b
FROM compared(
  (
    SELECT
      concept AS item, label, count, n, images, n AS effective, delta AS value, delta_low AS low, delta_high AS high, true AS in_table
    FROM over_representation(groups, term_classes(terms, texts), $unit, $min_count)
  ),
  (
    SELECT
      concept AS item, label, count, n, images, n AS effective, delta AS value, delta_low AS low, delta_high AS high, true AS in_table
    FROM over_representation(others, term_classes(terms, other_texts), $unit, $min_count)
  ),
  'ratio'
) AS c
LEFT JOIN over_representation(groups, term_classes(terms, texts), $unit, $min_count) AS a
  ON a.concept = c.item AND a.label = c.label
LEFT JOIN over_representation(others, term_classes(terms, other_texts), $unit, $min_count) AS b
  ON b.concept = c.item AND b.label = c.label
ORDER BY c.item <> 'any', class, label

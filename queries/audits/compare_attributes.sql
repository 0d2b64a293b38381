/*--- toml
answers = "Which attributes are more frequent in one dataset than in another, and whether majorities grow."
details = """
Shares of both (see attribute_frequencies), their difference (first minus second) with Newcombe's 95 % interval, z test
of two proportions with p and q (Benjamini and Hochberg). amplification = difference for the most frequent attribute of
a category in the second dataset: above 0, the first one amplifies what prevails in the second, as a generator may do
with what it was trained on; the paper's Fig. 7 subtracts the other way round, generated from real. The second dataset is an
attached lake: others := b.attributes. n: images of both datasets.
Each is counted for itself, so that closed views, as gelda makes them, need no purpose, of an attached lake neither.
Small counts of either dataset, and what would give them away, are hidden by the engine; see docs/safety.md. What models see is perceived: a difference is one of depiction.
"""
subject = "two datasets"
source = "Kabra et al., GELDA (2023), real beside generated images; tests as in compared"
apart = ["attributes", "others"]
meets = { left = "attributes.category", right = "others.category", watched = "difference" }
presets = { paper = { of = "Kabra et al. (2024)", source = "section 4.4, Fig. 7" } }

[params.attributes]
relation = ["image_id", "category", "attribute"]
side = "a"
about = "of the first dataset"

[params.others]
relation = ["image_id", "category", "attribute"]
side = "b"
about = "of the second one, such as b.attributes"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count_a"
side = "a"
of = "n_a"
out_of = "n_a"
by = ["attribute"]
within = ["category"]
tests = ["p", "q"]

[[cells]]
count = "count_b"
side = "b"
of = "n_b"
out_of = "n_b"
by = ["attribute"]
within = ["category"]
---*/
SELECT
  c.item AS category,
  c.label AS attribute,
  c.value_a,
  c.value_b,
  c.difference,
  c.low,
  c.high,
  CASE WHEN s.majority THEN c.difference END AS amplification,
  coalesce(c.count_a, f.count) AS count_a,
  coalesce(c.n_a, f.n) AS n_a,
  coalesce(c.count_b, s.count) AS count_b,
  coalesce(c.n_b, s.n) AS n_b,
  c.statistic,
  c.p,
  c.q,
  c.suppressed
FROM compared(
  (
    SELECT category AS item, attribute AS label, count, n, n AS images, n AS effective, share AS value, low, high, true AS in_table
    FROM attribute_shares(attributes)
  ),
  (
    SELECT category AS item, attribute AS label, count, n, n AS images, n AS effective, share AS value, low, high, true AS in_table
    FROM attribute_shares(others)
  ),
  'share'
) AS c
LEFT JOIN attribute_shares(attributes) AS f ON f.category = c.item AND f.attribute = c.label
LEFT JOIN attribute_shares(others) AS s ON s.category = c.item AND s.attribute = c.label
ORDER BY category, attribute

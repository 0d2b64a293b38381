/*--- toml
answers = "How often the attributes of two categories meet in the same images, against chance."
details = """
One row for every attribute of category and every attribute of other: count of the n images that have one of each, its
share with Wilson's 95 % interval, the count expected if the two were independent, ratio = count / expected with a 95 %
interval, and G2 of the two-by-two table of the pair with p (chi-square, one degree of freedom) and q (Benjamini and
Hochberg over all rows, hidden ones as p = 1). How strongly the categories go together as a whole: attribute_confounding.
Images with several attributes of a category are left out, and so are 'unknown' ones. Association in a dataset, not
cause; what models see is perceived.

Small counts, and what would give them away, are hidden by the engine; see docs/safety.md.
"""
subject = "what goes with whom"
source = """
Kabra et al., GELDA (2023), 4.3 and Fig. 4: shares of two categories that meet; tests and the count expected by chance are ours:
Dunning (1993); Benjamini and Hochberg (1995)"""
presets = { paper = { of = "Kabra et al. (2024)", source = "section 4.3, Fig. 4" } }

[params.attributes]
relation = ["image_id", "category", "attribute"]
about = "'unknown' where an image has no such attribute"

[params.category]
type = "varchar"
about = "the category in the rows of the table, such as 'weather'"

[params.other]
type = "varchar"
about = "the category in its columns"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count"
by = ["attribute", "other_attribute"]
measures = ["n", "share", "low", "high", "expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q"]
tests = ["p", "q"]

[[cells]]
count = "attribute_count"
by = ["attribute"]
measures = ["expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q"]

[[cells]]
count = "other_count"
by = ["other_attribute"]
measures = ["expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q"]
---*/
SELECT
  label AS attribute,
  other AS other_attribute,
  count,
  n,
  share,
  low,
  high,
  expected,
  ratio,
  ratio_low,
  ratio_high,
  g2,
  p,
  q,
  label_count AS attribute_count,
  other_count
FROM false_discovery(crossed_labels(
  (
    SELECT image_id, min(attribute) AS label
    FROM attributes
    WHERE attribute <> 'unknown' AND category = $category
    GROUP BY image_id
    HAVING min(attribute) = max(attribute)
  ),
  (
    SELECT image_id, min(attribute) AS label
    FROM attributes
    WHERE attribute <> 'unknown' AND category = $other
    GROUP BY image_id
    HAVING min(attribute) = max(attribute)
  )
))
ORDER BY attribute, other_attribute

/*--- toml
answers = "Which categories of attributes go together in the same images, and how strongly."
details = """
One row for every two categories, the strongest first: G2 of the table of their attributes over the n images that have
one of each, degrees of freedom df, p (chi-square), q (Benjamini and Hochberg over all pairs), and cramers_v, from
Pearson's chi-square of the same table, in [0, 1]. V has no interval: it is too large in small samples of large tables, and
that of the noncentral chi-square held in half of them. Which attributes meet is shown by attribute_matrix. Images with several attributes of a category, which would count several
times, are left out for its pairs, and so are 'unknown' ones. p is rough where many cells expect fewer than 5 images.
Association in a dataset, not cause; what models see is perceived.

Pairs of few images are hidden by the engine (docs/safety.md), and those with a small count in their table, which would follow from
what is computed of it and how often each attribute is there: smallest is the smallest count but 0. What a count lacks of
all n, of a row or of a column is a sum of other counts, and no smaller.
"""
subject = "what goes with whom"
source = """
Cramer (1946); Dunning (1993); Benjamini and Hochberg (1995). Kabra et al., GELDA (2023), 4.3, look for confounding in shares
(attribute_matrix) and print no measure of it, so that there is no preset"""

[params.attributes]
relation = ["image_id", "category", "attribute"]
about = "'unknown' where an image has no such attribute"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "pairs with fewer images are suppressed"

[[cells]]
count = "n"
within = ["category", "other"]
measures = ["cramers_v", "g2", "df", "p", "q", "smallest"]
tests = ["p", "q"]

[[cells]]
count = "smallest"
within = ["category", "other"]
measures = ["cramers_v", "g2", "df", "p", "q", "n"]
---*/
SELECT
  category,
  other,
  CASE WHEN df > 0 THEN least(sqrt(greatest(squares - 1, 0) / side), 1) END AS cramers_v,
  greatest(g2, 0) AS g2,
  df,
  p,
  q,
  n,
  smallest
FROM false_discovery((
  WITH known AS (
    SELECT image_id, category, min(attribute) AS attribute
    FROM attributes
    WHERE attribute <> 'unknown'
    GROUP BY image_id, category
    HAVING min(attribute) = max(attribute)
  ),
  cells AS (
    SELECT a.category, b.category AS other, a.attribute, b.attribute AS other_attribute, count(*) AS count
    FROM known AS a
    JOIN known AS b ON b.image_id = a.image_id AND a.category < b.category
    GROUP BY a.category, b.category, a.attribute, b.attribute
  ),
  sides AS (
    SELECT
      *,
      CAST(sum(count) OVER (PARTITION BY category, other) AS BIGINT) AS n,
      CAST(sum(count) OVER (PARTITION BY category, other, attribute) AS BIGINT) AS n_row,
      CAST(sum(count) OVER (PARTITION BY category, other, other_attribute) AS BIGINT) AS n_column
    FROM cells
  ),
  -- with O of n in a cell, chi-square = n (sum of O^2 / (row column)) - n: cells without images add nothing
  pairs AS (
    SELECT
      category,
      other,
      max(n) AS n,
      (count(DISTINCT attribute) - 1) * (count(DISTINCT other_attribute) - 1) AS df,
      least(count(DISTINCT attribute), count(DISTINCT other_attribute)) - 1 AS side,
      min(count) AS smallest,
      2 * CAST(sum(CAST(count * ln(CAST(count AS DOUBLE) * n / n_row / n_column) AS DECIMAL(38, 12))) AS DOUBLE) AS g2,
      CAST(sum(CAST(CAST(count AS DOUBLE) * count / n_row / n_column AS DECIMAL(38, 18))) AS DOUBLE) AS squares
    FROM sides
    GROUP BY category, other
  )
  SELECT
    *,
    CASE WHEN df > 0 THEN chi_square_p(greatest(g2, 0), df) END AS p
  FROM pairs
))
ORDER BY cramers_v DESC NULLS LAST, category, other

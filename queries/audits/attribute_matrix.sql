/*--- toml
answers = "How often the attributes of two categories meet in the same images, against chance."
details = """
One row for every attribute of category and every attribute of other: count of the n images that have one of each, its
share with Wilson's 95 % interval, the count expected if the two were independent, ratio = count / expected with a 95 %
interval, and G2 of the two-by-two table of the pair with p (chi-square, one degree of freedom) and q (Benjamini and
Hochberg over the rows that are shown). How strongly the categories go together as a whole: attribute_confounding.
Images with several attributes of a category are left out, and so are 'unknown' ones. Association in a dataset, not
cause; what models see is perceived.

Small counts, and what would give them away, are hidden by the engine; see README.
"""
subject = "what goes with whom"
source = "Kabra et al., GELDA (2023), confounding of attributes; Dunning (1993); Benjamini and Hochberg (1995)"
local = "calls chi_square_p()"

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
WITH cells AS (
  SELECT c.*, CAST(c.label_count AS DOUBLE) AS n_row, CAST(c.other_count AS DOUBLE) AS n_column
  FROM crossed_labels(
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
  ) AS c
),
measured AS (
  SELECT
    *,
    greatest(2 * (
      CASE WHEN count > 0 THEN count * ln(count * n / n_row / n_column) ELSE 0 END
      + CASE WHEN n_row > count THEN (n_row - count) * ln((n_row - count) * n / n_row / (n - n_column)) ELSE 0 END
      + CASE
        WHEN n_column > count THEN (n_column - count) * ln((n_column - count) * n / (n - n_row) / n_column)
        ELSE 0
      END
      + CASE
        WHEN n - n_row - n_column + count > 0
          THEN (n - n_row - n_column + count) * ln((n - n_row - n_column + count) * n / (n - n_row) / (n - n_column))
        ELSE 0
      END
    ), 0) AS g2
  FROM cells
),
tested AS (
  SELECT label, other, g2, chi_square_p(g2, CAST(1 AS BIGINT)) AS p FROM measured
),
ranked AS (
  SELECT *, row_number() OVER (ORDER BY p, label, other) AS p_rank, count(*) OVER () AS family FROM tested
),
controlled AS (
  SELECT
    *,
    greatest(
      p, least(min(p * family / p_rank) OVER (ORDER BY p_rank DESC ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), 1)
    ) AS q
  FROM ranked
)
SELECT
  c.label AS attribute,
  c.other AS other_attribute,
  c.count,
  c.n,
  c.share,
  c.low,
  c.high,
  c.expected,
  c.ratio,
  c.ratio_low,
  c.ratio_high,
  q.g2,
  q.p,
  q.q,
  c.label_count AS attribute_count,
  c.other_count
FROM cells AS c
LEFT JOIN controlled AS q ON q.label = c.label AND q.other = c.other
ORDER BY attribute, other_attribute

/*--- toml
answers = "How often every attribute of the source goes with every label of a contrast set: equal, if it balances."
details = """
A row for every measure, item and label: count edits of the label have the item; difference is the largest count of the
item's labels less the smallest, 0 where attribute and label are unrelated by construction. Measure 'attribute' has
the sources' concepts, 'object' those found in the edits themselves.
"""
source = """
contrast sets as in Smith et al. (GenSynth, 2023) and Hirota et al. (2024): each source edited for every group"""

[params.contrast]
relation = ["edit_id", "image_id", "label"]
about = "contrast relation"

[params.concepts]
relation = ["image_id", "concept"]
default = "category_concepts"
about = "concepts of the sources"

[params.objects]
relation = ["edit_id", "concept"]
default = "(SELECT edit_id, 'none' AS concept FROM contrast WHERE 1 = 0)"
about = "concepts of the edits"
---*/
WITH edits AS (
  SELECT DISTINCT edit_id, image_id, label FROM contrast WHERE label IS NOT NULL AND edit_id IS NOT NULL
),
counts AS (
  SELECT 'attribute' AS measure, c.concept AS item, e.label, count(*) AS count
  FROM edits AS e
  JOIN (SELECT DISTINCT image_id, concept FROM concepts WHERE concept IS NOT NULL) AS c ON c.image_id = e.image_id
  GROUP BY c.concept, e.label
  UNION ALL
  SELECT 'object' AS measure, o.concept AS item, e.label, count(*) AS count
  FROM (SELECT DISTINCT edit_id, label FROM edits) AS e
  JOIN (SELECT DISTINCT edit_id, concept FROM objects WHERE concept IS NOT NULL) AS o ON o.edit_id = e.edit_id
  GROUP BY o.concept, e.label
),
cells AS (
  SELECT i.measure, i.item, l.label, coalesce(c.count, 0) AS count
  FROM (SELECT DISTINCT measure, item FROM counts) AS i
  CROSS JOIN (SELECT DISTINCT label FROM edits) AS l
  LEFT JOIN counts AS c ON c.measure = i.measure AND c.item = i.item AND c.label = l.label
)
SELECT
  measure,
  item,
  label,
  count,
  max(count) OVER (PARTITION BY measure, item) - min(count) OVER (PARTITION BY measure, item) AS difference
FROM cells

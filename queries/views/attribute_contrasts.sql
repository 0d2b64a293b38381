/*--- toml
answers = "How often images of a label have an attribute, against images of the other labels: counts and rates."
details = """
A row an attribute and clear label, what spurious_correlations ranks: count of the n_label images of the label have the
attribute, rest_count of the n - n_label others; n_concept is the sum of both. Attributes with a scope are compared
among the images that have any attribute of the same kind and scope. With two labels only the row of the label that has
the attribute more often. What spurious_correlations leaves out is left out; pairs is the number of rows with it.
"""
source = "counts of spurious_correlations"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.attributes]
relation = ["image_id", "kind", "attribute", "scope"]
default = "known_attributes"
about = "see known_attributes"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "attributes of fewer images are left out"
---*/
WITH members AS (
  SELECT DISTINCT g.image_id, g.label
  FROM groups AS g
  JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label AND s.used
  WHERE g.image_id IS NOT NULL
),
found AS (
  SELECT DISTINCT a.image_id, a.kind, a.attribute, a.scope
  FROM attributes AS a
  JOIN (SELECT DISTINCT image_id FROM members) AS m ON m.image_id = a.image_id
  WHERE a.attribute IS NOT NULL
),
scoped AS (
  SELECT DISTINCT image_id, kind, scope FROM found WHERE scope <> ''
),
-- how many images of each label an attribute is compared among
label_n AS (
  SELECT s.kind, s.scope, m.label, count(*) AS n_label
  FROM scoped AS s
  JOIN members AS m ON m.image_id = s.image_id
  GROUP BY s.kind, s.scope, m.label
),
whole_n AS (
  SELECT label, count(*) AS n_label FROM members GROUP BY label
),
image_n AS (
  SELECT kind, scope, count(*) AS n FROM scoped GROUP BY kind, scope
),
concept_n AS (
  SELECT kind, attribute, scope, count(*) AS n_concept
  FROM found
  GROUP BY kind, attribute, scope
  HAVING count(*) >= greatest($min_count, 1)
),
counts AS (
  SELECT f.kind, f.attribute, f.scope, m.label, count(*) AS count
  FROM found AS f
  JOIN members AS m ON m.image_id = f.image_id
  GROUP BY f.kind, f.attribute, f.scope, m.label
),
cells AS (
  SELECT
    c.kind,
    c.attribute,
    c.scope,
    w.label,
    c.n_concept,
    coalesce(p.count, 0) AS count,
    CASE c.scope WHEN '' THEN w.n_label ELSE coalesce(l.n_label, 0) END AS n_label,
    CASE c.scope WHEN '' THEN a.n ELSE i.n END AS n,
    count(*) OVER (PARTITION BY c.kind, c.attribute, c.scope) AS labels
  FROM concept_n AS c
  CROSS JOIN whole_n AS w
  CROSS JOIN (SELECT count(DISTINCT image_id) AS n FROM members) AS a
  LEFT JOIN image_n AS i ON i.kind = c.kind AND i.scope = c.scope
  LEFT JOIN label_n AS l ON l.kind = c.kind AND l.scope = c.scope AND l.label = w.label
  LEFT JOIN counts AS p ON p.kind = c.kind AND p.attribute = c.attribute AND p.scope = c.scope AND p.label = w.label
),
-- attributes that too few images of a label have, or lack, hide those that they are compared with
rare AS (
  SELECT DISTINCT c.kind, c.scope, CASE c.scope WHEN '' THEN c.attribute ELSE '' END AS attribute
  FROM (
    SELECT kind, scope, attribute FROM counts WHERE count < $min_count
    UNION ALL
    SELECT kind, scope, attribute FROM cells WHERE n_label > count AND n_label - count < $min_count
  ) AS c
),
-- an image may have one 'scene: …' only, so that a hidden one would follow from the others: one more is hidden
families AS (
  SELECT DISTINCT kind, split_part(attribute, ': ', 1) AS family
  FROM rare
  WHERE scope = '' AND kind IN ('label', 'topic')
),
spare AS (
  SELECT
    c.kind,
    c.scope,
    c.attribute,
    row_number() OVER (
      PARTITION BY c.kind, f.family ORDER BY min(c.count) = 0, c.n_concept, c.attribute
    ) AS place
  FROM cells AS c
  JOIN families AS f ON f.kind = c.kind AND f.family = split_part(c.attribute, ': ', 1)
  LEFT JOIN rare AS r ON r.kind = c.kind AND r.scope = c.scope AND r.attribute = c.attribute
  WHERE c.scope = '' AND r.kind IS NULL
  GROUP BY c.kind, c.scope, c.attribute, c.n_concept, f.family
),
hidden AS (
  SELECT kind, scope, attribute FROM rare
  UNION ALL
  SELECT kind, scope, attribute FROM spare WHERE place = 1
),
kept AS (
  SELECT c.*
  FROM cells AS c
  LEFT JOIN hidden AS r
    ON r.kind = c.kind AND r.scope = c.scope AND r.attribute = CASE c.scope WHEN '' THEN c.attribute ELSE '' END
  WHERE r.kind IS NULL AND c.n_label >= greatest($min_count, 1) AND c.n - c.n_label >= greatest($min_count, 1)
),
rated AS (
  SELECT
    *,
    n_concept - count AS rest_count,
    CAST(count AS DOUBLE) / n_label AS rate,
    CAST(n_concept - count AS DOUBLE) / (n - n_label) AS rest_rate,
    wilson_low(count, n_label) AS rate_low,
    wilson_high(count, n_label) AS rate_high,
    wilson_low(n_concept - count, n - n_label) AS rest_low,
    wilson_high(n_concept - count, n - n_label) AS rest_high,
    row_number() OVER (
      PARTITION BY kind, attribute, scope ORDER BY count * (n - n_label) - (n_concept - count) * n_label DESC, label
    ) AS first
  FROM kept
),
attempted AS (
  SELECT coalesce(sum(CASE WHEN labels > 2 THEN labels ELSE 1 END), 0) AS pairs
  FROM (SELECT DISTINCT kind, attribute, scope, labels FROM cells) AS c
)
SELECT r.*, CAST(a.pairs AS BIGINT) AS pairs
FROM rated AS r
CROSS JOIN attempted AS a
WHERE r.labels > 2 OR r.first = 1

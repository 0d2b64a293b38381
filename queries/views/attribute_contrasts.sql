/*--- toml
answers = "How often images of a label have an attribute, against images of the other labels: counts and rates."
details = """
A row an attribute and clear label: count of the n_label images of the label have the attribute, rest_count of the
n - n_label others; n_concept is the sum of both. n_apart, where attributes have a scope: the fewest images of the label that have
the object, or a box, and none of this kind, such as no person beside it; NULL where all have. Attributes
with a scope are compared among the images that have any attribute of the same kind and scope. is_listed: what
spurious_correlations ranks, which is with two labels the row of the label that has the attribute more often. family: attributes of which an image may have one only, or has one at least: the
scope, for values of labels and for topics what stands before ': ', else the attribute alone.
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
about = "attributes of fewer images are left out, and labels as group_sizes says"
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
  WHERE a.attribute IS NOT NULL AND a.image_id IN (SELECT image_id FROM members)
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
-- how many fewer these are than others with the same object
apart AS (
  SELECT l.kind, l.scope, l.label, min(o.images - l.n_label) AS n_apart
  FROM label_n AS l
  JOIN (
    SELECT scope, label, n_label AS images FROM label_n
    UNION
    SELECT f.attribute AS scope, m.label, count(*) AS images
    FROM found AS f
    JOIN members AS m ON m.image_id = f.image_id
    WHERE f.kind = 'object' AND f.scope = ''
    GROUP BY f.attribute, m.label
  ) AS o ON o.scope = l.scope AND o.label = l.label AND o.images > l.n_label
  GROUP BY l.kind, l.scope, l.label
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
    d.n_apart,
    count(*) OVER (PARTITION BY c.kind, c.attribute, c.scope) AS labels
  FROM concept_n AS c
  CROSS JOIN whole_n AS w
  CROSS JOIN (SELECT count(DISTINCT image_id) AS n FROM members) AS a
  LEFT JOIN image_n AS i ON i.kind = c.kind AND i.scope = c.scope
  LEFT JOIN label_n AS l ON l.kind = c.kind AND l.scope = c.scope AND l.label = w.label
  LEFT JOIN apart AS d ON d.kind = c.kind AND d.scope = c.scope AND d.label = w.label
  LEFT JOIN counts AS p ON p.kind = c.kind AND p.attribute = c.attribute AND p.scope = c.scope AND p.label = w.label
)
SELECT
  *,
  CASE WHEN scope <> '' THEN scope WHEN kind IN ('label', 'topic') THEN split_part(attribute, ': ', 1) ELSE attribute END
    AS family,
  n_concept - count AS rest_count,
  CAST(count AS DOUBLE) / n_label AS rate,
  CAST(n_concept - count AS DOUBLE) / (n - n_label) AS rest_rate,
  wilson_low(count, n_label) AS rate_low,
  wilson_high(count, n_label) AS rate_high,
  wilson_low(n_concept - count, n - n_label) AS rest_low,
  wilson_high(n_concept - count, n - n_label) AS rest_high,
  labels > 2 OR row_number() OVER (
    PARTITION BY kind, attribute, scope ORDER BY count * (n - n_label) - (n_concept - count) * n_label DESC, label
  ) = 1 AS is_listed
FROM cells
WHERE n_label > 0 AND n > n_label

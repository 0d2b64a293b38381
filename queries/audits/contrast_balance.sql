/*--- toml
answers = "Is every attribute of the source images equally frequent with every group of a contrast set?"
details = """
It is by construction where every source has an edit for each label; this audit shows it, exactly, from counts, of edits
that have one clear label (clear_edits). measure 'group': count of the n edits have the label. 'source': sources with
equally many edits of every label. 'attributes', 'objects': count of the n attributes (concepts of the sources) or objects
(concepts found in the edits, which an edit can change) go equally often with every label; equal says that all do. Where a
label has few edits, so that group_sizes hides it, none is compared.

'attribute', 'object': one that does not, or is not compared (with show := 'all' every one), label by label: count of the n
edits that have it, value = count / n, base = the label's share of all edits, delta = value / base - 1
with its interval (see over_representation), difference = the largest count of the labels less the smallest. 'color':
mean red, green and blue of the label's edits, and 'distance', see contrast_colors.

Shares of edits have Wilson's 95 % interval; those of sources and attributes count all there are and have none. There is
no p: whether a set is balanced is counted, and edits of one source are made alike, not drawn. Labels
are those asked of an edit, or perceived; never facts about persons.

edits is the number of edits, or sources, that a row tells of. Small ones are hidden by the engine, see docs/safety.md; equal is
NULL there, and where there is nothing to compare: fewer than two labels, or nothing counted. Perceived labels of edits need a
purpose: which items go equally often with every label tells how often each does.
"""
subject = "contrast sets"
exact = true
source = """
contrast sets as in Smith et al., Balancing the Picture (GenSynth, 2023), and Hirota et al. (2024); colour statistics as
in Meister et al., Gender Artifacts in Visual Datasets (2023)"""

[params.contrast]
relation = ["edit_id", "image_id", "label"]
about = "contrast relation"

[params.concepts]
relation = ["image_id", "concept"]
default = "category_concepts"
about = "concepts of the sources; word_concepts, label_concepts(...)"

[params.objects]
relation = ["edit_id", "concept"]
default = "(SELECT edit_id, 'none' AS concept FROM contrast WHERE 1 = 0)"
about = "concepts found in the edits"

[params.colors]
relation = ["edit_id", "grid"]
default = "(SELECT edit_id, CAST(NULL AS FLOAT[]) AS grid FROM contrast WHERE 1 = 0)"
about = "what color_grid(image) gives of the edits"

[params.show]
type = "varchar"
default = "unequal"
choices = ["unequal", "all"]
about = "which attributes and objects have rows"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "edits"
out_of = "base_count"
by = ["label"]
within = ["measure", "item"]
measures = ["count", "n", "value", "low", "high", "base", "base_count", "delta", "delta_low", "delta_high"]
whole = ["difference", "equal"]
---*/
WITH shares AS (
  SELECT 'attribute' AS measure, o.*
  FROM over_representation(
    (SELECT edit_id AS image_id, label FROM clear_edits(contrast)),
    (SELECT e.edit_id AS image_id, c.concept FROM clear_edits(contrast) AS e JOIN concepts AS c ON c.image_id = e.image_id),
    'image',
    $min_count
  ) AS o
  UNION ALL
  SELECT 'object' AS measure, o.*
  FROM over_representation(
    (SELECT edit_id AS image_id, label FROM clear_edits(contrast)),
    (SELECT edit_id AS image_id, concept FROM objects),
    'image',
    $min_count
  ) AS o
),
items AS (
  SELECT
    *,
    CASE
      WHEN NOT bool_or(suppressed) OVER (PARTITION BY measure, concept)
        THEN max(count) OVER (PARTITION BY measure, concept) - min(count) OVER (PARTITION BY measure, concept)
    END AS difference
  FROM shares
  WHERE $show IN ('unequal', 'all')
),
labels AS (
  SELECT label, count, n, share, low, high
  FROM label_shares((SELECT edit_id AS image_id, label FROM clear_edits(contrast)))
),
sizes AS (
  SELECT count(*) AS labels, CASE WHEN count(*) > 1 THEN min(edits) = max(edits) END AS equal
  FROM (SELECT label, count(DISTINCT edit_id) AS edits FROM clear_edits(contrast) GROUP BY label) AS e
),
sources AS (
  SELECT s.image_id, count(*) = max(z.labels) AND min(s.edits) = max(s.edits) AS equal
  FROM (
    SELECT image_id, label, count(DISTINCT edit_id) AS edits
    FROM clear_edits(contrast)
    WHERE image_id IS NOT NULL
    GROUP BY image_id, label
  ) AS s
  CROSS JOIN sizes AS z
  GROUP BY s.image_id
),
-- what is counted: sources, attributes, objects
wholes AS (
  SELECT 'source' AS measure, 'complete' AS item, count(CASE WHEN equal THEN 1 END) AS count, count(*) AS n FROM sources
  UNION ALL
  SELECT
    concat(measure, 's') AS measure,
    'equal' AS item,
    count(DISTINCT CASE WHEN difference = 0 THEN concept END) AS count,
    count(DISTINCT CASE WHEN difference IS NOT NULL THEN concept END) AS n
  FROM items
  GROUP BY measure
),
measures AS (
  SELECT
    'group' AS measure, 'edits' AS item, l.label, l.count AS edits, l.count, l.n, l.share AS value, l.low, l.high,
    CAST(NULL AS DOUBLE) AS base, CAST(NULL AS BIGINT) AS base_count, CAST(NULL AS DOUBLE) AS delta,
    CAST(NULL AS DOUBLE) AS delta_low, CAST(NULL AS DOUBLE) AS delta_high, CAST(NULL AS BIGINT) AS difference, z.equal,
    false AS suppressed
  FROM labels AS l
  CROSS JOIN sizes AS z
  UNION ALL
  SELECT
    measure, item, CAST(NULL AS VARCHAR) AS label, CASE WHEN measure = 'source' THEN count END AS edits, count, n,
    CAST(count AS DOUBLE) / nullif(n, 0) AS value, CAST(NULL AS DOUBLE) AS low, CAST(NULL AS DOUBLE) AS high,
    CAST(NULL AS DOUBLE) AS base, CASE WHEN measure = 'source' THEN n END AS base_count, CAST(NULL AS DOUBLE) AS delta,
    CAST(NULL AS DOUBLE) AS delta_low, CAST(NULL AS DOUBLE) AS delta_high, CAST(NULL AS BIGINT) AS difference,
    CASE WHEN z.labels > 1 AND n > 0 THEN count = n END AS equal, false AS suppressed
  FROM wholes
  CROSS JOIN sizes AS z
  UNION ALL
  SELECT
    i.measure, i.concept AS item, i.label, i.count AS edits, i.count, i.n, i.share AS value, i.share_low AS low, i.share_high AS high,
    i.base_share AS base, i.base_count, i.delta, i.delta_low, i.delta_high,
    i.difference, CASE WHEN z.labels > 1 THEN i.difference = 0 END AS equal, i.suppressed
  FROM items AS i
  CROSS JOIN sizes AS z
  WHERE $show = 'all' OR i.difference <> 0 OR i.difference IS NULL
  UNION ALL
  SELECT
    'color' AS measure, c.item, c.label, c.n AS edits, CAST(NULL AS BIGINT) AS count, c.n, c.value, c.low, c.high, c.base,
    l.count AS base_count, c.value / nullif(c.base, 0) - 1 AS delta, CAST(NULL AS DOUBLE) AS delta_low,
    CAST(NULL AS DOUBLE) AS delta_high, CAST(NULL AS BIGINT) AS difference, CAST(NULL AS BOOLEAN) AS equal,
    false AS suppressed
  FROM contrast_colors(clear_edits(contrast), colors) AS c
  JOIN labels AS l ON l.label = c.label
)
SELECT
  measure, item, label, count, n, value, low, high, base, delta, delta_low, delta_high, difference, equal, edits, base_count,
  suppressed
FROM measures
ORDER BY
  CASE measure
    WHEN 'group' THEN 1 WHEN 'source' THEN 2 WHEN 'attributes' THEN 3 WHEN 'attribute' THEN 4 WHEN 'objects' THEN 5
    WHEN 'object' THEN 6 ELSE 7
  END,
  item,
  label

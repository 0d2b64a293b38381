/*--- toml
answers = "Mean colours of the edits of every label, and how far they are from those of all edits."
details = """
For items 'red', 'green' and 'blue': value is the mean over the n edits of the label that have a grid, with a normal 95 %
interval that takes edits as independent draws (those of one source are alike, so it is wide), base that over all edits.
Item 'distance': the Frobenius norm of the difference between the label's mean grid and the mean grid of all edits.
"""
source = """
14 x 14 colour statistics as in Meister et al., Gender Artifacts in Visual Datasets (2023); the distance is ours"""

[params.contrast]
relation = ["edit_id", "image_id", "label"]
about = "contrast relation"

[params.colors]
relation = ["edit_id", "grid"]
about = "what color_grid(image) gives of the edit"
---*/
WITH parts AS (
  SELECT edit_id, unnest(list_transform(grid, lambda value, place: {'value': CAST(value AS DOUBLE), 'place': place})) AS at
  FROM (SELECT DISTINCT edit_id, grid FROM colors) AS c
),
-- engines count places from 0 or from 1
found AS (
  SELECT
    e.label,
    p.edit_id,
    p.at.place - f.place AS cell,
    CAST(p.at.value AS DECIMAL(38, 18)) AS value
  FROM parts AS p
  CROSS JOIN (SELECT min(at.place) AS place FROM parts) AS f
  JOIN (SELECT DISTINCT edit_id, label FROM contrast WHERE label IS NOT NULL) AS e ON e.edit_id = p.edit_id
  WHERE p.at.value IS NOT NULL AND NOT isnan(p.at.value)
),
-- a grid without a colour tells nothing: all items are of the same edits
cells AS (
  SELECT f.*
  FROM found AS f
  SEMI JOIN (
    SELECT edit_id FROM found GROUP BY edit_id HAVING count(DISTINCT CAST(cell % 3 AS INTEGER)) = 3
  ) AS w ON w.edit_id = f.edit_id
),
channels AS (
  SELECT 0 AS channel, 'red' AS item
  UNION ALL
  SELECT 1 AS channel, 'green' AS item
  UNION ALL
  SELECT 2 AS channel, 'blue' AS item
),
edits AS (
  SELECT label, edit_id, CAST(cell % 3 AS INTEGER) AS channel, CAST(sum(value) AS DOUBLE) / count(*) AS mean
  FROM cells
  GROUP BY label, edit_id, CAST(cell % 3 AS INTEGER)
),
sums AS (
  SELECT
    label,
    channel,
    count(*) AS n,
    CAST(sum(CAST(mean AS DECIMAL(38, 18))) AS DOUBLE) AS total,
    CAST(sum(CAST(mean * mean AS DECIMAL(38, 18))) AS DOUBLE) AS squares,
    sum(count(*)) OVER (PARTITION BY channel) AS all_n,
    CAST(sum(sum(CAST(mean AS DECIMAL(38, 18)))) OVER (PARTITION BY channel) AS DOUBLE) AS all_total
  FROM edits
  GROUP BY label, channel
),
grids AS (
  SELECT
    label,
    cell,
    CAST(sum(value) AS DOUBLE) / count(*) AS mean,
    CAST(sum(sum(value)) OVER (PARTITION BY cell) AS DOUBLE) / sum(count(*)) OVER (PARTITION BY cell) AS base
  FROM cells
  GROUP BY label, cell
)
SELECT
  c.item,
  s.label,
  s.n,
  s.total / s.n AS value,
  s.total / s.n - half_interval(
    sqrt(greatest(s.squares - s.total * s.total / s.n, 0) / nullif(s.n - 1, 0) / s.n)
  ) AS low,
  s.total / s.n + half_interval(
    sqrt(greatest(s.squares - s.total * s.total / s.n, 0) / nullif(s.n - 1, 0) / s.n)
  ) AS high,
  s.all_total / s.all_n AS base
FROM sums AS s
JOIN channels AS c ON c.channel = s.channel
UNION ALL
SELECT
  'distance' AS item,
  g.label,
  max(s.n) AS n,
  sqrt(CAST(sum(CAST((g.mean - g.base) * (g.mean - g.base) AS DECIMAL(38, 18))) AS DOUBLE)) AS value,
  CAST(NULL AS DOUBLE) AS low,
  CAST(NULL AS DOUBLE) AS high,
  CAST(NULL AS DOUBLE) AS base
FROM grids AS g
JOIN sums AS s ON s.label = g.label AND s.channel = 0
GROUP BY g.label

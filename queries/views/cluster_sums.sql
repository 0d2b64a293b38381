/*--- toml
answers = "Sums over the sources that units, such as persons, share: what effective_size asks of those that are alike."
details = """
Of each label: how many units have it that have a source (units) and in how many sources; squares adds up the squares of its
units in a source, products these times all units of the source. The row without a label is about all units. Units without a
source are on their own: each adds 1 to all four.
"""
source = "See effective_size."

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "labels of units"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM groups WHERE 1 = 0)"
grid = []
about = "of units that are not images, such as persons: the image of each"
---*/
WITH sourced AS (
  SELECT image_id, min(source_id) AS source FROM sources WHERE source_id IS NOT NULL GROUP BY image_id
),
members AS (
  SELECT DISTINCT s.source, g.image_id, g.label
  FROM groups AS g
  JOIN sourced AS s ON s.image_id = g.image_id
  WHERE g.label IS NOT NULL AND (SELECT count(*) FROM sources) > 0
),
by_label AS (
  SELECT source, label, count(*) AS n FROM members GROUP BY source, label
),
by_source AS (
  SELECT source, count(DISTINCT image_id) AS n FROM members GROUP BY source
)
SELECT
  l.label,
  CAST(sum(l.n) AS BIGINT) AS units,
  count(*) AS sources,
  CAST(sum(l.n * l.n) AS BIGINT) AS squares,
  CAST(sum(l.n * b.n) AS BIGINT) AS products
FROM by_label AS l
JOIN by_source AS b ON b.source = l.source
GROUP BY l.label
UNION ALL
SELECT
  CAST(NULL AS VARCHAR) AS label,
  CAST(coalesce(sum(n), 0) AS BIGINT) AS units,
  count(*) AS sources,
  CAST(coalesce(sum(n * n), 0) AS BIGINT) AS squares,
  CAST(coalesce(sum(n * n), 0) AS BIGINT) AS products
FROM by_source

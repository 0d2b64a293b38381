/*--- toml
answers = "How many of the true boxes a detector finds, at several overlaps, by perceived group."
details = """
recall_50, recall_75 and recall_90: count of the n true boxes that a predicted box of the same image and category
overlaps by at least 0.5, 0.75 or 0.9 (intersection / union). mean_recall: the average over the overlaps 0.5, 0.55 …
0.95; its count adds up those of the ten overlaps. Intervals are 95 % ones and go by the images that boxes are of:
Wilson's, of as many independent boxes as would tell as much (effective_size). Predicted boxes take true ones as
COCO's evaluation does: in descending score, each the free one that it overlaps most. Crowds are left out; all
predicted boxes count, not the best 100 alone. Rows for every label of a group relation, images with one clear
perceived label each, and for 'all' images. A detector that finds fewer of one group has less to say of it. There is no
p: recalls of one label at several overlaps are nearly one number, and intervals of labels stand beside each other.

Small counts, of boxes found and missed, are hidden by the engine, and with them what would tell them (docs/safety.md).
"""
subject = "who is in the pictures"
source = """
Lin et al., Microsoft COCO (2014), and its evaluation code: matching, recall; average recall as Hosang et al. (2016)"""
meets = { left = "predicted.category", right = "truth.category" }

[params.predicted]
relation = ["image_id", "category", "x", "y", "width", "height", "score"]
about = "boxes of a detector, in pixels"

[params.truth]
relation = ["image_id", "category", "x", "y", "width", "height", "is_crowd"]
default = "(SELECT * FROM detections WHERE score IS NULL)"
about = "true boxes"

[params.groups]
relation = ["image_id", "label"]
default = "(SELECT image_id, 'all' AS label FROM images)"
about = "group relation"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "rows that rest on fewer true boxes are suppressed"

[[cells]]
count = "n"
by = ["label"]
within = ["metric"]

[[cells]]
count = "count"
out_of = "n"
by = ["label"]
within = ["metric"]

[[cells]]
count = "smallest"
by = ["label"]
within = ["metric"]

[[cells]]
count = "images"
by = ["label"]
within = ["metric"]
---*/
WITH cuts AS (
  SELECT unnest(range(50, 100, 5)) AS cut
),
truths AS (
  SELECT
    image_id, category, x, y, width, height,
    row_number() OVER (ORDER BY image_id, category, x, y, width, height) AS truth
  FROM truth
  WHERE NOT coalesce(is_crowd, false)
    AND category IS NOT NULL
    AND width > 0
    AND height > 0
    AND x IS NOT NULL
    AND y IS NOT NULL
    AND NOT isnan(x + y + width + height)
),
guesses AS (
  SELECT
    image_id, category, x, y, width, height,
    row_number() OVER (
      PARTITION BY image_id, category
      ORDER BY CASE WHEN NOT isnan(score) THEN score END DESC NULLS LAST, x, y, width, height
    ) AS place
  FROM predicted
  WHERE width > 0 AND height > 0 AND NOT isnan(x + y + width + height)
),
-- width and height of what two boxes share, then intersection / union
shared AS (
  SELECT
    t.image_id, t.category, t.truth, g.place,
    CAST(t.width AS DOUBLE) * t.height AS truth_area,
    CAST(g.width AS DOUBLE) * g.height AS area,
    least(CAST(t.x AS DOUBLE) + t.width, CAST(g.x AS DOUBLE) + g.width) - greatest(CAST(t.x AS DOUBLE), g.x) AS across,
    least(CAST(t.y AS DOUBLE) + t.height, CAST(g.y AS DOUBLE) + g.height) - greatest(CAST(t.y AS DOUBLE), g.y) AS down
  FROM truths AS t
  JOIN guesses AS g ON g.image_id = t.image_id AND g.category = t.category
),
overlaps AS (
  SELECT image_id, category, truth, place, across * down / (truth_area + area - across * down) AS overlap
  FROM shared
  WHERE across > 0 AND down > 0
),
-- of every predicted box the true ones it overlaps enough, the nearest first
candidates AS (
  SELECT o.image_id, o.category, o.place, c.cut, list(o.truth ORDER BY o.overlap DESC, o.truth) AS near
  FROM overlaps AS o
  JOIN cuts AS c ON o.overlap >= CAST(c.cut AS DOUBLE) / 100
  GROUP BY o.image_id, o.category, o.place, c.cut
),
-- in descending score each takes the nearest that is free
taken AS (
  SELECT
    cut,
    list_reduce(
      list(near ORDER BY place),
      lambda had, near: list_concat(had, list_slice(list_filter(near, lambda t: NOT list_contains(had, t)), 1, 1)),
      CAST([] AS BIGINT[])
    ) AS truths
  FROM candidates
  GROUP BY image_id, category, cut
),
found AS (
  SELECT
    truth,
    count(*) AS times,
    count(CASE WHEN cut = 50 THEN 1 END) AS at_50,
    count(CASE WHEN cut = 75 THEN 1 END) AS at_75,
    count(CASE WHEN cut = 90 THEN 1 END) AS at_90
  FROM (SELECT cut, unnest(truths) AS truth FROM taken) AS t
  GROUP BY truth
),
labelled AS (
  SELECT image_id, label FROM clear_labels(groups)
  UNION
  SELECT image_id, 'all' AS label FROM truths
),
by_image AS (
  SELECT
    l.label,
    t.image_id,
    count(*) AS n,
    CAST(sum(coalesce(f.at_50, 0)) AS BIGINT) AS at_50,
    CAST(sum(coalesce(f.at_75, 0)) AS BIGINT) AS at_75,
    CAST(sum(coalesce(f.at_90, 0)) AS BIGINT) AS at_90,
    CAST(sum(coalesce(f.times, 0)) AS BIGINT) AS times
  FROM truths AS t
  JOIN labelled AS l ON l.image_id = t.image_id
  LEFT JOIN found AS f ON f.truth = t.truth
  GROUP BY l.label, t.image_id
),
hits AS (
  SELECT label, 'recall_50' AS metric, 1 AS cuts, n, at_50 AS count FROM by_image
  UNION ALL
  SELECT label, 'recall_75' AS metric, 1 AS cuts, n, at_75 AS count FROM by_image
  UNION ALL
  SELECT label, 'recall_90' AS metric, 1 AS cuts, n, at_90 AS count FROM by_image
  UNION ALL
  SELECT label, 'mean_recall' AS metric, 10 AS cuts, n, times AS count FROM by_image
),
-- boxes of one image are not independent, and few images are few, however many boxes each has
sums AS (
  SELECT
    label,
    metric,
    cuts,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(count) AS BIGINT) AS count,
    count(*) AS images,
    least(nullif(count(CASE WHEN count > 0 THEN 1 END), 0), nullif(count(CASE WHEN count < cuts * n THEN 1 END), 0))
      AS smallest,
    CAST(sum(CAST(count AS DECIMAL(38, 0)) * count) AS DOUBLE) AS squares,
    CAST(sum(CAST(count AS DECIMAL(38, 0)) * n) AS DOUBLE) AS products,
    CAST(sum(CAST(n AS DECIMAL(38, 0)) * n) AS DOUBLE) AS sizes
  FROM hits
  GROUP BY label, metric, cuts
),
-- a box is looked at once for each overlap of a metric
measures AS (
  SELECT *, effective_size(count, cuts * n, squares, cuts * products, cuts * cuts * sizes, images) AS effective
  FROM sums
)
SELECT
  label,
  metric,
  count,
  n,
  images,
  CAST(count AS DOUBLE) / cuts / n AS value,
  wilson_low(count * effective / (cuts * n), effective) AS low,
  wilson_high(count * effective / (cuts * n), effective) AS high,
  smallest
FROM measures
ORDER BY label, metric

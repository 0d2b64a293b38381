/*--- toml
answers = "Of how many different images the rarest label of a ranking has items among the first K of all queries."
details = """
A row of each ranking, metric of retrieval_bias that tells of labels, and k. images: of items with positive or with
negative, whichever are fewer, for 'bias'; of the clear label that has the fewest for 'maxskew' and 'ndkl'. Labels that
are not there do not count. A hit counts at the rank that it has; an item of no known image is one of its own.
"""
source = "what suppression of small counts needs to know of an average over queries"

[params.hits]
relation = ["ranking", "item_id", "rank"]
about = "over all items"

[params.labelled_hits]
relation = ["ranking", "item_id", "rank"]
about = "the same, with items without a clear label left out before ranking"

[params.item_groups]
relation = ["item_id", "label"]
about = "of all items ranked"

[params.item_images]
relation = ["item_id", "image_id"]
about = "of which image an item is"

[params.k]
type = "integer[]"
default = [5, 10]
min = 1
about = "cut-offs of bias"

[params.skew_k]
type = "integer[]"
default = [25, 100]
min = 1
about = "cut-offs of maxskew and ndkl"

[params.positive]
type = "varchar"
default = "male"
about = "label that counts as + in bias"

[params.negative]
type = "varchar"
default = "female"
about = "label that counts as - in bias"
---*/
WITH labelled AS (
  SELECT DISTINCT g.item_id, g.label, coalesce(CAST(m.image_id AS VARCHAR), concat('item ', CAST(g.item_id AS VARCHAR))) AS image
  FROM item_groups AS g
  LEFT JOIN item_images AS m ON m.item_id = g.item_id
  WHERE g.item_id IS NOT NULL AND g.label IS NOT NULL
),
best AS (
  SELECT ranking, item_id, min(rank) AS rank FROM hits GROUP BY ranking, item_id
),
clear_best AS (
  SELECT ranking, item_id, min(rank) AS rank FROM labelled_hits GROUP BY ranking, item_id
),
counts AS (
  SELECT 'bias' AS metric, b.ranking, c.k, g.label, count(DISTINCT g.image) AS images
  FROM best AS b
  JOIN (SELECT DISTINCT unnest($k) AS k) AS c ON b.rank <= c.k
  JOIN labelled AS g ON g.item_id = b.item_id
  WHERE g.label IN ($positive, $negative)
  GROUP BY b.ranking, c.k, g.label
  UNION ALL
  SELECT m.metric, b.ranking, c.k, g.label, count(DISTINCT g.image) AS images
  FROM clear_best AS b
  JOIN (SELECT DISTINCT unnest($skew_k) AS k) AS c ON b.rank <= c.k
  JOIN labelled AS g ON g.item_id = b.item_id
  CROSS JOIN (SELECT 'maxskew' AS metric UNION ALL SELECT 'ndkl' AS metric) AS m
  WHERE is_clear(g.label)
  GROUP BY m.metric, b.ranking, c.k, g.label
)
SELECT ranking, metric, k, min(images) AS images
FROM counts
GROUP BY ranking, metric, k

/*--- toml
answers = "Averages of ranking_metrics over the queries of each ranking, with the counts that these rest on."
details = """
The rows of retrieval_bias: value, low and high are those of mean_rankings, n counts queries and query_images their
images, images is that of ranked_labels. Clear labels that group_sizes hides take no part: their items are left out before ranking.
"""
source = "see retrieval_bias"

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "over all items"

[params.labelled_hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "the same, with items without a clear label left out before ranking"

[params.item_groups]
relation = ["item_id", "label"]
about = "of all items ranked"

[params.relevant]
relation = ["query_id", "item_id"]
about = "those that count as found"

[params.item_images]
relation = ["item_id", "image_id"]
about = "of which image an item is"

[params.query_images]
relation = ["query_id", "image_id"]
about = "of which image a query is, by its id without the name of a ranking; one that is not there is of its own"

[params.k]
type = "integer[]"
default = [5, 10]
min = 1
about = "cut-offs of bias and recall"

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

[params.desired]
type = "varchar"
default = "dataset"
choices = ["dataset", "uniform"]
about = "desired distribution, of labels among the items or even"

[params.absent]
type = "varchar"
default = "skip"
choices = ["skip", "floor"]
about = "leave out a label missing from the first K, or give it 1/K"

[params.named]
type = "boolean"
default = false
about = "query_id is text: an id, a space, and the name of the ranking"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images take no part"
---*/
WITH means AS (
  SELECT *
  FROM mean_rankings((
    SELECT
      CASE WHEN $named THEN substr(CAST(r.query_id AS VARCHAR), strpos(CAST(r.query_id AS VARCHAR), ' ') + 1) ELSE 'hits' END AS ranking,
      r.metric,
      r.k,
      CASE WHEN i.image_id IS NULL THEN concat('query ', r.query_id) ELSE concat('image ', i.image_id) END AS image,
      r.value
    FROM ranking_metrics(
      hits,
      labelled_hits(labelled_hits, ranked_groups(item_groups, item_images, $min_count)),
      ranked_groups(item_groups, item_images, $min_count),
      relevant, $k, $skew_k, $positive, $negative, $desired, $absent
    ) AS r
    LEFT JOIN (
      SELECT CAST(query_id AS VARCHAR) AS query_id, min(image_id) AS image_id
      FROM query_images
      WHERE query_id IS NOT NULL
      GROUP BY 1
    ) AS i ON i.query_id = CASE
      WHEN $named THEN substr(CAST(r.query_id AS VARCHAR), 1, strpos(CAST(r.query_id AS VARCHAR), ' ') - 1)
      ELSE CAST(r.query_id AS VARCHAR)
    END
  ))
),
counts AS (
  SELECT *
  FROM ranked_labels(
    (
      SELECT
        CASE WHEN $named THEN substr(CAST(query_id AS VARCHAR), strpos(CAST(query_id AS VARCHAR), ' ') + 1) ELSE 'hits' END AS ranking,
        item_id,
        rank
      FROM ranked_once(hits)
    ),
    (
      SELECT
        CASE WHEN $named THEN substr(CAST(query_id AS VARCHAR), strpos(CAST(query_id AS VARCHAR), ' ') + 1) ELSE 'hits' END AS ranking,
        item_id,
        rank
      FROM labelled_hits(labelled_hits, ranked_groups(item_groups, item_images, $min_count))
    ),
    ranked_groups(item_groups, item_images, $min_count), item_images, $k, $skew_k, $positive, $negative
  )
)
SELECT m.ranking, m.metric, m.k, m.value, m.low, m.high, m.n, m.query_images, c.images
FROM means AS m
LEFT JOIN counts AS c ON c.ranking = m.ranking AND c.metric = m.metric AND c.k = m.k

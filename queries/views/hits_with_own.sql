/*--- toml
answers = "The best of a pool for every query, with the query's own item added to it: (query_id, item_id, rank, score)."
details = """
A query finds its own item among those of the pool and no other query's: so R@K of edited pictures is measured, each in a
pool of real ones (edit_quality, hits := ...). Items of own whose id the pool has, too, are the same item. Scores are
those of top_k: cosines, or negative distances with metric 'l2'; of equal ones the lower id comes first.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), appendix F: COCO val and the query image; Table 7"
presets = { paper = "Smith et al. (2023)" }

[params.asked]
relation = ["query_id", "embedding"]
about = "texts"

[params.pool]
relation = ["item_id", "embedding"]
about = "pictures that all are ranked among, such as those of COCO's val"

[params.own]
relation = ["query_id", "item_id", "embedding"]
about = "the picture that a text belongs to"

[params.k]
type = "integer[]"
default = [1, 5, 10]
min = 1
presets = { paper = { value = [1, 5, 10], source = "Table 7" } }
about = "cut-offs; the largest counts"

[params.metric]
type = "varchar"
default = "cosine"
choices = ["cosine", "l2"]
presets = { paper = { value = "l2", source = "F" } }
about = "of vectors; both rank alike where these have length 1; the default is what CLIP is compared by"

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "top_k(asked, pool, ranker := 'vector', k := $k, exclude_own := false, metric := $metric)"
about = "over the pool"
---*/
WITH mine AS (
  SELECT
    a.query_id,
    o.item_id,
    CASE
      WHEN $metric = 'l2' THEN -list_distance(CAST(a.embedding AS DOUBLE[]), CAST(o.embedding AS DOUBLE[]))
      ELSE list_cosine_similarity(CAST(a.embedding AS DOUBLE[]), CAST(o.embedding AS DOUBLE[]))
    END AS score
  FROM asked AS a
  JOIN (SELECT query_id, item_id, min(embedding) AS embedding FROM own GROUP BY query_id, item_id) AS o
    ON o.query_id = a.query_id
  WHERE a.embedding IS NOT NULL AND o.embedding IS NOT NULL AND o.item_id IS NOT NULL
),
ranked AS (
  SELECT
    query_id,
    item_id,
    CAST(row_number() OVER (PARTITION BY query_id ORDER BY score DESC, item_id) AS INTEGER) AS rank,
    score
  FROM (
    SELECT query_id, item_id, score FROM mine
    UNION ALL
    SELECT h.query_id, h.item_id, h.score
    FROM hits AS h
    ANTI JOIN mine AS m ON m.query_id = h.query_id AND m.item_id = h.item_id
  ) AS u
)
SELECT query_id, item_id, rank, score
FROM ranked
WHERE rank <= (SELECT max(k) FROM (SELECT unnest($k) AS k) AS c)

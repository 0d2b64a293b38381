/*--- toml
answers = "Hits with every item once per query, at its best rank, and ranked anew: (query_id, item_id, rank, score)."
details = """
An item that a query finds several times, say an image by each of its captions, counts at its best rank, with its best
score; of items at one rank the lower id comes first. A hit without query, item or rank does not count. Ranks run from 1
without gaps.
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023): a ranking holds an item once"
kernel = "ranked_once"

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]
---*/
SELECT
  query_id,
  item_id,
  CAST(row_number() OVER (PARTITION BY query_id ORDER BY rank, item_id) AS INTEGER) AS rank,
  score
FROM (
  SELECT query_id, item_id, min(rank) AS rank, max(score) AS score
  FROM hits
  WHERE query_id IS NOT NULL AND item_id IS NOT NULL AND rank IS NOT NULL
  GROUP BY query_id, item_id
) AS h

/*--- toml
answers = "Hits among the items with a clear label, ranked anew: (query_id, item_id, rank, score)."
details = """
An item that a query finds several times counts at its best rank (ranked_once). Hits that were cut off at a rank k go at
least as deep among labelled items as they have labelled items in the first k: give enough of them, or rank the labelled
items alone (top_k with among := ...).
"""
source = "Smith et al., Balancing the Picture (GenSynth, 2023), code: MaxSkew leaves items without a clear label out"

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]

[params.item_groups]
relation = ["item_id", "label"]
---*/
SELECT
  h.query_id,
  h.item_id,
  CAST(row_number() OVER (PARTITION BY h.query_id ORDER BY h.rank, h.item_id) AS INTEGER) AS rank,
  h.score
FROM ranked_once(hits) AS h
SEMI JOIN (SELECT item_id FROM item_groups WHERE is_clear(label)) AS g
  ON g.item_id = h.item_id

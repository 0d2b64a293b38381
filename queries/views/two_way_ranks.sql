/*--- toml
answers = "At which rank each image finds a text of its own, and each text its image: (direction, query_id, source_id, rank)."
details = """
direction 'text': an image asks for texts, and rank is that of its first own one; 'image': a text asks for its image. rank is
NULL where none is among the hits; what has no hits at all has no row. source_id is the image that the query was made of.
"""
source = "Le et al., COCO-Counterfactuals (2023), 4.2.1: text retrieval and image retrieval"

[params.texts]
relation = ["text_id", "image_id", "source_id"]
about = "which image each text is of, and of which source image both were made"

[params.text_hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "of images over texts"

[params.image_hits]
relation = ["query_id", "item_id", "rank", "score"]
about = "of texts over images"
---*/
WITH own AS (
  SELECT DISTINCT text_id, image_id, source_id
  FROM texts
  WHERE text_id IS NOT NULL AND image_id IS NOT NULL AND source_id IS NOT NULL
),
askers AS (
  SELECT 'text' AS direction, image_id AS query_id, min(source_id) AS source_id FROM own GROUP BY image_id
  UNION ALL
  SELECT 'image' AS direction, text_id AS query_id, min(source_id) AS source_id FROM own GROUP BY text_id
),
pairs AS (
  SELECT DISTINCT 'text' AS direction, image_id AS query_id, text_id AS item_id FROM own
  UNION ALL
  SELECT DISTINCT 'image' AS direction, text_id AS query_id, image_id AS item_id FROM own
),
hits AS (
  SELECT 'text' AS direction, query_id, item_id, rank FROM ranked_once(text_hits)
  UNION ALL
  SELECT 'image' AS direction, query_id, item_id, rank FROM ranked_once(image_hits)
)
SELECT a.direction, a.query_id, a.source_id, min(CASE WHEN p.item_id IS NOT NULL THEN h.rank END) AS rank
FROM askers AS a
JOIN hits AS h ON h.direction = a.direction AND h.query_id = a.query_id
LEFT JOIN pairs AS p ON p.direction = h.direction AND p.query_id = h.query_id AND p.item_id = h.item_id
GROUP BY a.direction, a.query_id, a.source_id

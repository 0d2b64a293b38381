/*--- toml
answers = "Kinds of scenes as topics of images: what caption_clusters found, for known_attributes."
details = """
topic is the cluster's number and the first three of its words, as 'scene: 3 (dog, frisbee, grass)'.
"""
source = "clusters as in Smith et al., Balancing the Picture (2023), Table 5"

[params.clusters]
relation = ["image_id", "cluster"]
about = "such as caption_clusters_set"

[params.words]
relation = ["cluster", "words"]
about = "such as caption_clusters_words"
---*/
WITH named AS (
  SELECT
    cluster,
    CASE WHEN array_length(words) > 0 THEN words[1] END AS first,
    CASE WHEN array_length(words) > 1 THEN words[2] END AS second,
    CASE WHEN array_length(words) > 2 THEN words[3] END AS third
  FROM words
)
SELECT DISTINCT
  c.image_id,
  concat(
    'scene: ',
    c.cluster,
    CASE WHEN n.first IS NULL THEN '' ELSE concat(' (', concat_ws(', ', n.first, n.second, n.third), ')') END
  ) AS topic
FROM clusters AS c
LEFT JOIN named AS n ON n.cluster = c.cluster

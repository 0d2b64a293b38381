/*--- toml
answers = "Topics of texts and of their images, by sparse autoencoders: what sae_topics found, for known_attributes."
details = """
A text has the keep topics with the highest scores: sums over features of activation x p(t|F), as in topic_examples, at
the highest threshold, where clusters of topics are smallest. topic is the name of such a cluster. Ties by name.
"""
source = "scores as in topic_examples"

[params.features]
relation = ["item_id", "image_id", "sae", "feature", "activation"]
about = "such as feature_rows(sae_texts)"

[params.shares]
relation = ["step", "sae", "feature", "cluster", "share"]
about = "such as sae_feature_topics"

[params.keep]
type = "integer"
default = 3
min = 1
about = "topics of a text"
---*/
WITH standing AS (
  SELECT s.feature, s.cluster, s.share
  FROM shares AS s
  JOIN (SELECT max(step) AS step FROM shares) AS h ON h.step = s.step
),
scored AS (
  SELECT f.item_id, f.image_id, s.cluster AS topic, sum(CAST(f.activation * s.share AS DECIMAL(38, 12))) AS score
  FROM features AS f
  JOIN standing AS s ON s.feature = f.feature
  GROUP BY f.item_id, f.image_id, s.cluster
),
ranked AS (
  SELECT *, row_number() OVER (PARTITION BY item_id ORDER BY score DESC, topic) AS rank FROM scored
)
SELECT item_id, image_id, topic FROM ranked WHERE rank <= $keep

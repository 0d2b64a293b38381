/*--- toml
answers = "The texts, and their images, that show a topic most: where the features that stand for it are most active."
details = """
A text's score is the sum over features of activation x p(t|F), divided by the number of autoencoders; p(t|F) is that of
the topic's cluster at the highest threshold, where clusters are smallest. Ties by item_id. Texts of one image can all
be among them.
"""
source = "most activating texts of features as in Girrbach et al. (2025), topic analysis"

[params.items]
relation = ["item_id", "image_id", "text"]

[params.features]
relation = ["item_id", "sae", "feature", "activation"]
about = "as feature_rows() gives them"

[params.shares]
relation = ["step", "sae", "feature", "cluster", "share"]
about = "as feature_topics() gives them"

[params.clusters]
relation = ["step", "cluster", "topic"]
about = "as topic_clusters() gives them"

[params.chosen]
relation = ["topic"]
default = "(SELECT DISTINCT topic FROM clusters)"
about = "those that are wanted"

[params.k]
type = "integer"
default = 5
min = 1
about = "texts of a topic"
---*/
WITH highest AS (
  SELECT max(step) AS step FROM clusters
),
wanted AS (
  SELECT DISTINCT c.topic, c.cluster
  FROM clusters AS c
  JOIN highest AS h ON h.step = c.step
  JOIN chosen AS w ON w.topic = c.topic
),
standing AS (
  SELECT w.topic, s.feature, s.share
  FROM shares AS s
  JOIN highest AS h ON h.step = s.step
  JOIN wanted AS w ON w.cluster = s.cluster
),
autoencoders AS (
  SELECT count(DISTINCT sae) AS n FROM shares
),
scored AS (
  SELECT
    d.topic,
    f.item_id,
    CAST(sum(CAST(f.activation * d.share AS DECIMAL(38, 12))) AS DOUBLE) / (SELECT n FROM autoencoders) AS score
  FROM features AS f
  JOIN standing AS d ON d.feature = f.feature
  GROUP BY d.topic, f.item_id
),
ranked AS (
  SELECT
    topic,
    item_id,
    score,
    CAST(row_number() OVER (PARTITION BY topic ORDER BY score DESC, item_id) AS INTEGER) AS rank
  FROM scored
)
SELECT r.topic, r.rank, r.item_id, i.image_id, i.text, r.score
FROM ranked AS r
JOIN items AS i ON i.item_id = r.item_id
WHERE r.rank <= $k

-- topic_examples: The texts, and their images, that show a topic most: where the features that stand for it are most active.
--
-- A text's score is the sum over features of activation x p(t|F), divided by the number of autoencoders; p(t|F) is that of the
-- topic's cluster at the highest threshold, where clusters are smallest. Ties by item_id. Texts of one image can all be among them.
--
-- source: most activating texts of features as in Girrbach et al. (2025), topic analysis
-- param items relation : (item_id, image_id, text)
-- param features relation : (item_id, sae, feature, activation), as feature_rows() gives them
-- param shares relation : (step, sae, feature, cluster, share), as feature_topics() gives them
-- param clusters relation : (step, cluster, topic), as topic_clusters() gives them
-- param chosen relation = (SELECT DISTINCT topic FROM clusters) : (topic) that are wanted
-- param k integer = 5 : at least 1; texts of a topic
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

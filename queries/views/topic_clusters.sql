/*--- toml
answers = "Clusters of topics that mean nearly the same, at several thresholds of similarity."
details = """
At each of steps thresholds, evenly spaced from least to most: in alphabetical order every topic that is in no cluster
yet begins one, and each later one joins whose cosine with all its members is above the threshold. A cluster is called
by its topics, joined by ", ".
"""
source = "Girrbach et al., Person-Centric Annotations of LAION-400M (2025), and the notebook that goes with it"
presets = { paper = "Girrbach et al. (2025)" }

[params.topic_vectors]
relation = ["topic", "embedding"]

[params.least]
type = "double"
default = 0.8
presets = { paper = { value = 0.8, source = "B.2" } }
about = "first threshold"

[params.most]
type = "double"
default = 0.95
presets = { paper = { value = 0.95, source = "B.2" } }
about = "last threshold"

[params.steps]
type = "integer"
default = 20
min = 1
presets = { paper = { value = 20, source = "B.2" } }
about = "how many"
---*/
WITH lists AS (
  SELECT
    list(topic ORDER BY topic) AS topics,
    list(CAST(embedding AS FLOAT[]) ORDER BY topic) AS vectors
  FROM topic_vectors
  WHERE topic IS NOT NULL AND embedding IS NOT NULL
  HAVING count(*) > 0
),
found AS (
  SELECT unnest(cluster_topics(topics, vectors, least := $least, most := $most, steps := $steps)) AS one FROM lists
)
SELECT one.step AS step, one.threshold AS threshold, one.cluster AS cluster, one.topic AS topic FROM found

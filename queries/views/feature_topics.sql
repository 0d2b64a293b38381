/*--- toml
answers = "Which topics the features of sparse autoencoders stand for, p(t|F), at every threshold of topic clusters."
details = """
The cosine of a feature's column of the decoder with the vector of every cluster of a step is computed; the keep largest
stay as far as they are above 0. share is such a cosine divided by the sum of those of the same feature and step.
"""
source = "Girrbach et al., Person-Centric Annotations of LAION-400M (2025), topic analysis"
presets = { paper = "Girrbach et al. (2025)" }

[params.clusters]
relation = ["step", "cluster"]
about = "as topic_clusters() gives them"

[params.cluster_vectors]
relation = ["cluster", "embedding"]
about = "made by the model that the autoencoders' vectors come from"

[params.checkpoint]
type = "varchar"
about = "folder that train_sae() wrote"

[params.keep]
type = "integer"
default = 5
min = 1
presets = { paper = { value = 5, source = "section 4.3, B.2" } }
about = "clusters that a feature keeps"
---*/
WITH named AS (
  SELECT DISTINCT step, cluster FROM clusters
),
lists AS (
  SELECT
    n.step,
    list(n.cluster ORDER BY n.cluster) AS topics,
    list(CAST(v.embedding AS FLOAT[]) ORDER BY n.cluster) AS vectors
  FROM named AS n
  JOIN cluster_vectors AS v ON v.cluster = n.cluster
  WHERE v.embedding IS NOT NULL
  GROUP BY n.step
),
found AS (
  SELECT step, unnest(name_features(topics, vectors, checkpoint := $checkpoint, keep := $keep)) AS one FROM lists
)
SELECT
  step,
  one.sae AS sae,
  one.feature AS feature,
  one.cluster AS cluster,
  one.cosine AS cosine,
  one.share AS share
FROM found

/*--- toml
answers = "Which topics go with which perceived label, by features of sparse autoencoders: PMI over many of them."
details = """
For each autoencoder and feature F: p(F) = activations of F / all activations, in texts of images with a clear label;
p(i|F) = share of label i among those of F, with smoothing added to the count of every label; p(t|F) as in
feature_topics. P(i), P(t) and P(i, t) are sums over features, pmi = ln(P(i, t) / (P(i) P(t))) of a label and a cluster
of topics, averaged over autoencoders. In one where no active feature stands for a cluster pmi is 0 (the released code,
which adds 1e-8 to p(t|F), gives nearly so). A topic's score is the sum of the pmi of the clusters that it is in, one a
threshold, divided by the number of thresholds, so that topics come in the order of the paper's sum: of all of them (rule
'all', the paper), or only of those that are among the best clusters of that label and threshold (rule 'best', the released
notebook, whose numbers the paper's Tables 3 and 4 print). low and high are a 95 % interval
over autoencoders (Student's t), which says how much the score depends on their training; none with a single one. There
is no p: autoencoders are trained on the same images, so that what they agree on may still be chance of these. count:
activations of the label in features that stand for the topic, each counted by p(t|F); mean over autoencoders and
thresholds. Pairs whose activations are in fewer than 10 images are left out, too: few says of how many.

Pairs of small counts are left out by the engine, and the pmi of a topic's other labels with them; n_suppressed says how many.
So are pairs without an activation, and labels that group_sizes hides. A score divides by a sum over all topics, hidden ones,
too, and would tell these: perceived labels need a purpose (docs/safety.md). Where smoothing is 0, as the paper prints none, a
label without any activation has a score of ln(1e-12).
Association in a dataset, not cause; labels are perceived, or those of words in captions.
"""
subject = "what goes with whom"
exact = true
source = """
Girrbach et al., Person-Centric Annotations of LAION-400M (2025), topic analysis, and the notebook that goes with it"""
presets = { paper = "Girrbach et al. (2025)", code = "its released notebook" }

[params.features]
relation = ["image_id", "sae", "feature"]
about = "as feature_rows() gives them"

[params.shares]
relation = ["step", "sae", "feature", "cluster", "share"]
about = "as feature_topics() gives them"

[params.clusters]
relation = ["step", "cluster", "topic"]
about = "as topic_clusters() gives them"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.rule]
type = "varchar"
default = "all"
choices = ["all", "best"]
presets = { paper = { value = "all", source = "B.2" }, code = { value = "best", source = "sae_topic_analysis.ipynb" } }
about = "clusters whose pmi counts"

[params.best]
type = "integer"
default = 25
min = 1
presets = { code = { value = 25, source = "sae_topic_analysis.ipynb" } }
free = true
about = "how many clusters of a label and threshold rule 'best' counts"

[params.smoothing]
type = "double"
default = 1
min = 0
presets = { code = { value = 1, source = "sae_topic_analysis.ipynb" }, paper = { value = 0, source = "B.2: none is printed" } }
about = "added to the count of every label in p(i|F); the default is that of the notebook, whose numbers the paper's tables print"

[params.top]
type = "integer"
default = 20
min = 1
presets = { paper = { value = 20, source = "B.2" }, code = { value = 20, source = "sae_topic_analysis.ipynb" } }
free = true
about = "topics of a label that are shown"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "pairs with fewer activations, or images, are left out"

[[cells]]
count = "count"
by = ["label"]
within = ["topic"]
omit = true

[[cells]]
count = "few"
omit = true

[[cells]]
count = "count"
within = ["label"]
omit = true
places = ["rank", "top"]
---*/
WITH members AS (
  SELECT DISTINCT g.image_id, g.label
  FROM groups AS g
  JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label AND s.used
  WHERE g.image_id IS NOT NULL
),
labels_n AS (
  SELECT label, count(*) AS n_label FROM members GROUP BY label
),
named AS (
  SELECT DISTINCT step, cluster, topic FROM clusters WHERE step IS NOT NULL AND cluster IS NOT NULL AND topic IS NOT NULL
),
totals AS (
  SELECT
    (SELECT count(DISTINCT image_id) FROM members) AS n,
    (SELECT count(*) FROM labels_n) AS labels,
    (SELECT count(DISTINCT step) FROM named) AS steps
),
active AS (
  SELECT f.sae, f.feature, m.label, count(*) AS count
  FROM features AS f
  JOIN members AS m ON m.image_id = f.image_id
  WHERE f.sae IS NOT NULL AND f.feature IS NOT NULL
  GROUP BY f.sae, f.feature, m.label
),
features_n AS (
  SELECT sae, feature, CAST(sum(count) AS BIGINT) AS n FROM active GROUP BY sae, feature
),
saes_n AS (
  SELECT sae, CAST(sum(n) AS BIGINT) AS n FROM features_n GROUP BY sae
),
autoencoders AS (
  SELECT count(*) AS saes FROM saes_n
),
-- p(F) p(i|F)
weights AS (
  SELECT
    f.sae,
    f.feature,
    l.label,
    coalesce(a.count, 0) AS count,
    CAST(f.n AS DOUBLE) / s.n
    * (coalesce(a.count, 0) + CAST($smoothing AS DOUBLE)) / (f.n + t.labels * CAST($smoothing AS DOUBLE)) AS weight
  FROM features_n AS f
  JOIN saes_n AS s ON s.sae = f.sae
  CROSS JOIN labels_n AS l
  CROSS JOIN totals AS t
  LEFT JOIN active AS a ON a.sae = f.sae AND a.feature = f.feature AND a.label = l.label
),
label_p AS (
  SELECT sae, label, CAST(sum(CAST(weight AS DECIMAL(38, 18))) AS DOUBLE) AS p FROM weights GROUP BY sae, label
),
joint AS (
  SELECT
    s.step,
    w.sae,
    w.label,
    s.cluster,
    CAST(sum(CAST(w.weight * s.share AS DECIMAL(38, 18))) AS DOUBLE) AS p,
    CAST(sum(CAST(w.count * s.share AS DECIMAL(38, 9))) AS DOUBLE) AS count
  FROM weights AS w
  JOIN (
    SELECT DISTINCT step, sae, feature, cluster, share
    FROM shares
    WHERE step IS NOT NULL AND cluster IS NOT NULL AND NOT isnan(CAST(share AS DOUBLE))
  ) AS s ON s.sae = w.sae AND s.feature = w.feature
  GROUP BY s.step, w.sae, w.label, s.cluster
),
cluster_p AS (
  SELECT step, sae, cluster, CAST(sum(CAST(p AS DECIMAL(38, 18))) AS DOUBLE) AS p
  FROM joint
  GROUP BY step, sae, cluster
),
cells AS (
  SELECT j.step, j.sae, j.label, j.cluster, j.count, round(ln(greatest(j.p / l.p / c.p, 1e-12)), 12) AS pmi
  FROM joint AS j
  JOIN label_p AS l ON l.sae = j.sae AND l.label = j.label
  JOIN cluster_p AS c ON c.step = j.step AND c.sae = j.sae AND c.cluster = j.cluster
  WHERE c.p > 0 AND l.p > 0
),
means AS (
  SELECT
    step,
    label,
    cluster,
    row_number() OVER (
      PARTITION BY step, label ORDER BY sum(CAST(pmi AS DECIMAL(38, 18))) DESC, cluster
    ) AS place
  FROM cells
  GROUP BY step, label, cluster
),
active_images AS (
  SELECT m.label, k.topic, count(DISTINCT m.image_id) AS images
  FROM members AS m
  JOIN features AS f ON f.image_id = m.image_id
  JOIN shares AS s ON s.sae = f.sae AND s.feature = f.feature AND s.share > 0 AND NOT isnan(CAST(s.share AS DOUBLE))
  JOIN named AS k ON k.step = s.step AND k.cluster = s.cluster
  GROUP BY m.label, k.topic
),
-- every autoencoder's own score
own AS (
  SELECT
    c.sae,
    c.label,
    k.topic,
    CAST(sum(CASE WHEN $rule = 'all' OR m.place <= $best THEN CAST(c.pmi AS DECIMAL(38, 18)) ELSE 0 END) AS DOUBLE)
    / t.steps AS score,
    CAST(sum(CAST(c.count AS DECIMAL(38, 9))) AS DOUBLE) / t.steps AS count,
    count(CASE WHEN $rule = 'all' OR m.place <= $best THEN 1 END) AS thresholds
  FROM cells AS c
  JOIN means AS m ON m.step = c.step AND m.label = c.label AND m.cluster = c.cluster
  JOIN named AS k ON k.step = c.step AND k.cluster = c.cluster
  CROSS JOIN totals AS t
  WHERE $rule IN ('all', 'best')
  GROUP BY c.sae, c.label, k.topic, t.steps
),
scores AS (
  SELECT
    o.label,
    o.topic,
    a.saes,
    count(*) AS found,
    max(o.thresholds) AS thresholds,
    CAST(sum(CAST(o.score AS DECIMAL(38, 18))) AS DOUBLE) / a.saes AS score,
    CAST(sum(CAST(o.count AS DECIMAL(38, 9))) AS DOUBLE) / a.saes AS count
  FROM own AS o
  CROSS JOIN autoencoders AS a
  GROUP BY o.label, o.topic, a.saes
),
spreads AS (
  SELECT
    s.label,
    s.topic,
    sqrt(
      (
        CAST(sum(CAST((o.score - s.score) * (o.score - s.score) AS DECIMAL(38, 18))) AS DOUBLE)
        + (s.saes - s.found) * s.score * s.score
      ) / nullif(s.saes - 1, 0) / s.saes
    ) * student_point(s.saes - 1) AS half
  FROM scores AS s
  JOIN own AS o ON o.label = s.label AND o.topic = s.topic
  GROUP BY s.label, s.topic, s.saes, s.found, s.score
),
ranked AS (
  SELECT
    *,
    CASE
      WHEN thresholds > 0
        THEN CAST(row_number() OVER (
          PARTITION BY label, thresholds > 0 ORDER BY round(score, 12) DESC, topic
        ) AS INTEGER)
    END AS rank
  FROM scores
  WHERE count > 0 OR $min_count = 0
)
SELECT
  r.label,
  r.rank,
  r.topic,
  r.score,
  r.score - p.half AS low,
  r.score + p.half AS high,
  r.count,
  CAST(r.thresholds AS INTEGER) AS thresholds,
  CAST(r.saes AS INTEGER) AS saes,
  CASE WHEN i.images < least($min_count, 10) THEN i.images END AS few,
  l.n_label,
  t.n
FROM ranked AS r
JOIN spreads AS p ON p.label = r.label AND p.topic = r.topic
JOIN labels_n AS l ON l.label = r.label
LEFT JOIN active_images AS i ON i.label = r.label AND i.topic = r.topic
CROSS JOIN totals AS t
ORDER BY r.label, r.rank, r.topic

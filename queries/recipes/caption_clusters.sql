/*--- toml
answers = "What captions are about, and which perceived group each kind of scene shows more often."
details = """
Captions are made neutral, embedded, and put into clusters (K-means); a cluster gets the words that mark it and the
topics of its captions; cluster_representation then tells in which clusters a group is over-represented. With unit
'image' the mean of an image's vectors is clustered, as in the paper, and its captions all have the image's cluster;
with 'caption' each caption has its own, and an image may be in several.

caption_clusters_set has the cluster of every caption, cluster 1 being the largest where centroids were learned;
caption_clusters_words the words, caption_clusters_map a sample of captions on a map that the report draws.

Centroids are learned from at most fit_sample captions of fit (or means over these of so many images), chosen by a hash
of their ids. New captions are put to the nearest centroid; where they are not among those of fit, no centroid moves and
no other unit changes its cluster.
"""
source = """
Smith et al., Balancing the Picture: Debiasing Vision-Language Datasets with Synthetic Contrast Sets (2023), Table 5"""
presets = { paper = "Smith et al. (2023)" }

[params.sentences]
type = "varchar"
default = "sentence-transformers/all-MiniLM-L6-v2"
presets = { paper = { value = "FacebookAI/roberta-base", source = "D.1: RoBERTa; which of them is not printed" } }
about = "model of embed_sentence; the default is smaller, and trained for sentences"

[params.fit]
relation = ["caption_id"]
default = "captions"
about = "captions that centroids are learned from"

[params.fit_sample]
type = "integer"
default = 100000
min = 1
about = "so many of them, or of their images, at most"

[params.unit]
type = "varchar"
default = "caption"
choices = ["caption", "image"]
presets = { paper = { value = "image", source = "D.1" } }
about = "what is put into clusters: captions, or images by the mean of their captions' vectors; the default tells captions of one image apart"

[params.clusters]
type = "integer"
default = 20
min = 1
presets = { paper = { value = 20, source = "D.1" } }
about = "how many"

[params.seed]
type = "integer"
default = 0
about = "of K-means, topics and map"

[params.starts]
type = "integer"
default = 10
min = 1
about = "runs of K-means, of which the best is kept"

[params.device]
type = "varchar"
default = "auto"
about = "where K-means runs: 'auto', 'cpu', 'cuda'"

[params.words]
type = "integer"
default = 10
min = 1
presets = { paper = { value = 10, source = "Table 5" } }
about = "words a cluster, and a topic"

[params.topics]
type = "integer"
default = 3
min = 1
about = "topics a cluster"

[params.prior]
type = "double"
default = 500
above = 0
about = "words of the prior of log-odds"

[params.map_sample]
type = "integer"
default = 2000
min = 0
about = "captions, or images, on the map"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" } }
about = "group relation; the default knows more words than the paper"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "words, and images of a label in a cluster, below which nothing is shown"
---*/

-- step embed: vectors of captions without their gendered words
ALTER TABLE captions ADD COLUMN IF NOT EXISTS neutral AS (neutralize(text));
ALTER TABLE captions ADD COLUMN IF NOT EXISTS neutral_vector AS (embed_sentence(neutral, $sentences));
REFRESH captions.neutral, captions.neutral_vector;

-- step fit: learn the centroids
CREATE MATERIALIZED VIEW IF NOT EXISTS caption_clusters_centroids WITH (key = 'cluster') AS
WITH units AS (
  SELECT
    CASE WHEN $unit = 'image' THEN c.image_id ELSE c.caption_id END AS unit_id,
    list(c.neutral_vector ORDER BY c.caption_id) AS vectors
  FROM captions AS c
  JOIN (SELECT DISTINCT caption_id FROM $fit AS f) AS f ON f.caption_id = c.caption_id
  WHERE c.neutral_vector IS NOT NULL AND $unit IN ('caption', 'image')
  GROUP BY 1
  HAVING unit_id IS NOT NULL
),
chosen AS (
  SELECT unit_id, mean_vector(vectors) AS vector
  FROM (SELECT * FROM units ORDER BY md5_number_lower(concat('fit:', $seed, ':', unit_id)), unit_id LIMIT $fit_sample) AS u
),
learned AS (
  SELECT kmeans(list(vector ORDER BY unit_id), $clusters, $seed, $starts, $device) AS centroids FROM chosen
)
SELECT unnest(range(1, len(centroids) + 1)) AS cluster, unnest(centroids) AS centroid FROM learned;
REFRESH caption_clusters_centroids;

-- step assign: the nearest centroid of every caption or image, the first of equally near ones
CREATE MATERIALIZED VIEW IF NOT EXISTS caption_clusters_set WITH (key = 'caption_id') AS
WITH units AS (
  SELECT
    CASE WHEN $unit = 'image' THEN image_id ELSE caption_id END AS unit_id,
    mean_vector(list(neutral_vector ORDER BY caption_id)) AS vector
  FROM captions
  WHERE neutral_vector IS NOT NULL
  GROUP BY 1
),
nearest AS (
  SELECT
    u.unit_id,
    arg_min(k.cluster, struct_pack(far := list_distance(u.vector, k.centroid), cluster := k.cluster)) AS cluster
  FROM units AS u
  CROSS JOIN caption_clusters_centroids AS k
  GROUP BY u.unit_id
)
SELECT c.caption_id, c.image_id, n.cluster
FROM captions AS c
JOIN nearest AS n ON n.unit_id = CASE WHEN $unit = 'image' THEN c.image_id ELSE c.caption_id END
WHERE c.neutral_vector IS NOT NULL;
REFRESH caption_clusters_set;

-- step words: what marks every cluster: words by log-odds against the others, and topics (LDA)
CREATE MATERIALIZED VIEW IF NOT EXISTS caption_clusters_words WITH (key = 'cluster') AS
WITH stop AS (
  SELECT list(DISTINCT term ORDER BY term) AS terms FROM lists.stop_words
),
marks AS (
  SELECT part AS cluster, list(word ORDER BY place) AS words
  FROM distinctive_words(
    (
      SELECT s.cluster AS part, c.neutral AS text
      FROM caption_clusters_set AS s
      JOIN captions AS c ON c.caption_id = s.caption_id
    ),
    prior := $prior, top := $words, min_count := $min_count
  )
  GROUP BY part
),
said AS (
  SELECT
    s.cluster,
    count(*) AS captions,
    count(DISTINCT s.image_id) AS images,
    list(c.neutral ORDER BY s.caption_id) AS neutral
  FROM caption_clusters_set AS s
  JOIN captions AS c ON c.caption_id = s.caption_id
  GROUP BY s.cluster
)
SELECT
  s.cluster,
  s.captions,
  s.images,
  m.words,
  lda(s.neutral, o.terms, topics := $topics, top := $words, seed := $seed) AS topics
FROM said AS s
CROSS JOIN stop AS o
LEFT JOIN marks AS m ON m.cluster = s.cluster;
REFRESH caption_clusters_words;

-- step map: a sample of captions, or the first captions of images, on a map (t-SNE)
CREATE MATERIALIZED VIEW IF NOT EXISTS caption_clusters_map WITH (key = 'caption_id') AS
WITH chosen AS (
  SELECT
    CASE WHEN $unit = 'image' THEN image_id ELSE caption_id END AS unit_id,
    min(caption_id) AS caption_id,
    min(image_id) AS image_id,
    min(cluster) AS cluster
  FROM caption_clusters_set
  GROUP BY 1
  ORDER BY md5_number_lower(concat('map:', $seed, ':', unit_id)), unit_id
  LIMIT $map_sample
),
units AS (
  SELECT o.unit_id, mean_vector(list(c.neutral_vector ORDER BY c.caption_id)) AS vector
  FROM chosen AS o
  JOIN captions AS c ON o.unit_id = CASE WHEN $unit = 'image' THEN c.image_id ELSE c.caption_id END
  WHERE c.neutral_vector IS NOT NULL
  GROUP BY o.unit_id
),
placed AS (
  SELECT
    unnest(list(unit_id ORDER BY unit_id)) AS unit_id,
    unnest(tsne(list(vector ORDER BY unit_id), seed := $seed)) AS place
  FROM units
)
SELECT c.caption_id, c.image_id, c.cluster, p.place.x AS x, p.place.y AS y
FROM chosen AS c
JOIN placed AS p ON p.unit_id = c.unit_id;
REFRESH caption_clusters_map;

-- step found: in which clusters labels are over-represented
SELECT r.cluster, r.label, w.words, r.count, r.n, r.share, r.difference, r.low, r.high, r.suppressed
FROM cluster_representation(caption_clusters_set, $groups, $min_count) AS r
JOIN caption_clusters_words AS w ON w.cluster = r.cluster
ORDER BY r.label, r.difference DESC NULLS LAST, r.cluster;

/*--- toml
answers = "Topics that go with perceived labels, by sparse autoencoders of the vectors of texts."
details = """
Texts become vectors; a grid of sparse autoencoders learns to tell each vector by few of many features; each feature
stands for the topics whose vectors are nearest to its column of the decoder. How often features are active in texts of
images of each label then says which topics go with it (topic_pmi), and the texts in which they are most active show
what is meant.

Any texts will do: captions of images, or descriptions of people, as in the recipe laion400m: texts := (SELECT
detection_id AS item_id, image_id, caption AS text FROM people). Every step can be run alone (--until) and again;
another grid, or other texts, want another folder for the autoencoders.

The paper trains 24 autoencoders of both kinds on about 200 million descriptions of people with granite embeddings, and
names features by 2392 topics, which it does not print; defaults here are small enough for two cores and some ten thousand
captions. How many batches of how many texts its autoencoders learn from, it does not print either.
"""
source = """
Girrbach et al., Person-Centric Annotations of LAION-400M (2025), topic analysis, and the code that goes with it"""
presets = { paper = "Girrbach et al. (2025)", code = "its notebook, of autoencoders that are there" }

[params.texts]
relation = ["item_id", "image_id", "text"]
default = "(SELECT caption_id AS item_id, image_id, text FROM captions)"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.topics]
relation = ["term"]
default = "lists.topics"
about = "the topics that features may stand for"

[params.model]
type = "varchar"
default = "sentence-transformers/all-MiniLM-L6-v2"
presets = { paper = { value = "ibm-granite/granite-embedding-english-r2", source = "B.2" } }
about = "model of embed_sentence; the default is a smaller one"

[params.checkpoint]
type = "varchar"
about = "folder of the autoencoders; training writes it"

[params.kinds]
type = "varchar[]"
default = ["top_k", "batch_top_k"]
presets = { paper = { value = ["top_k", "batch_top_k"], source = "B.2" } }
about = "kinds of autoencoders"

[params.lr]
type = "double[]"
default = [0.001]
above = 0
presets = { paper = { value = [0.001, 0.0001], source = "B.2" } }
about = "learning rates; the default is one, for a CPU"

[params.expansion]
type = "integer[]"
default = [4]
min = 1
presets = { paper = { value = [16, 32, 64], source = "B.2" } }
about = "features for each dimension of a vector; the default, like those of the other settings, is a small one, for a CPU"

[params.k]
type = "integer[]"
default = [16, 32]
min = 1
presets = { paper = { value = [20, 32], source = "B.2" } }
about = "features that a vector keeps; the default goes with fewer features"

[params.seeds]
type = "integer[]"
default = [0]
about = "first weights and order of texts"

[params.steps]
type = "integer"
default = 2000
min = 1
about = "batches that each autoencoder learns from"

[params.batch_size]
type = "integer"
default = 1024
min = 1
about = "texts a batch"

[params.least]
type = "double"
default = 0.8
presets = { paper = { value = 0.8, source = "B.2" } }
about = "first threshold of topic_clusters"

[params.most]
type = "double"
default = 0.95
presets = { paper = { value = 0.95, source = "B.2" } }
about = "last threshold"

[params.thresholds]
type = "integer"
default = 20
min = 1
presets = { paper = { value = 20, source = "B.2" } }
about = "how many thresholds"

[params.keep]
type = "integer"
default = 5
min = 1
presets = { paper = { value = 5, source = "section 4.3, B.2" } }
about = "clusters of topics that a feature stands for"

[params.rule]
type = "varchar"
default = "all"
choices = ["all", "best"]
presets = { paper = { value = "all", source = "B.2" }, code = { value = "best", source = "sae_topic_analysis.ipynb" } }
about = "clusters whose pmi counts, see topic_pmi"

[params.smoothing]
type = "double"
default = 1
min = 0
presets = { paper = { value = 0, source = "B.2: none is printed" }, code = { value = 1, source = "sae_topic_analysis.ipynb" } }
about = "added to the count of every label in p(i|F), see topic_pmi; the default is that of the notebook"

[params.top]
type = "integer"
default = 20
min = 1
presets = { paper = { value = 20, source = "B.2" }, code = { value = 20, source = "sae_topic_analysis.ipynb" } }
about = "topics of a label that are shown"

[params.examples]
type = "integer"
default = 5
min = 1
about = "texts of a topic that are shown"
---*/

-- step texts: texts, each with its image
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_texts WITH (key = 'item_id') AS
SELECT item_id, image_id, text FROM $texts;
REFRESH sae_texts;

-- step embed: texts as vectors
ALTER TABLE sae_texts ADD COLUMN IF NOT EXISTS embedding AS (embed_sentence(text, $model));
REFRESH sae_texts.embedding;

-- step train: sparse autoencoders of the vectors, with their dead features and how well they put vectors together again
CALL train_sae(
  vectors := sae_texts, column := 'embedding', output := $checkpoint, kinds := $kinds, lr := $lr,
  expansion := $expansion, k := $k, seeds := $seeds, steps := $steps, batch_size := $batch_size
);

-- step features: which features each text has
ALTER TABLE sae_texts ADD COLUMN IF NOT EXISTS features AS (sae_features(embedding, $checkpoint));
REFRESH sae_texts.features;

-- step topics: topics as vectors
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_topic_list WITH (key = 'topic') AS
SELECT DISTINCT term AS topic FROM $topics WHERE term IS NOT NULL;
REFRESH sae_topic_list;
ALTER TABLE sae_topic_list ADD COLUMN IF NOT EXISTS embedding AS (embed_sentence(topic, $model));
REFRESH sae_topic_list.embedding;

-- step clusters: topics that mean nearly the same, at several thresholds; clusters as vectors of their joined names
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_topic_clusters WITH (key = 'step, topic') AS
SELECT step, topic, threshold, cluster FROM topic_clusters(sae_topic_list, least := $least, most := $most, steps := $thresholds);
REFRESH sae_topic_clusters;
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_cluster_list WITH (key = 'cluster') AS
SELECT DISTINCT cluster FROM sae_topic_clusters;
REFRESH sae_cluster_list;
ALTER TABLE sae_cluster_list ADD COLUMN IF NOT EXISTS embedding AS (embed_sentence(cluster, $model));
REFRESH sae_cluster_list.embedding;

-- step names: which topics each feature stands for
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_feature_topics WITH (key = 'step, feature, cluster') AS
SELECT step, feature, cluster, sae, cosine, share
FROM feature_topics(sae_topic_clusters, sae_cluster_list, checkpoint := $checkpoint, keep := $keep);
REFRESH sae_feature_topics;

-- step pmi: topics that go with each label
SELECT *
FROM topic_pmi(
  feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters,
  groups := $groups, rule := $rule, smoothing := $smoothing, top := $top
);

-- step examples: texts and images that show these topics most
SELECT topic, rank, image_id, text, score
FROM topic_examples(
  sae_texts, feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters,
  chosen := (
    SELECT DISTINCT topic
    FROM topic_pmi(
      feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters,
      groups := $groups, rule := $rule, smoothing := $smoothing, top := $top
    )
  ),
  k := $examples
)
ORDER BY topic, rank;

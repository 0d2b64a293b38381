-- sae_topics: Topics that go with perceived labels, by sparse autoencoders of the vectors of texts.
--
-- Texts become vectors; a grid of sparse autoencoders learns to tell each vector by few of many features; each feature stands
-- for the topics whose vectors are nearest to its column of the decoder. How often features are active in texts of images of
-- each label then says which topics go with it (topic_pmi), and the texts in which they are most active show what is meant.
--
-- Any texts will do: captions of images, or descriptions of people, as in the recipe laion400m:
-- texts := (SELECT detection_id AS item_id, image_id, caption AS text FROM people). Every step can be run alone (--until) and
-- again; another grid, or other texts, want another folder for the autoencoders.
--
-- The paper trains 24 autoencoders of both kinds on about 200 million descriptions of people with granite embeddings, and names
-- features by several thousand topics; defaults here are small enough for two cores and some ten thousand captions.
--
-- source: Girrbach et al., Person-Centric Annotations of LAION-400M (2025), topic analysis, and the code that goes with it
-- param texts relation = (SELECT caption_id AS item_id, image_id, text FROM captions) : (item_id, image_id, text)
-- param groups relation = caption_gender : group relation (image_id, label)
-- param topics relation = lists.topics : (term), the topics that features may stand for
-- param model varchar = 'sentence-transformers/all-MiniLM-L6-v2' : model of embed_sentence
-- param checkpoint varchar : folder of the autoencoders; training writes it
-- param kinds varchar[] = ['top_k', 'batch_top_k'] : kinds of autoencoders
-- param lr double[] = [0.001] : above 0; learning rates
-- param expansion integer[] = [4] : at least 1; features for each dimension of a vector
-- param k integer[] = [16, 32] : at least 1; features that a vector keeps
-- param seeds integer[] = [0] : first weights and order of texts
-- param steps integer = 2000 : at least 1; batches that each autoencoder learns from
-- param batch_size integer = 1024 : at least 1; texts a batch
-- param rule varchar = 'all' : one of 'all', 'best'; clusters whose pmi counts, see topic_pmi
-- param top integer = 20 : at least 1; topics of a label that are shown
-- param examples integer = 5 : at least 1; texts of a topic that are shown

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

-- step clusters: topics that mean nearly the same, at 20 thresholds; clusters as vectors of their joined names
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_topic_clusters WITH (key = 'step, topic') AS
SELECT step, topic, threshold, cluster FROM topic_clusters(sae_topic_list);
REFRESH sae_topic_clusters;
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_cluster_list WITH (key = 'cluster') AS
SELECT DISTINCT cluster FROM sae_topic_clusters;
REFRESH sae_cluster_list;
ALTER TABLE sae_cluster_list ADD COLUMN IF NOT EXISTS embedding AS (embed_sentence(cluster, $model));
REFRESH sae_cluster_list.embedding;

-- step names: which topics each feature stands for
CREATE MATERIALIZED VIEW IF NOT EXISTS sae_feature_topics WITH (key = 'step, feature, cluster') AS
SELECT step, feature, cluster, sae, cosine, share
FROM feature_topics(sae_topic_clusters, sae_cluster_list, checkpoint := $checkpoint);
REFRESH sae_feature_topics;

-- step pmi: topics that go with each label
SELECT *
FROM topic_pmi(
  feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters, groups := $groups, rule := $rule, top := $top
);

-- step examples: texts and images that show these topics most
SELECT topic, rank, image_id, text, score
FROM topic_examples(
  sae_texts, feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters,
  chosen := (
    SELECT DISTINCT topic
    FROM topic_pmi(
      feature_rows(sae_texts), sae_feature_topics, sae_topic_clusters, groups := $groups, rule := $rule, top := $top
    )
  ),
  k := $examples
)
ORDER BY topic, rank;

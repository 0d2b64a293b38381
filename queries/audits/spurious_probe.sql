/*--- toml
answers = "Can a perceived group be told from what is around people: images with masked persons, neutral captions?"
details = """
A classifier learns to tell label from against, as many of each, and is judged by images that it has not seen. Rows by
features ('texts': captions whose words of the label are masked; 'vectors': such as embeddings of images whose persons
are masked, where given; 'control': those of the same images as they are, where given, which say what vectors of this
kind tell at all) and metric: 'auc', area under the ROC curve, and 'accuracy'; 0.5 where nothing tells the group, as it
should be in a balanced or contrast set, but for the control. Images and cuts are the same for all features: those that
have a text, a vector and a control where any has one. 95 % intervals are over seeds, each another cut of the images
(split_interval). n: texts or vectors of one cut, n_test: of which it was judged by. Items of one source are never on
two sides of a cut: for a contrast set give edits as groups, texts and vectors, and in sources the image that each was
made from. Labels are perceived, or those of words in captions; that they can be told says nothing of why.

n_label and n_against: images of each label. The engine hides rows where one has few, or group_sizes hides it (docs/safety.md).
"""
subject = "contrast sets"
source = """
probes as in Wang et al., Balanced datasets are not enough (2019); Hirota et al., Resampled datasets are not enough
(2024); Smith et al., Balancing the Picture (GenSynth, 2023), D.4, which fine-tunes a BERT and a ResNet-50, and has the
control"""
among = [{ labels = ["label", "against"], relations = ["groups"] }]
presets = { paper = "Smith et al. (2023), texts" }

[params.texts]
relation = ["image_id", "text"]
default = "captions"
about = "what a classifier learns from; words of the label are masked"

[params.vectors]
relation = ["image_id", "embedding"]
default = "(SELECT image_id, CAST([] AS FLOAT[]) AS embedding FROM images WHERE 1 = 0)"
about = "of images with masked persons"

[params.control]
relation = ["image_id", "embedding"]
default = "(SELECT image_id, CAST([] AS FLOAT[]) AS embedding FROM images WHERE 1 = 0)"
about = "of the same images as they are"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { paper = { value = "caption_gender(lists.gender_gensynth_paper, 'gensynth')", source = "Table 3; how captions are cut is the code's" } }
about = "group relation; the default knows more words"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT DISTINCT image_id, image_id AS source_id FROM groups)"
grid = []
about = "which items stay together; one that is not here goes by its own id"

[params.label]
type = "varchar"
default = "female"
about = "label that is told"

[params.against]
type = "varchar"
default = "male"
about = "from this one"

[params.words]
relation = ["term"]
default = "lists.gender_masked"
presets = { paper = { value = "(SELECT term FROM lists.gender_gensynth_paper)", source = "Table 3" } }
about = "words that tell the label by themselves and are masked; the default knows more"

[params.attacker]
type = "varchar"
default = "logistic"
choices = ["logistic", "mlp", "lstm", "bert"]
presets = { paper = { value = "bert", source = "D.4" } }
about = "what learns from texts: regression, or a network (needs torch); 'bert' is fine-tuned; the default needs no torch"

[params.vector_attacker]
type = "varchar"
default = "logistic"
choices = ["logistic", "mlp"]
about = "what learns from vectors"

[params.seeds]
type = "integer"
default = 5
min = 1
free = true
about = "how many cuts"

[params.test_share]
type = "double"
default = 0.2
above = 0
below = 1
about = "share of images to judge by"

[params.epochs]
type = "integer"
optional = true
min = 1
free = true
about = "of networks at most; those of their papers otherwise"

[params.learning_rate]
type = "double"
optional = true
above = 0
free = true
about = "likewise"

[params.model]
type = "varchar"
default = "google-bert/bert-base-uncased"
presets = { paper = { value = "google-bert/bert-base-uncased", source = "D.4: BERT-base; whether cased is not printed" } }
about = "checkpoint of 'bert'"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images of a label are hidden"

[[cells]]
count = "n_label"
within = ["features", "metric"]

[[cells]]
count = "n_against"
within = ["features", "metric"]
---*/
WITH members AS (
  SELECT g.image_id, min(g.label) AS label, min(coalesce(o.source_id, g.image_id)) AS source_id
  FROM groups AS g
  LEFT JOIN sources AS o ON o.image_id = g.image_id
  WHERE g.label IN ($label, $against)
    AND (
      g.image_id IN (SELECT image_id FROM texts WHERE text IS NOT NULL)
      OR (SELECT count(*) FROM texts WHERE text IS NOT NULL) = 0
    )
    AND (
      g.image_id IN (SELECT image_id FROM vectors WHERE embedding IS NOT NULL)
      OR (SELECT count(*) FROM vectors WHERE embedding IS NOT NULL) = 0
    )
    AND (
      g.image_id IN (SELECT image_id FROM control WHERE embedding IS NOT NULL)
      OR (SELECT count(*) FROM control WHERE embedding IS NOT NULL) = 0
    )
  GROUP BY g.image_id
  HAVING min(g.label) = max(g.label)
),
unused AS (
  SELECT count(CASE WHEN NOT used THEN 1 END) > 0 AS suppressed
  FROM group_sizes(groups, $min_count)
  WHERE label IN ($label, $against)
),
terms AS (
  SELECT list(DISTINCT term ORDER BY term) AS terms FROM words
),
said AS MATERIALIZED (
  SELECT
    count(DISTINCT CASE WHEN m.label = $label THEN m.image_id END) AS n_label,
    count(DISTINCT CASE WHEN m.label = $against THEN m.image_id END) AS n_against,
    list(m.source_id ORDER BY m.source_id, m.image_id, t.text) AS sources_of,
    list(t.text ORDER BY m.source_id, m.image_id, t.text) AS texts_of,
    list(m.label ORDER BY m.source_id, m.image_id, t.text) AS labels_of
  FROM members AS m
  JOIN texts AS t ON t.image_id = m.image_id
  WHERE t.text IS NOT NULL
),
seen AS MATERIALIZED (
  SELECT
    count(DISTINCT CASE WHEN m.label = $label THEN m.image_id END) AS n_label,
    count(DISTINCT CASE WHEN m.label = $against THEN m.image_id END) AS n_against,
    list(m.source_id ORDER BY m.source_id, m.image_id, v.embedding) AS sources_of,
    list(CAST(v.embedding AS FLOAT[]) ORDER BY m.source_id, m.image_id, v.embedding) AS vectors_of,
    list(m.label ORDER BY m.source_id, m.image_id, v.embedding) AS labels_of
  FROM members AS m
  JOIN vectors AS v ON v.image_id = m.image_id
  WHERE v.embedding IS NOT NULL
),
whole AS MATERIALIZED (
  SELECT
    count(DISTINCT CASE WHEN m.label = $label THEN m.image_id END) AS n_label,
    count(DISTINCT CASE WHEN m.label = $against THEN m.image_id END) AS n_against,
    list(m.source_id ORDER BY m.source_id, m.image_id, v.embedding) AS sources_of,
    list(CAST(v.embedding AS FLOAT[]) ORDER BY m.source_id, m.image_id, v.embedding) AS vectors_of,
    list(m.label ORDER BY m.source_id, m.image_id, v.embedding) AS labels_of
  FROM members AS m
  JOIN control AS v ON v.image_id = m.image_id
  WHERE v.embedding IS NOT NULL
),
runs AS MATERIALIZED (
  SELECT
    'texts' AS features,
    unnest(
      attack_texts(
        s.sources_of, s.texts_of, s.labels_of, t.terms, attacker := $attacker, seeds := $seeds,
        test_share := $test_share, epochs := $epochs, learning_rate := $learning_rate, model := $model
      )
    ) AS run
  FROM said AS s
  CROSS JOIN terms AS t
  UNION ALL
  SELECT
    'vectors' AS features,
    unnest(
      attack_vectors(
        s.sources_of, s.vectors_of, s.labels_of, attacker := $vector_attacker, seeds := $seeds,
        test_share := $test_share, epochs := $epochs, learning_rate := $learning_rate
      )
    ) AS run
  FROM seen AS s
  UNION ALL
  SELECT
    'control' AS features,
    unnest(
      attack_vectors(
        s.sources_of, s.vectors_of, s.labels_of, attacker := $vector_attacker, seeds := $seeds,
        test_share := $test_share, epochs := $epochs, learning_rate := $learning_rate
      )
    ) AS run
  FROM whole AS s
),
scored AS (
  SELECT
    features, 'auc' AS metric, run.seed AS seed, run.auc AS value, run.n_train AS n_train, run.n_test AS n_test,
    run.note AS note
  FROM runs
  UNION ALL
  SELECT
    features, 'accuracy' AS metric, run.seed AS seed, run.accuracy AS value, run.n_train AS n_train, run.n_test AS n_test,
    run.note AS note
  FROM runs
),
means AS (
  SELECT
    features,
    metric,
    split_interval(list(value ORDER BY seed), greatest(min(CAST(n_test AS DOUBLE) / n_train), 0.5e0)) AS found,
    min(n_train + n_test) AS n,
    min(n_test) AS n_test,
    min(note) AS note
  FROM scored
  GROUP BY features, metric
),
kinds AS (
  SELECT f.features, f.n_label, f.n_against, m.metric
  FROM (
    SELECT 'texts' AS features, n_label, n_against FROM said
    UNION ALL
    SELECT 'vectors' AS features, n_label, n_against FROM seen WHERE (SELECT count(*) FROM vectors) > 0
    UNION ALL
    SELECT 'control' AS features, n_label, n_against FROM whole WHERE (SELECT count(*) FROM control) > 0
  ) AS f
  CROSS JOIN (SELECT unnest(['auc', 'accuracy']) AS metric) AS m
)
SELECT
  k.features,
  k.metric,
  m.found.value AS value,
  CASE WHEN m.found.low IS NOT NULL THEN greatest(m.found.low, 0) END AS low,
  CASE WHEN m.found.high IS NOT NULL THEN least(m.found.high, 1) END AS high,
  m.n,
  m.n_test,
  k.n_label,
  k.n_against,
  m.note,
  u.suppressed
FROM kinds AS k
CROSS JOIN unused AS u
LEFT JOIN means AS m ON m.features = k.features AND m.metric = k.metric
ORDER BY k.features, k.metric

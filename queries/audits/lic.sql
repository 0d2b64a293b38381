/*--- toml
answers = """
Does a captioning model say more of perceived gender (or another label), beside the words for it, than people do?"""
details = """
A classifier learns to tell label from against by captions in which the words of the label are masked, as many images of
each, and is judged by captions of images that it has not seen: mean of the probability of the predicted label where it
is right, 0 where not, times 100; about 25 to 50 where nothing can be told. lic_m: of generated captions, the first of
each image. lic_d: of human ones, the mean over one classifier for the first caption of every image, one for the second,
and so on. lic = lic_m - lic_d, cut by cut: above 0 the model amplifies what its data say. All captions are in lower
case. With align, words of human captions that no generated one has are one unknown word. Only images with both kinds
count. Intervals are 95 % ones over seeds, each another cut (split_interval). n: captions of one cut, n_test: of which
it was judged by. Images of one source, such as edits of one image, are on one side of a cut, where sources names them. That a label can be told says nothing of why; labels are perceived, or those of words in captions.

Hirota et al. (2024) report lic (3.2) and print no settings of it. Preset 'code' has those of the code of 2022; its seeds are
other numbers, it masks fewer words, and its network learns for all of the epochs, where ours stops early.

n_label and n_against: images of each label. The engine hides all rows where one has few, or group_sizes hides it
(docs/safety.md); caption numbers that few images of a label have are left out.
"""
subject = "from data to models"
source = "Hirota et al., Quantifying societal bias amplification in image captioning (2022), and its code"
among = [{ labels = ["label", "against"], relations = ["groups"] }]
presets = { code = "released code of Hirota et al. (2022)" }

[params.human]
relation = ["caption_id", "image_id", "text"]
default = "(SELECT caption_id, image_id, text FROM captions WHERE origin IS DISTINCT FROM 'generated')"
about = "of people"

[params.generated]
relation = ["caption_id", "image_id", "text"]
default = "(SELECT caption_id, image_id, text FROM captions WHERE origin = 'generated')"
about = "of the model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

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
about = "words that tell the label by themselves and are masked"

[params.attacker]
type = "varchar"
default = "logistic"
choices = ["logistic", "mlp", "lstm", "bert"]
presets = { code = { value = "lstm", source = "lstm_leakage.py" } }
about = "regression over TF-IDF, or networks (needs torch); the paper's are 'lstm' and 'bert'; the default needs no torch"

[params.captions_each]
type = "integer"
default = 5
min = 1
presets = { code = { value = 5, source = "lstm_leakage.py" } }
about = "human captions of an image that count"

[params.align]
type = "boolean"
default = true
presets = { code = { value = true, source = "lstm_leakage.py" } }
about = "give human captions the vocabulary of the generated ones"

[params.seeds]
type = "integer"
default = 10
min = 1
free = true
presets = { code = { value = 10, source = "run_gender_lstm_ann.sh; of other numbers" } }
about = "how many cuts"

[params.test_share]
type = "double"
default = 0.1
above = 0
below = 1
presets = { code = { value = 0.1, source = "lstm_leakage.py" } }
about = "share of images to judge by"

[params.epochs]
type = "integer"
optional = true
min = 1
free = true
presets = { code = { value = 20, source = "lstm_leakage.py, which does not stop before" } }
about = "of networks at most; those of the paper otherwise"

[params.learning_rate]
type = "double"
optional = true
above = 0
free = true
presets = { code = { value = 5e-5, source = "lstm_leakage.py" } }
about = "likewise"

[params.model]
type = "varchar"
default = "google-bert/bert-base-uncased"
about = "checkpoint of 'bert'"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images of a label are hidden"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT DISTINCT image_id, image_id AS source_id FROM groups)"
grid = []
about = "which images stay on one side of a cut, such as the edits of one image; one that is not here goes by its own id"

[[cells]]
count = "n_label"
within = ["metric"]

[[cells]]
count = "n_against"
within = ["metric"]
---*/
WITH members AS (
  SELECT g.image_id, min(g.label) AS label, min(coalesce(o.source_id, g.image_id)) AS source_id
  FROM groups AS g
  LEFT JOIN sources AS o ON o.image_id = g.image_id
  WHERE g.label IN ($label, $against)
  GROUP BY g.image_id
  HAVING min(g.label) = max(g.label)
),
unused AS (
  SELECT count(CASE WHEN NOT used THEN 1 END) > 0 AS suppressed
  FROM group_sizes(groups, $min_count)
  WHERE label IN ($label, $against)
),
placed AS (
  SELECT 'lic_d' AS metric, h.image_id, h.text, row_number() OVER (PARTITION BY h.image_id ORDER BY h.caption_id) AS place
  FROM (SELECT DISTINCT caption_id, image_id, text FROM human) AS h
  WHERE h.text IS NOT NULL
  UNION ALL
  SELECT 'lic_m' AS metric, g.image_id, g.text, row_number() OVER (PARTITION BY g.image_id ORDER BY g.caption_id) AS place
  FROM (SELECT DISTINCT caption_id, image_id, text FROM generated) AS g
  WHERE g.text IS NOT NULL
),
shared AS (
  SELECT m.image_id, m.label, m.source_id
  FROM members AS m
  WHERE m.image_id IN (SELECT image_id FROM human WHERE text IS NOT NULL)
    AND m.image_id IN (SELECT image_id FROM generated WHERE text IS NOT NULL)
),
used AS (
  SELECT p.metric, p.place, s.image_id, s.source_id, s.label, p.text
  FROM shared AS s
  JOIN placed AS p ON p.image_id = s.image_id
  WHERE p.place <= CASE WHEN p.metric = 'lic_m' THEN 1 ELSE $captions_each END
),
sizes AS (
  SELECT
    count(CASE WHEN label = $label THEN 1 END) AS n_label,
    count(CASE WHEN label = $against THEN 1 END) AS n_against
  FROM shared
),
known AS (
  SELECT list(text ORDER BY image_id) AS texts FROM used WHERE metric = 'lic_m'
),
terms AS (
  SELECT list(DISTINCT term ORDER BY term) AS terms FROM words
),
lists AS (
  SELECT
    metric,
    place,
    list(source_id ORDER BY image_id) AS sources_of,
    list(text ORDER BY image_id) AS texts_of,
    list(label ORDER BY image_id) AS labels_of
  FROM used
  GROUP BY metric, place
  HAVING least(count(CASE WHEN label = $label THEN 1 END), count(CASE WHEN label = $against THEN 1 END)) >= $min_count
),
runs AS MATERIALIZED (
  SELECT
    l.metric,
    l.place,
    unnest(
      attack_texts(
        l.sources_of, l.texts_of, l.labels_of, t.terms, CASE WHEN $align AND l.metric = 'lic_d' THEN k.texts END,
        attacker := $attacker, seeds := $seeds, test_share := $test_share, epochs := $epochs,
        learning_rate := $learning_rate, model := $model
      )
    ) AS run
  FROM lists AS l
  CROSS JOIN known AS k
  CROSS JOIN terms AS t
),
-- with too little to learn from there is a note and no seed
scored AS (
  SELECT
    metric,
    run.seed AS seed,
    CAST(sum(CAST(run.confidence AS DECIMAL(38, 18))) AS DOUBLE) / count(*) AS score,
    min(run.n_train) AS n_train,
    min(run.n_test) AS n_test
  FROM runs
  WHERE run.seed IS NOT NULL
  GROUP BY metric, run.seed
),
paired AS (
  SELECT metric, seed, score, n_train, n_test FROM scored
  UNION ALL
  SELECT
    'lic' AS metric, m.seed, m.score - d.score AS score, least(m.n_train, d.n_train) AS n_train,
    least(m.n_test, d.n_test) AS n_test
  FROM scored AS m
  JOIN scored AS d ON d.seed = m.seed AND d.metric = 'lic_d'
  WHERE m.metric = 'lic_m'
),
means AS (
  SELECT
    metric,
    split_interval(list(100 * score ORDER BY seed), greatest(min(CAST(n_test AS DOUBLE) / n_train), 1)) AS found,
    count(*) AS seeds,
    min(n_train + n_test) AS n,
    min(n_test) AS n_test
  FROM paired
  GROUP BY metric
),
notes AS (
  SELECT min(run.note) AS note FROM runs
)
SELECT
  k.metric,
  m.found.value AS value,
  m.found.low AS low,
  m.found.high AS high,
  m.n,
  m.n_test,
  coalesce(m.seeds, 0) AS seeds,
  s.n_label,
  s.n_against,
  n.note,
  u.suppressed
FROM (SELECT unnest(['lic', 'lic_d', 'lic_m']) AS metric) AS k
CROSS JOIN sizes AS s
CROSS JOIN notes AS n
CROSS JOIN unused AS u
LEFT JOIN means AS m ON m.metric = k.metric
ORDER BY k.metric

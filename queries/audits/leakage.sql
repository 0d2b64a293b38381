/*--- toml
answers = """
How well perceived gender (or another label) can be told from concepts: in the data, in a model's outputs, the
difference."""
details = """
A classifier learns to tell label from against by the concepts of images, as many images of each, and is judged by
images that it has not seen. side 'data' are the true concepts, 'model' those that a model predicts for the same images,
'difference' is model - data, cut by cut: what the model adds. Values are times 100. definition 'accuracy': 50 +
|accuracy - 50|, 50 without leakage (slightly more by chance, being folded). definition 'confidence': mean of the
probability of the predicted label where it is right, 0 where not; about 25 to 50 without leakage. Intervals are 95 %
ones over seeds, each another cut of the images (split_interval). n: images of one cut, n_test: of which it was judged
by. Images of one source, such as edits of one image, are on one side of a cut, where sources names them. Images without any
concept on a side are left out; the truth is not worsened to the accuracy of the model. That a
label can be told says nothing of why; labels are perceived, or those of words in captions.

n_label and n_against: images of each label. The engine hides all rows where one has few, or group_sizes hides it (docs/safety.md).
"""
subject = "from data to models"
source = """
Wang et al., Balanced datasets are not enough (2019): accuracy; Hirota et al. (2022, 2024): confidence; the latter (3.1, Eq.
7) print which objects count, and neither the classifier nor how it is trained, which no preset sets"""
among = [{ labels = ["label", "against"], relations = ["groups"] }]
presets = { paper = "Hirota et al. (2024), COCO", paper_open_images = "Hirota et al. (2024), Open Images" }

[params.data]
relation = ["image_id", "concept"]
default = "category_concepts"
presets = { paper = { value = "(SELECT image_id, concept FROM category_concepts WHERE concept IN (SELECT term FROM lists.hirota_objects WHERE class = 'COCO'))", source = "3.1; B.1" }, paper_open_images = { value = "(SELECT image_id, concept FROM category_concepts WHERE lower(concept) IN (SELECT term FROM lists.hirota_objects WHERE class = 'OpenImages'))", source = "B.1" } }
about = "what is truly there; see cooccurrence for others; the default has all categories"

[params.model]
relation = ["image_id", "concept"]
default = "(SELECT image_id, concept FROM data WHERE 1 = 0)"
about = "concepts as a model predicts them, of the same categories as data"

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
about = "concepts that tell the label by themselves and are left out"

[params.attacker]
type = "varchar"
default = "logistic"
choices = ["logistic", "mlp"]
about = "regression, or the network of Wang et al. (needs torch)"

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
about = "of 'mlp' at most; 100 otherwise"

[params.learning_rate]
type = "double"
optional = true
above = 0
free = true
about = "of 'mlp'; 0.00005 otherwise"

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
within = ["definition", "side"]

[[cells]]
count = "n_against"
within = ["definition", "side"]
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
sides AS (
  SELECT 'data' AS side
  UNION ALL
  SELECT side FROM (SELECT unnest(['model', 'difference']) AS side) AS s WHERE (SELECT count(*) FROM model) > 0
),
rows_all AS (
  SELECT 'data' AS side, image_id, concept FROM data
  UNION ALL
  SELECT 'model' AS side, image_id, concept FROM model
),
sets AS (
  SELECT r.side, r.image_id, m.label, m.source_id, list(DISTINCT r.concept ORDER BY r.concept) AS concepts
  FROM rows_all AS r
  JOIN members AS m ON m.image_id = r.image_id
  WHERE r.concept IS NOT NULL AND lower(r.concept) NOT IN (SELECT lower(term) FROM words WHERE term IS NOT NULL)
  GROUP BY r.side, r.image_id, m.label, m.source_id
),
shared AS (
  SELECT image_id FROM sets GROUP BY image_id HAVING count(*) = least((SELECT count(*) FROM sides), 2)
),
lists AS MATERIALIZED (
  SELECT
    side,
    count(CASE WHEN label = $label THEN 1 END) AS n_label,
    count(CASE WHEN label = $against THEN 1 END) AS n_against,
    list(source_id ORDER BY image_id) AS sources_of,
    list(concepts ORDER BY image_id) AS sets_of,
    list(label ORDER BY image_id) AS labels_of
  FROM sets
  WHERE image_id IN (SELECT image_id FROM shared)
  GROUP BY side
),
runs AS MATERIALIZED (
  SELECT
    side,
    unnest(
      attack_sets(
        sources_of, sets_of, labels_of, attacker := $attacker, seeds := $seeds, test_share := $test_share,
        epochs := $epochs, learning_rate := $learning_rate
      )
    ) AS run
  FROM lists
),
scored AS (
  SELECT side, run.seed AS seed, run.n_train AS n_train, run.n_test AS n_test, run.note AS note, 'accuracy' AS definition,
    100 * (0.5e0 + abs(run.accuracy - 0.5e0)) AS value
  FROM runs
  UNION ALL
  SELECT side, run.seed AS seed, run.n_train AS n_train, run.n_test AS n_test, run.note AS note, 'confidence' AS definition,
    100 * run.confidence AS value
  FROM runs
),
paired AS (
  SELECT side, seed, n_train, n_test, note, definition, value FROM scored
  UNION ALL
  SELECT
    'difference' AS side, m.seed, least(m.n_train, d.n_train) AS n_train, least(m.n_test, d.n_test) AS n_test,
    coalesce(m.note, d.note) AS note, m.definition, m.value - d.value AS value
  FROM scored AS m
  JOIN scored AS d ON d.definition = m.definition AND d.side = 'data' AND d.seed IS NOT DISTINCT FROM m.seed
  WHERE m.side = 'model'
),
means AS (
  SELECT
    side,
    definition,
    split_interval(
      list(value ORDER BY seed),
      greatest(
        min(CAST(n_test AS DOUBLE) / n_train), CASE WHEN definition = 'accuracy' AND side <> 'difference' THEN 0.5e0 ELSE 1 END
      )
    ) AS found,
    count(value) AS seeds,
    min(n_train + n_test) AS n,
    min(n_test) AS n_test,
    min(note) AS note
  FROM paired
  GROUP BY side, definition
),
-- both sides are over the same images
sizes AS (
  SELECT coalesce(min(n_label), 0) AS n_label, coalesce(min(n_against), 0) AS n_against FROM lists
)
SELECT
  d.definition,
  k.side,
  m.found.value AS value,
  CASE WHEN k.side <> 'difference' AND m.found.low < 0 THEN 0 ELSE m.found.low END AS low,
  CASE WHEN k.side <> 'difference' AND m.found.high > 100 THEN 100 ELSE m.found.high END AS high,
  m.n,
  m.n_test,
  z.n_label,
  z.n_against,
  coalesce(m.seeds, 0) AS seeds,
  m.note,
  u.suppressed
FROM (SELECT unnest(['accuracy', 'confidence']) AS definition) AS d
CROSS JOIN sides AS k
CROSS JOIN sizes AS z
CROSS JOIN unused AS u
LEFT JOIN means AS m ON m.definition = d.definition AND m.side = k.side
ORDER BY d.definition, k.side

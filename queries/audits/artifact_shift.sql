/*--- toml
answers = "Can a classifier tell edited images from real ones? Then a model that is trained on both can learn it, too."
details = """
Rows by metric and label. 'auc' and 'accuracy' (0.5: cannot be told) of a classifier over vectors of images, edited ones
with label against the real images that they were made from, as many of each; an image and its edits are never on two
sides of a cut. 'all' are the edits of all labels together. 95 % intervals are over seeds, each another cut
(split_interval); n: images of one cut, n_test: of which it was judged by. 'edited_share': of real and edited images
with a label, the share that is edited (n images, Wilson's 95 % interval); where labels differ in it and edits can be
told, being edited stands for the label. Labels of real images are perceived, or those of words in captions; those of
edits are what was asked for.

images: those that were edited; n_real: real images with the label. The engine hides small ones, and what would give them
away, and shares of labels that group_sizes hides (docs/safety.md).
"""
subject = "contrast sets"
source = """
our own; what it looks for Hirota et al., Resampled datasets are not enough (2024), 3.3, find by Ratio (ratio_shift); see Qraitem
et al., From fake to real (2024), too"""

[params.edited]
relation = ["image_id", "label", "embedding"]
about = "vectors of edits, image_id being that of the source"

[params.originals]
relation = ["image_id", "embedding"]
about = "vectors of the real images, by the same model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation of the real images"

[params.attacker]
type = "varchar"
default = "logistic"
choices = ["logistic", "mlp"]
about = "regression, or a network (needs torch)"

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
about = "share of source images to judge by"

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
about = "fewer images are hidden"

[[cells]]
count = "images"
by = ["label"]
within = ["metric"]

[[cells]]
count = "n_real"
by = ["label"]
within = ["metric"]
---*/
WITH edits AS (
  SELECT image_id, label, CAST(embedding AS FLOAT[]) AS vector
  FROM edited
  WHERE embedding IS NOT NULL AND label IS NOT NULL
    AND image_id IN (SELECT image_id FROM originals WHERE embedding IS NOT NULL)
),
wanted AS (
  SELECT label AS shown, image_id, vector FROM edits
  UNION ALL
  SELECT 'all' AS shown, image_id, vector FROM edits
),
sides AS (
  SELECT shown, image_id, 'edited' AS side, vector FROM wanted
  UNION ALL
  SELECT s.shown, r.image_id, 'real' AS side, CAST(r.embedding AS FLOAT[]) AS vector
  FROM originals AS r
  JOIN (SELECT DISTINCT shown, image_id FROM wanted) AS s ON s.image_id = r.image_id
  WHERE r.embedding IS NOT NULL
),
lists AS MATERIALIZED (
  SELECT
    shown,
    count(DISTINCT image_id) AS images,
    list(image_id ORDER BY image_id, side, vector) AS images_of,
    list(vector ORDER BY image_id, side, vector) AS vectors_of,
    list(side ORDER BY image_id, side, vector) AS sides_of
  FROM sides
  GROUP BY shown
),
runs AS MATERIALIZED (
  SELECT
    l.shown,
    unnest(
      attack_vectors(
        l.images_of, l.vectors_of, l.sides_of, attacker := $attacker, seeds := $seeds, test_share := $test_share,
        epochs := $epochs, learning_rate := $learning_rate
      )
    ) AS run
  FROM lists AS l
),
scored AS (
  SELECT shown, 'auc' AS metric, run.seed AS seed, run.auc AS value, run.n_train AS n_train, run.n_test AS n_test, run.note AS note
  FROM runs
  UNION ALL
  SELECT
    shown, 'accuracy' AS metric, run.seed AS seed, run.accuracy AS value, run.n_train AS n_train, run.n_test AS n_test,
    run.note AS note
  FROM runs
),
means AS (
  SELECT
    shown,
    metric,
    split_interval(list(value ORDER BY seed), greatest(min(CAST(n_test AS DOUBLE) / n_train), 0.5e0)) AS found,
    min(n_train + n_test) AS n,
    min(n_test) AS n_test,
    min(note) AS note
  FROM scored
  GROUP BY shown, metric
),
kinds AS (
  SELECT l.shown, l.images, m.metric
  FROM lists AS l
  CROSS JOIN (SELECT unnest(['auc', 'accuracy']) AS metric) AS m
),
members AS (
  SELECT DISTINCT image_id, label FROM groups WHERE image_id IN (SELECT image_id FROM originals)
),
made AS (
  SELECT label, count(*) AS count, count(DISTINCT image_id) AS images FROM edits GROUP BY label
),
shares AS (
  SELECT e.label, e.count, e.images, e.count + count(m.image_id) AS n, count(m.image_id) AS n_real
  FROM made AS e
  LEFT JOIN members AS m ON m.label = e.label
  GROUP BY e.label, e.count, e.images
),
rows_all AS (
  SELECT
    k.metric,
    k.shown AS label,
    CAST(NULL AS BIGINT) AS count,
    m.found.value AS value,
    CASE WHEN m.found.low IS NOT NULL THEN greatest(m.found.low, 0) END AS low,
    CASE WHEN m.found.high IS NOT NULL THEN least(m.found.high, 1) END AS high,
    m.n,
    m.n_test,
    k.images,
    CAST(NULL AS BIGINT) AS n_real,
    m.note,
    false AS suppressed
  FROM kinds AS k
  LEFT JOIN means AS m ON m.shown = k.shown AND m.metric = k.metric
  UNION ALL
  SELECT
    'edited_share' AS metric,
    s.label,
    s.count,
    CAST(s.count AS DOUBLE) / s.n AS value,
    wilson_low(s.count, s.n) AS low,
    wilson_high(s.count, s.n) AS high,
    s.n,
    CAST(NULL AS BIGINT) AS n_test,
    s.images,
    s.n_real,
    CAST(NULL AS VARCHAR) AS note,
    NOT coalesce(z.used, true) AS suppressed
  FROM shares AS s
  LEFT JOIN group_sizes(groups, $min_count) AS z ON z.label = s.label
)
SELECT metric, label, count, value, low, high, n, n_test, images, n_real, note, suppressed
FROM rows_all
ORDER BY metric, label

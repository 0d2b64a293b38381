-- artifact_shift: Can a classifier tell edited images from real ones? Then a model that is trained on both can learn it, too.
--
-- Rows by metric and label. 'auc' and 'accuracy' (0.5: cannot be told) of a classifier over vectors of images, edited ones
-- with label against the real images that they were made from, as many of each; an image and its edits are never on two
-- sides of a cut. 'all' are the edits of all labels together. 95 % intervals are over seeds, each another cut
-- (split_interval); n: images of one cut, n_test: of which it was judged by. 'edited_share': of real and edited images with a
-- label, the share that is edited (n images, Wilson's 95 % interval); where labels differ in it and edits can be told, being
-- edited stands for the label. Labels of real images are perceived, or those of words in captions; those of edits are what
-- was asked for.
--
-- Rows with fewer than min_count images of either kind, and with any of them 'all', are suppressed (NULL); so are shares of
-- labels that group_sizes hides.
--
-- source: Hirota et al., Resampled datasets are not enough (2024), Section 3.3; Qraitem et al., From fake to real (2024)
-- subject: contrast sets
-- param edited relation : (image_id, label, embedding), vectors of edits, image_id being that of the source
-- param originals relation : (image_id, embedding), vectors of the real images, by the same model
-- param groups relation = caption_gender : group relation (image_id, label) of the real images
-- param attacker varchar = 'logistic' : one of 'logistic', 'mlp'; regression, or a network (needs torch)
-- param seeds integer = 5 : at least 1; how many cuts
-- param test_share double = 0.2 : between 0 and 1; share of source images to judge by
-- param epochs integer = NULL : at least 1; of 'mlp'; 100 otherwise
-- param learning_rate double = NULL : above 0; of 'mlp'; 0.00005 otherwise
-- param min_count integer = 10 : at least 0; fewer images are suppressed
-- local: attack_vectors() learns a classifier in Python
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
    least(
      count(DISTINCT CASE WHEN side = 'edited' THEN image_id END), count(DISTINCT CASE WHEN side = 'real' THEN image_id END)
    ) < $min_count AS small,
    list(image_id ORDER BY image_id, side, vector) AS images_of,
    list(vector ORDER BY image_id, side, vector) AS vectors_of,
    list(side ORDER BY image_id, side, vector) AS sides_of
  FROM sides
  GROUP BY shown
),
hidden AS (
  SELECT shown, small OR (shown = 'all' AND (SELECT count(*) FROM lists WHERE small) > 0) AS suppressed FROM lists
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
  WHERE l.shown IN (SELECT shown FROM hidden WHERE NOT suppressed)
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
    split_interval(list(value ORDER BY seed), min(CAST(n_test AS DOUBLE) / n_train)) AS found,
    min(n_train + n_test) AS n,
    min(n_test) AS n_test,
    min(note) AS note
  FROM scored
  GROUP BY shown, metric
),
kinds AS (
  SELECT h.shown, m.metric, h.suppressed
  FROM hidden AS h
  CROSS JOIN (SELECT unnest(['auc', 'accuracy']) AS metric) AS m
),
members AS (
  SELECT DISTINCT g.image_id, g.label
  FROM groups AS g
  JOIN group_sizes(groups, $min_count) AS s ON s.label = g.label AND s.used
  WHERE g.image_id IN (SELECT image_id FROM originals)
),
made AS (
  SELECT label, count(*) AS count, count(DISTINCT image_id) AS images FROM edits GROUP BY label
),
shares AS (
  SELECT
    e.label,
    e.count,
    e.count + count(m.image_id) AS n,
    e.images < $min_count OR count(m.image_id) < $min_count AS suppressed
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
    CASE WHEN k.suppressed THEN 'fewer than min_count images' ELSE m.note END AS note,
    k.suppressed
  FROM kinds AS k
  LEFT JOIN means AS m ON m.shown = k.shown AND m.metric = k.metric
  UNION ALL
  SELECT
    'edited_share' AS metric,
    label,
    CASE WHEN NOT suppressed THEN count END AS count,
    CASE WHEN NOT suppressed THEN CAST(count AS DOUBLE) / n END AS value,
    CASE WHEN NOT suppressed THEN wilson_low(count, n) END AS low,
    CASE WHEN NOT suppressed THEN wilson_high(count, n) END AS high,
    CASE WHEN NOT suppressed THEN n END AS n,
    CAST(NULL AS BIGINT) AS n_test,
    CASE WHEN suppressed THEN 'fewer than min_count images' END AS note,
    suppressed
  FROM shares
)
SELECT metric, label, count, value, low, high, n, n_test, note, suppressed
FROM rows_all
ORDER BY metric, label

-- edit_quality: Do edits show the group asked for, fit their texts, pass the filter and leave the background alone?
--
-- accuracy: a classifier sees the label asked for (predicted = label). accepted: the filter took the edit. background:
-- nothing outside the box changed (background = 0); background_largest is the largest difference there is. recall: the
-- edit's own image is among the first k that its text finds in a pool. count of n edits, value = count / n and Wilson's
-- 95 % interval, for every label, every template, both, and 'all'. Edits without a value (NULL) do not count for its metric.
-- Labels are those asked of a model, and predicted ones perceived by another: never facts about persons.
--
-- For recall give hits, such as top_k(asked, pool, ranker := 'vector', exclude_own := false): query_id and the item that counts
-- as found are the edit's id.
--
-- source: Smith et al., Balancing the Picture (GenSynth, 2023): zero-shot gender accuracy and text-to-image R@K of edits;
-- acceptance by template
-- subject: contrast sets
-- param edits relation : (edit_id, label, template, accepted, predicted, background, ...): a row an edit; template names its kind of prompt, accepted is boolean, background the largest difference outside the box
-- param hits relation = (SELECT edit_id AS query_id, edit_id AS item_id, 1 AS rank, 1e0 AS score FROM edits WHERE 1 = 0) : (query_id, item_id, rank, score) of texts over a pool of images
-- param relevant relation = (SELECT DISTINCT h.query_id, h.query_id AS item_id FROM hits AS h) : (query_id, item_id) that count as found
-- param k integer[] = [1, 5, 10] : at least 1; cut-offs of recall
-- param min_count integer = 10 : at least 0; rows over fewer edits are suppressed
WITH own AS (
  SELECT DISTINCT edit_id, label, template, accepted, predicted, background FROM edits WHERE edit_id IS NOT NULL
),
outcomes AS (
  SELECT 'accuracy' AS metric, CAST(NULL AS INTEGER) AS k, label, template, predicted = label AS good
  FROM own
  WHERE predicted IS NOT NULL AND label IS NOT NULL
  UNION ALL
  SELECT 'accepted' AS metric, CAST(NULL AS INTEGER) AS k, label, template, accepted AS good
  FROM own
  WHERE accepted IS NOT NULL
  UNION ALL
  SELECT 'background' AS metric, CAST(NULL AS INTEGER) AS k, label, template, background = 0 AS good
  FROM own
  WHERE background IS NOT NULL
  UNION ALL
  SELECT 'recall' AS metric, m.k, e.label, e.template, m.value = 1 AS good
  FROM ranking_metrics(
    hits, (SELECT * FROM hits WHERE 1 = 0), (SELECT edit_id AS item_id, label FROM edits WHERE 1 = 0), relevant, $k
  ) AS m
  JOIN own AS e ON e.edit_id = m.query_id
  WHERE m.metric = 'recall'
),
counts AS (
  SELECT
    metric,
    k,
    label,
    template,
    grouping(label) AS all_labels,
    grouping(template) AS all_templates,
    count(*) AS n,
    count(CASE WHEN good THEN 1 END) AS count
  FROM outcomes
  GROUP BY GROUPING SETS ((metric, k), (metric, k, label), (metric, k, template), (metric, k, label, template))
),
differences AS (
  SELECT
    label,
    template,
    grouping(label) AS all_labels,
    grouping(template) AS all_templates,
    count(background) AS n,
    max(CAST(background AS DOUBLE)) AS largest
  FROM own
  WHERE background IS NOT NULL
  GROUP BY GROUPING SETS ((), (label), (template), (label, template))
),
bounds AS (
  SELECT
    metric, k, label, template, all_labels, all_templates, count, n, CAST(count AS DOUBLE) / n AS value,
    wilson_low(count, n) AS low, wilson_high(count, n) AS high
  FROM counts
  UNION ALL
  SELECT
    'background_largest' AS metric, CAST(NULL AS INTEGER) AS k, label, template, all_labels, all_templates,
    CAST(NULL AS BIGINT) AS count, n, largest AS value, CAST(NULL AS DOUBLE) AS low, CAST(NULL AS DOUBLE) AS high
  FROM differences
)
SELECT
  metric,
  k,
  CASE WHEN all_labels = 1 THEN 'all' ELSE label END AS label,
  CASE WHEN all_templates = 1 THEN 'all' ELSE template END AS template,
  CASE WHEN n >= $min_count THEN count END AS count,
  CASE WHEN n >= $min_count THEN n END AS n,
  CASE WHEN n >= $min_count THEN value END AS value,
  CASE WHEN n >= $min_count THEN low END AS low,
  CASE WHEN n >= $min_count THEN high END AS high,
  n < $min_count AS suppressed
FROM bounds
WHERE n > 0 AND (all_labels = 1 OR label IS NOT NULL) AND (all_templates = 1 OR template IS NOT NULL)
ORDER BY metric, k, all_labels DESC, label, all_templates DESC, template

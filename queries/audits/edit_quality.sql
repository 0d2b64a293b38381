/*--- toml
answers = "Do edits show the group asked for, fit their texts, pass the filter and leave the background alone?"
details = """
accuracy: a classifier sees the label asked for (predicted = label). accepted: the filter took the edit. background:
nothing outside the box changed (background = 0); how large a change is stays untold, the largest being one image's.
recall: the edit's own image is among the first k that its text finds in a pool. count of n edits, value = count / n and
Wilson's 95 % interval, for every label, every template, both, and 'all'. Edits of one image (there are images of them)
are alike: the interval is of as many independent edits as would tell as much. Edits without a value (NULL) do not count
for its metric. Labels are those asked of a model, and predicted ones perceived by another: never facts about persons.

For recall give hits, such as hits_with_own(asked, pool, own), which has every edit in a pool of real pictures: query_id
and the item that counts as found are the edit's id. Where an edit has several texts, queries says whose each is, and n
counts texts.
"""
subject = "contrast sets"
exact = true
source = """
Smith et al., Balancing the Picture (GenSynth, 2023): zero-shot gender accuracy and text-to-image R@K of edits;
acceptance by template"""
presets = { paper = "Smith et al. (2023)" }

[params.edits]
relation = ["edit_id", "image_id", "label", "template", "accepted", "predicted", "background"]
about = """
a row an edit, of an image; template names its kind of prompt, accepted is boolean, background the largest difference
outside the box"""

[params.hits]
relation = ["query_id", "item_id", "rank", "score"]
default = "(SELECT edit_id AS query_id, edit_id AS item_id, 1 AS rank, 1e0 AS score FROM edits WHERE 1 = 0)"
about = "of texts over a pool of images"

[params.queries]
relation = ["query_id", "edit_id"]
default = "(SELECT DISTINCT h.query_id, h.query_id AS edit_id FROM hits AS h)"
about = "of which edit a query is a text"

[params.relevant]
relation = ["query_id", "item_id"]
default = "(SELECT q.query_id, q.edit_id AS item_id FROM queries AS q)"
about = "those that count as found"

[params.k]
type = "integer[]"
default = [1, 5, 10]
min = 1
presets = { paper = { value = [1, 5, 10], source = "Table 7" } }
about = "cut-offs of recall"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer edits, or edits of fewer images, are hidden"

[[cells]]
count = "n"
by = ["label", "template"]
within = ["metric", "k"]

[[cells]]
count = "images"
by = ["label", "template"]
within = ["metric", "k"]

[[cells]]
count = "count"
of = "n"
by = ["label", "template"]
within = ["metric", "k"]
measures = ["value", "low", "high"]
---*/
WITH own AS (
  SELECT DISTINCT
    edit_id, label, template, accepted, predicted, background,
    CASE WHEN image_id IS NULL THEN concat('edit ', edit_id) ELSE concat('image ', image_id) END AS source
  FROM edits
  WHERE edit_id IS NOT NULL
),
found AS (
  SELECT query_id, k, value = 1 AS good
  FROM ranking_metrics(
    hits, (SELECT * FROM hits WHERE 1 = 0), (SELECT edit_id AS item_id, label FROM edits WHERE 1 = 0), relevant, $k
  )
  WHERE metric = 'recall'
),
outcomes AS (
  SELECT
    'accuracy' AS metric, CAST(NULL AS INTEGER) AS k, label, template, source, predicted = label AS good
  FROM own
  WHERE predicted IS NOT NULL AND label IS NOT NULL
  UNION ALL
  SELECT
    'accepted' AS metric, CAST(NULL AS INTEGER) AS k, label, template, source, accepted AS good
  FROM own
  WHERE accepted IS NOT NULL
  UNION ALL
  SELECT
    'background' AS metric, CAST(NULL AS INTEGER) AS k, label, template, source, background = 0 AS good
  FROM own
  WHERE background IS NOT NULL
  UNION ALL
  SELECT
    'recall' AS metric, f.k, e.label, e.template, e.source, f.good
  FROM found AS f
  JOIN (SELECT DISTINCT query_id, edit_id FROM queries) AS q ON q.query_id = f.query_id
  JOIN own AS e ON e.edit_id = q.edit_id
),
-- edits of one image are alike
by_source AS (
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
  GROUP BY GROUPING SETS (
    (metric, k, source), (metric, k, label, source), (metric, k, template, source), (metric, k, label, template, source)
  )
),
counts AS (
  SELECT
    metric,
    k,
    label,
    template,
    all_labels,
    all_templates,
    CAST(sum(n) AS BIGINT) AS n,
    CAST(sum(count) AS BIGINT) AS count,
    count(*) AS images,
    CAST(sum(count * count) AS DOUBLE) AS squares,
    CAST(sum(count * n) AS DOUBLE) AS products,
    CAST(sum(n * n) AS DOUBLE) AS sizes
  FROM by_source
  GROUP BY metric, k, label, template, all_labels, all_templates
),
shares AS (
  SELECT
    *,
    CAST(count AS DOUBLE) / n AS value,
    effective_size(count, n, squares, products, sizes, images) AS effective
  FROM counts
)
SELECT
  metric,
  k,
  CASE WHEN all_labels = 1 THEN 'all' ELSE label END AS label,
  CASE WHEN all_templates = 1 THEN 'all' ELSE template END AS template,
  count,
  n,
  images,
  value,
  wilson_low(value * effective, effective) AS low,
  wilson_high(value * effective, effective) AS high
FROM shares
WHERE (all_labels = 1 OR label IS NOT NULL) AND (all_templates = 1 OR template IS NOT NULL)
ORDER BY metric, k, all_labels DESC, label, all_templates DESC, template

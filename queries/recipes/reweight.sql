/*--- toml
answers = "A baseline: all labelled images with weights under which every label is equally frequent."
details = """
weight is 1 on average; weights of every label add up to the same. For a sampler or a loss.
"""
source = "importance weights as usual; the audit balance gives them, too, but hides those that would tell of few images"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "labels with fewer images are left out"
---*/

-- step weigh: the weight of every image
CREATE MATERIALIZED VIEW IF NOT EXISTS reweight_set WITH (key = 'edit_id') AS
WITH members AS (
  SELECT DISTINCT image_id, label FROM $groups AS g WHERE label NOT IN ('mixed', 'unclear', 'undefined')
),
sizes AS (
  SELECT label, count(*) AS images FROM members GROUP BY label HAVING count(*) >= $min_count
),
bounds AS (
  SELECT count(*) AS labels, CAST(sum(images) AS DOUBLE) AS n FROM sizes
)
SELECT m.image_id AS edit_id, m.image_id, m.label, b.n / b.labels / s.images AS weight
FROM members AS m
JOIN sizes AS s ON s.label = m.label
CROSS JOIN bounds AS b;
REFRESH reweight_set;

-- step made: images and weight of each label
SELECT label, count(*) AS images, min(weight) AS weight FROM reweight_set GROUP BY label ORDER BY label;

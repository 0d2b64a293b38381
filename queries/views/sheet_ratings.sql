/*--- toml
answers = "Answers of annotation sheets beside the model's label and the annotators' majority."
details = """
One row a unit and rater, for units that the model labelled: annotators by their name, 'majority' (the answer with more
votes than any other; a unit without one has no such row) and 'model'. A unit that the model gives several labels is
left out. A unit is an image and, for unit 'person', a box of it; else detection_id is -1. All of them are perceived labels.
"""
source = "Girrbach et al., person annotations of LAION-400M (2025), human validation of labels"

[params.model]
relation = ["image_id", "label"]
about = "group relation, the labels to validate; of persons as person_units gives them"

[params.attribute]
type = "varchar"
values = "labels.attribute"
about = "attribute of labels, such as 'perceived_gender'"

[params.unit]
type = "varchar"
default = "image"
choices = ["image", "person"]
about = "what the sheet asked about"

[params.sheet]
type = "varchar"
optional = true
about = "id of the sheet whose answers count; NULL counts those of all sheets"
---*/
WITH modelled AS (
  SELECT image_id, min(label) AS label FROM model WHERE label IS NOT NULL GROUP BY image_id HAVING min(label) = max(label)
),
answers AS (
  SELECT a.image_id, a.detection_id, a.annotator, a.value, m.label
  FROM sheet_answers($attribute, $unit, $sheet) AS a
  JOIN modelled AS m ON m.image_id = CASE WHEN $unit = 'person' THEN a.detection_id ELSE a.image_id END
),
votes AS (
  SELECT image_id, detection_id, value, count(*) AS votes FROM answers GROUP BY image_id, detection_id, value
),
best AS (
  SELECT
    image_id,
    detection_id,
    value,
    CASE WHEN votes = max(votes) OVER (PARTITION BY image_id, detection_id) THEN 1 ELSE 0 END AS is_best
  FROM votes
),
majority AS (
  SELECT image_id, detection_id, min(value) AS value
  FROM best
  WHERE is_best = 1
  GROUP BY image_id, detection_id
  HAVING count(*) = 1
)
SELECT image_id, detection_id, annotator, value FROM answers
UNION ALL
SELECT image_id, detection_id, 'majority' AS annotator, value
FROM majority
WHERE (SELECT count(DISTINCT annotator) FROM answers) > 1
UNION ALL
SELECT DISTINCT image_id, detection_id, 'model' AS annotator, label AS value FROM answers

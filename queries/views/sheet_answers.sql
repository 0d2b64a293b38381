/*--- toml
answers = "What annotators said on annotation sheets about images or persons, one answer per unit and annotator."
details = """
Sheets are made by `counterbalance validate`; their answers are labels whose annotator is called 'a1@SHEET'. image_id
is that of the image; detection_id that of the box for unit 'person', else -1. Answers are perceived labels, no facts
about persons.
"""
source = "Girrbach et al., person annotations of LAION-400M (2025), human validation of labels"

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
SELECT
  image_id,
  coalesce(detection_id, -1) AS detection_id,
  annotator,
  min(value) AS value
FROM labels
WHERE attribute = $attribute
  AND value IS NOT NULL
  AND regexp_extract(annotator, '^a[0-9]+@([^\n]+)\z', 1) <> ''
  AND ($sheet IS NULL OR regexp_extract(annotator, '^a[0-9]+@([^\n]+)\z', 1) = $sheet)
  AND ($unit = 'person') = (detection_id IS NOT NULL)
GROUP BY image_id, coalesce(detection_id, -1), annotator

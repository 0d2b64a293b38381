/*--- toml
answers = "One label per target and annotator, of one attribute: what agreement compares."
details = """
detection_id is -1 for a label of a whole image; the first in the alphabet counts where an annotator gave several.
Labels are perceived, never facts about persons.
"""
source = "Cohen (1960); Fleiss (1971)"

[params.attribute]
type = "varchar"
values = "labels.attribute"
about = "attribute of labels, such as 'perceived_gender'"

[params.labels]
relation = ["image_id", "detection_id", "attribute", "value", "annotator"]
default = "labels"
about = "label rows, in table labels or elsewhere"
---*/
SELECT image_id, coalesce(detection_id, -1) AS detection_id, annotator, min(value) AS value
FROM labels
WHERE attribute = $attribute AND value IS NOT NULL AND annotator IS NOT NULL
GROUP BY image_id, coalesce(detection_id, -1), annotator

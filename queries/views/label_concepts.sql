/*--- toml
answers = "The values of an attribute of labels, such as topics, as concepts (image_id, concept)."
details = "Of attributes of perceived labels only with a purpose: as groups, image_labels(...) has them in every audit."
source = "labels as ingested, of images and of boxes"
open_labels = true

[params.attribute]
type = "varchar"
values = "labels.attribute"
about = "attribute of labels, such as 'topic' or 'scene'"

[params.annotator]
type = "varchar"
optional = true
values = "labels.annotator"
about = "annotator of labels that count; NULL counts all"

[params.labels]
relation = ["image_id", "attribute", "value", "annotator"]
default = "labels"
about = "label rows, in table labels or elsewhere"
---*/
SELECT DISTINCT image_id, value AS concept
FROM labels
WHERE attribute = $attribute AND value IS NOT NULL AND ($annotator IS NULL OR annotator = $annotator)

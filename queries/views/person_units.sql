/*--- toml
answers = "Persons, not images, as the units of a group relation: image_id holds the id of the box."
details = """
For audits that count units of one or two group relations: demographics(person_units('perceived_gender')) counts
persons, intersections(person_units('perceived_gender'), person_units('perceived_race')) crosses two labels of the
same person; sources := person_images tells which persons share an image. Labels as in person_labels: perceived, never a fact about a person.
"""
source = "Girrbach et al., person annotations of LAION-400M (2025)"
presets = { paper = "Girrbach et al. (2025)" }

[params.attribute]
type = "varchar"
values = "labels.attribute"
about = "attribute of labels, such as 'perceived_gender'"

[params.min_side]
type = "double"
default = 30
presets = { paper = { value = 30, source = "section 3, C.2" } }
about = "shortest side of a box that counts, in pixels"

[params.annotator]
type = "varchar"
optional = true
values = "labels.annotator"
about = "annotator of labels that count; NULL counts all"

[params.labels]
relation = ["image_id", "detection_id", "attribute", "value"]
default = "labels"
about = "label rows, in table labels or elsewhere"

[params.detections]
relation = ["detection_id", "width", "height"]
default = "detections"
about = "the boxes that they are about"
---*/
SELECT detection_id AS image_id, label FROM person_labels($attribute, $min_side, $annotator, labels, detections)

/*--- toml
answers = "The image of each box: the sources of units that are persons."
details = """
image_id holds the id of the box, as in person_units, source_id the image it lies in: demographics(groups :=
person_units('perceived_gender'), sources := person_images) counts persons, with intervals that know which of them share
an image.
"""
source = "persons of one image as a cluster: docs/decisions/029-units-are-images.md"

[params.detections]
relation = ["detection_id", "image_id"]
default = "detections"
about = "boxes and their images"
---*/
SELECT detection_id AS image_id, image_id AS source_id FROM detections

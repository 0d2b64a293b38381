/*--- toml
answers = "One perceived label per image, rolled up from the labels of its persons and of the image itself."
details = """
An image whose labels hold exactly one clear value has that label (unclear persons beside it are allowed); with
several different ones, or a person labelled 'mixed', it is 'mixed'; else 'unclear'. 'mixed', 'unclear' and 'undefined'
are not clear values. Boxes whose shorter side is under min_side do not count; labels on the whole image do.
"""
source = """
Girrbach et al., person annotations of LAION-400M (2025): male, female, mixed, unclear; here for any attribute"""
kernel = "roll_up"
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
WITH given AS (
  SELECT
    l.image_id,
    CASE WHEN l.value NOT IN ('mixed', 'unclear', 'undefined') THEN l.value END AS clear,
    CASE WHEN l.value = 'mixed' THEN 1 ELSE 0 END AS mixed
  FROM labels AS l
  LEFT JOIN detections AS d ON d.detection_id = l.detection_id
  WHERE l.attribute = $attribute
    AND ($annotator IS NULL OR l.annotator = $annotator)
    AND (l.detection_id IS NULL OR least(d.width, d.height) >= $min_side)
)
SELECT
  image_id,
  CASE
    WHEN max(mixed) = 1 OR min(clear) <> max(clear) THEN 'mixed'
    ELSE coalesce(min(clear), 'unclear')
  END AS label
FROM given
GROUP BY image_id

/*--- toml
answers = "The images behind a line of spurious_correlations: those that have an attribute, with their label."
details = """
images_behind('object', 'tie', 'male') are the pictures with a tie whose captions name men only. Rows are about single
images: groups made of perceived labels are refused without a purpose, as everywhere. Without a label all images with
the attribute. Colours and topics want the attributes := that the line came from, see known_attributes.
"""
source = "companion of spurious_correlations"
level = "image"

[params.kind]
type = "varchar"
choices = ["object", "word", "label", "topic", "color", "position", "size", "distance"]
about = "kind of the attribute"

[params.attribute]
type = "varchar"
about = "the attribute, as the line names it"

[params.label]
type = "varchar"
optional = true
about = "label that images must have; NULL for any"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.attributes]
relation = ["image_id", "kind", "attribute"]
default = "known_attributes"
about = "as given to spurious_correlations"
---*/
SELECT DISTINCT a.image_id, a.kind, a.attribute, g.label, i.uri
FROM attributes AS a
JOIN groups AS g ON g.image_id = a.image_id
LEFT JOIN images AS i ON i.image_id = a.image_id
WHERE a.kind = $kind AND a.attribute = $attribute AND ($label IS NULL OR g.label = $label)
ORDER BY a.image_id, g.label

/*--- toml
answers = "The labels of a group relation, or the clear ones and 'others' for every other image: what a label is held against."
details = """
With others 'labelled' the rows of the group relation as they are. With 'all', images with a clear label keep it, and all
other ones, mixed, unclear and without any label, have the label 'others', so that a label can be held against all images
that it does not have. Labels are perceived, or those of words in captions.
"""
source = "Hamidieh et al. (2024), as Girrbach et al. (2025) print their C-ASC: Eq. 21, a group and all other images"

[params.images]
relation = ["image_id"]
default = "images"
grid = ["images"]
about = "which images there are"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"
narrowed = true

[params.others]
type = "varchar"
default = "labelled"
choices = ["labelled", "all"]
about = "whether images without a clear label count as well"
---*/
SELECT image_id, label FROM groups WHERE $others = 'labelled'
UNION ALL
SELECT DISTINCT image_id, label
FROM groups
WHERE $others = 'all' AND is_clear(label)
UNION ALL
SELECT DISTINCT i.image_id, 'others' AS label
FROM images AS i
WHERE $others = 'all'
  AND i.image_id IS NOT NULL
  AND i.image_id NOT IN (
    SELECT image_id FROM groups WHERE image_id IS NOT NULL AND is_clear(label)
  )

/*--- toml
answers = "How many images, or persons, carry each perceived label."
details = """
count of n images with any label, its share and Wilson's 95 % interval. Labels are those of words in captions, or of
annotators and models: perceived, never facts about persons. For persons instead of images pass
groups := person_units('perceived_gender'); persons of one image are alike, and intervals of persons, which take them as
independent, somewhat too short.

Counts under min_count are suppressed (NULL), and as many others as are needed so that none follows by subtraction;
unclear labels go first. See group_sizes.
"""
subject = "who is in the pictures"
source = "Girrbach et al., person annotations of LAION-400M (2025), distributions of labels"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[[cells]]
count = "count"
of = "n"
by = ["label"]
---*/
SELECT label, count, n, share, low, high
FROM label_shares(groups)
ORDER BY label

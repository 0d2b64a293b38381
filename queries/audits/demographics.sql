/*--- toml
answers = "How many images, or persons, carry each perceived label."
details = """
count of n images with any label, its share and Wilson's 95 % interval. Labels are those of words in captions, or of
annotators and models: perceived, never facts about persons. For persons instead of images pass
groups := person_units('perceived_gender'), sources := person_images: persons of one image are alike, count of them are in
that many images, and the interval is that of as many independent persons as would tell as much (effective_size). Of perceived
labels sources need a purpose, and persons are taken as independent without: few alike images would be known.

Counts under min_count are suppressed (NULL), and as many others as are needed so that none follows by subtraction;
unclear labels go first. See group_sizes.
"""
subject = "who is in the pictures"
source = "Girrbach et al., person annotations of LAION-400M (2025), distributions of labels"
presets = { paper = "Girrbach et al. (2025), images", paper_persons = "Girrbach et al. (2025), bounding boxes" }

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
presets = { paper = { value = "image_labels('perceived_gender', preset := 'paper')", source = "section 4.1, Fig. 5" }, paper_persons = { value = "person_units('perceived_gender', preset := 'paper')", source = "section 4.1, Fig. 5" } }
about = "group relation; the default needs captions only. The paper counts perceived race or ethnicity alike: image_labels('perceived_race_ethnicity')"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM groups WHERE 1 = 0)"
grid = []
about = "of units that are not images, such as persons: the image of each"

[[cells]]
count = "count"
of = "n"
by = ["label"]

[[cells]]
count = "images"
by = ["label"]
---*/
SELECT label, count, n, share, low, high, images
FROM label_shares(groups, sources)
ORDER BY label

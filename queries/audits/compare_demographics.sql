/*--- toml
answers = "Which share of images, or persons, carries each perceived label in two datasets."
details = """
Shares of both, their difference (first minus second) with Newcombe's 95 % interval, z test of two proportions with p
and q (Benjamini and Hochberg); row 'distribution': chi-square of homogeneity over the labels that are shown in both.
Small counts of either dataset, and what would give them away, are hidden by the engine; see docs/safety.md. The second
dataset is an attached lake: others := b.caption_gender. Where units are persons, as in demographics, sources and
other_sources say which of them share an image: intervals and tests are those of as many independent persons as would tell
as much. Labels are perceived, or those of words in captions: a difference is one of depiction, never of people.
"""
subject = "two datasets"
source = "Girrbach et al. (2025), G.4: CC12M beside LAION-400M, by shares alone; tests as in compared"

apart = ["groups", "others"]
presets = { paper = "Girrbach et al. (2025), images", paper_persons = "Girrbach et al. (2025), bounding boxes" }

[params.groups]
relation = ["image_id", "label"]
side = "a"
default = "caption_gender"
presets = { paper = { value = "image_labels('perceived_gender', preset := 'paper')", source = "G.4, Fig. 25" }, paper_persons = { value = "person_units('perceived_gender', preset := 'paper')", source = "G.4, Fig. 25" } }
about = "group relation of the first dataset; the default needs captions only"

[params.others]
relation = ["image_id", "label"]
side = "b"
about = "group relation of the second one, such as b.caption_gender; presets cannot name another lake, so give with them image_labels('perceived_gender', labels := b.labels, detections := b.detections), which needs a purpose, or a view of b that keeps it"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "smaller counts are suppressed"

[params.sources]
relation = ["image_id", "source_id"]
side = "a"
default = "(SELECT image_id, image_id AS source_id FROM groups WHERE 1 = 0)"
grid = []
about = "of units of the first dataset that are not images, such as persons: the image of each"

[params.other_sources]
relation = ["image_id", "source_id"]
side = "b"
default = "(SELECT image_id, image_id AS source_id FROM others WHERE 1 = 0)"
grid = []
about = "of units of the second dataset, such as b.person_images"

[[cells]]
count = "count_a"
side = "a"
of = "n_a"
by = ["label"]
within = ["item"]
tests = ["p", "q"]

[[cells]]
count = "count_b"
side = "b"
of = "n_b"
by = ["label"]
within = ["item"]

[[cells]]
count = "images_a"
side = "a"
by = ["label"]
within = ["item"]

[[cells]]
count = "images_b"
side = "b"
by = ["label"]
within = ["item"]
---*/
SELECT *
FROM compared(
  (
    SELECT 'all' AS item, l.label, l.count, l.n, l.images, l.effective, l.share AS value, l.low, l.high, z.shown AS in_table
    FROM label_shares(groups, sources) AS l
    JOIN group_sizes(groups, $min_count) AS z ON z.label = l.label
  ),
  (
    SELECT 'all' AS item, l.label, l.count, l.n, l.images, l.effective, l.share AS value, l.low, l.high, z.shown AS in_table
    FROM label_shares(others, other_sources) AS l
    JOIN group_sizes(others, $min_count) AS z ON z.label = l.label
  ),
  'distribution'
)
ORDER BY item, label

/*--- toml
answers = "How often two perceived labels meet in the same image, or person, in two datasets."
details = """
item is a label of groups, label one of crossed. Columns and tests as in compare_demographics. Small counts of either
dataset, and what would give them away, are hidden by the engine, see docs/safety.md, and the row 'distribution' where one of its
counts is small (smallest). Labels are perceived: a difference is one of depiction, never of people.
"""
subject = "two datasets"
source = """
our own: two datasets as in compare_demographics, two labels as in intersections, of which Girrbach et al. (2025), G.4, compare
each by itself; tests as in compared"""

[params.groups]
relation = ["image_id", "label"]
side = "a"
default = "caption_gender"
about = "group relation of the first dataset"

[params.others]
relation = ["image_id", "label"]
side = "b"
about = "group relation of the second one, such as b.caption_gender"

[params.crossed]
relation = ["image_id", "label"]
side = "a"
about = "group relation of the first dataset, to cross groups with"

[params.others_crossed]
relation = ["image_id", "label"]
side = "b"
about = "group relation of the second one, to cross others with"

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
by = ["item", "label"]
tests = ["p", "q"]

[[cells]]
count = "count_b"
side = "b"
by = ["item", "label"]

[[cells]]
count = "images_a"
side = "a"
by = ["item", "label"]

[[cells]]
count = "images_b"
side = "b"
by = ["item", "label"]

[[cells]]
count = "smallest"
---*/
SELECT
  c.*,
  CASE WHEN c.item = 'distribution' AND c.label IS NULL THEN s.smallest END AS smallest
FROM compared(
  (
    SELECT label AS item, other AS label, count, n, images, effective, share AS value, low, high, true AS in_table
    FROM crossed_labels(groups, crossed, sources)
  ),
  (
    SELECT label AS item, other AS label, count, n, images, effective, share AS value, low, high, true AS in_table
    FROM crossed_labels(others, others_crossed, other_sources)
  ),
  'distribution'
) AS c
CROSS JOIN (
  SELECT min(images) AS smallest
  FROM (
    SELECT count, images FROM crossed_labels(groups, crossed, sources)
    UNION ALL
    SELECT count, images FROM crossed_labels(others, others_crossed, other_sources)
  ) AS b
  WHERE count > 0
) AS s
ORDER BY c.item, c.label

/*--- toml
answers = "How often two perceived labels meet in the same image, or person, against chance."
details = """
One row for every pair of labels: count of the n images that have both kinds of label, its share with Wilson's 95 %
interval, the count expected if the two were independent, ratio = count / expected with a 95 % interval
(ratio_low, ratio_high), and G2 of the two-by-two table of the pair with p (chi-square, one degree of freedom) and q
(Benjamini and Hochberg over all rows, hidden ones as p = 1). For persons pass person_units('perceived_gender'),
person_units('perceived_race') and sources := person_images: persons of one image are alike, count of them are in that many
images, and intervals and p are those of as many independent persons as would tell as much (effective_size,
design_effects). Labels are perceived, never facts about persons.

label_count and other_count are the sums of the row and the column. Small counts, and what would give them away to who
knows all sums, are hidden by the engine; see docs/safety.md. Where such a sum is small itself, what tells it is hidden too:
expected and ratio.
"""
subject = "who is in the pictures"
source = """
Dunning (1993), G2; Benjamini and Hochberg (1995); complementary suppression as in disclosure control of official statistics;
labels as in Girrbach et al. (2025), who cross gender with race or ethnicity (4.3) and do not count how often they meet"""

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation; rows of the table"

[params.others]
relation = ["image_id", "label"]
about = "group relation; columns of the table"

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
by = ["label", "other"]
measures = ["n", "share", "low", "high", "expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q", "images"]
tests = ["p", "q"]

[[cells]]
count = "images"
by = ["label", "other"]
measures = ["count", "n", "share", "low", "high", "expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q"]
tests = ["p", "q"]

[[cells]]
count = "label_count"
by = ["label"]
measures = ["expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q"]

[[cells]]
count = "other_count"
by = ["other"]
measures = ["expected", "ratio", "ratio_low", "ratio_high", "g2", "p", "q"]
---*/
SELECT
  label, other, count, n, share, low, high, expected, ratio, ratio_low, ratio_high, g2, p, q, label_count, other_count,
  images
FROM false_discovery(crossed_labels(groups, others, sources))
ORDER BY label, other

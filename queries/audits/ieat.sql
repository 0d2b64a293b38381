/*--- toml
answers = """
Are images of two perceived groups associated with two sets of other images in an image model? With a p-value."""
details = """
s(w) = mean cosine of image w with the images labelled a - mean cosine with those labelled b. value is the effect
size: (mean of s over the images labelled x - mean over y) / standard deviation of s over both (ddof 1). Interval, p,
exact and n are those of weat. targets and attributes are two group relations over the same images; an image with both
x and y is left out, and so is one with both a and b. Several vectors of one image, or of images of one source with the same
label, are not independent and count as one, their mean direction (sources, which edits of a contrast set need). Those of one source
with x and with y are a pair: the permutations exchange the two, and the interval is as in a paired t test. Labels are perceived, or those of words in captions; an
association is a property of the model.

The engine hides a row where a label has few images, or group_sizes hides it (docs/safety.md).
"""
subject = "what a model associates"
source = """
Steed and Caliskan, Image representations learned with unsupervised pre-training contain human-like biases (2021)"""

among = [{ labels = ["x", "y"], relations = ["targets"] }, { labels = ["a", "b"], relations = ["attributes"] }]

[params.images]
relation = ["image_id", "embedding"]
about = "embeddings of images by one model"

[params.attributes]
relation = ["image_id", "label"]
about = "group relation of the attributes, such as image_labels('scene')"

[params.targets]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation of the targets"

[params.a]
type = "varchar"
about = "label of the first attributes"

[params.b]
type = "varchar"
about = "label of the second attributes"

[params.x]
type = "varchar"
default = "male"
about = "label of the first targets"

[params.y]
type = "varchar"
default = "female"
about = "label of the second targets"

[params.permutations]
type = "integer"
default = 10000
min = 1
free = true
about = "so many divisions are all taken, or drawn where there are more"

[params.seed]
type = "integer"
default = 0
free = true
about = "of the draws"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images of a label are hidden"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images WHERE 1 = 0)"
grid = []
about = "which images were made of one, as edits are: their vectors with the same label count as one, the mean direction, and those with x and y are compared with each other"

[[cells]]
count = "n_x"

[[cells]]
count = "n_y"

[[cells]]
count = "n_a"

[[cells]]
count = "n_b"

[[cells]]
count = "smallest"
---*/
WITH unused AS (
  SELECT count(*) > 0 AS suppressed
  FROM (
    SELECT used FROM group_sizes(targets, $min_count) WHERE label IN ($x, $y)
    UNION ALL
    SELECT used FROM group_sizes(attributes, $min_count) WHERE label IN ($a, $b)
  ) AS s
  WHERE NOT used
),
-- few images are few, however many vectors each has
smallest AS (
  SELECT min(images) AS smallest
  FROM (
    SELECT g.label, count(DISTINCT g.image_id) AS images
    FROM (
      SELECT image_id, label, 'target' AS side FROM targets WHERE label IN ($x, $y)
      UNION ALL
      SELECT image_id, label, 'attribute' AS side FROM attributes WHERE label IN ($a, $b)
    ) AS g
    JOIN images AS v ON v.image_id = g.image_id
    WHERE v.embedding IS NOT NULL
    GROUP BY g.side, g.label
  ) AS s
)
SELECT t.*, s.smallest, u.suppressed
FROM tested_association(
  mean_directions(images, (SELECT image_id, label FROM targets WHERE label IN ($x, $y)), sources),
  mean_directions(images, (SELECT image_id, label FROM attributes WHERE label IN ($a, $b)), sources),
  $x, $y, $a, $b, $permutations, $seed, $min_count
) AS t
CROSS JOIN smallest AS s
CROSS JOIN unused AS u

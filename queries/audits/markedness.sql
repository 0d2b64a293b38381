/*--- toml
answers = """
How often a model finds "a person" the best description of a perceived group's images, no label that marks it."""
details = """
Every image takes the prompt whose vector has the largest cosine with its own; ties go to the first prompt by name.
For every clear label: count of its n images that take the prompt called unmarked, share = count / n with Wilson's 95 %
interval. A group with a lower share is marked by the model: it is described by what sets it apart, where others are
persons. prompts are one unmarked description and one for each way of marking, such as 'a photo of a person' and 'a
photo of a female person', 'a photo of a male person'; a prompt may have several rows. Labels are perceived, or those of
words in captions.

Labels of few images are hidden by the engine, and those of which 1 to 9 take the unmarked prompt, or do not (docs/safety.md).
"""
subject = "what a model associates"
source = """
Wolfe and Caliskan, Markedness in visual semantic AI (2022): share of images ranked nearest to "person"; rule and
prompts as in public code of that study (the paper's abstract agrees, its text was not found), which averages over
samples of groups of equal size: that changes the error of a share, not what it is"""

[params.images]
relation = ["image_id"]
about = "with a vector column: embeddings of images by the model"

[params.prompts]
relation = ["category", "embedding"]
about = "embeddings of prompts by the same model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.unmarked]
type = "varchar"
default = "person"
grid = []
about = "category of the prompt that marks nothing"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images of a label are suppressed"

[[cells]]
count = "n"
by = ["label"]

[[cells]]
count = "count"
out_of = "n"
by = ["label"]
below = 10

[[cells]]
count = "images"
by = ["label"]

[[cells]]
count = "count_images"
out_of = "images"
by = ["label"]
below = 10
---*/
WITH sizes AS (
  SELECT DISTINCT label FROM groups WHERE is_clear(label)
),
taken AS (
  SELECT label, count, n, images, count_images
  FROM nearest_counts(
    images,
    (SELECT category AS item, CAST(embedding AS FLOAT[]) AS embedding FROM prompts),
    groups,
    column := $column
  )
  WHERE item = $unmarked
)
SELECT
  s.label,
  t.count,
  t.n,
  CAST(t.count AS DOUBLE) / nullif(t.n, 0) AS share,
  wilson_low(t.count, t.n) AS share_low,
  wilson_high(t.count, t.n) AS share_high,
  t.images,
  t.count_images
FROM sizes AS s
LEFT JOIN taken AS t ON t.label = s.label
ORDER BY s.label

/*--- toml
answers = "How alike a model's vectors of the images of each perceived group are: the mean cosine of pairs."
details = """
For every clear label: value = mean cosine over all pairs of different vectors of the label, n of them, which follows
from the length of their mean without looking at pairs. low and high: 95 % interval of the mean over pairs (normal, a
U-statistic's first-order variance). A higher value is read as more attention of the model to what the group's members
share, and less to what tells them apart; it also rises where the images were taken in one way. Labels are perceived, or
those of words in captions.

images of the n_images (with any label, added up) carry the label, missing of the n_missing have no vector (NULL where all
have one), and of the n_all vectors n are its own. The engine
hides rows of labels with few images or vectors (docs/safety.md).
"""
subject = "what a model associates"
source = """
Wolfe and Caliskan, Markedness in visual semantic AI (2022): mean pairwise cosine similarity, as its abstract has it;
how many pairs the paper sampled was not found: here all are taken"""

[params.images]
relation = ["image_id"]
about = "with a vector column: embeddings of images by the model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images or vectors of a label are hidden"

[[cells]]
count = "n"
of = "n_all"
by = ["label"]

[[cells]]
count = "images"
of = "n_images"
by = ["label"]

[[cells]]
count = "images_label"
of = "images_all"
by = ["label"]

[[cells]]
count = "missing"
of = "n_missing"
by = ["label"]
---*/
WITH sizes AS (
  SELECT label, used, images, n_images
  FROM (SELECT *, CAST(sum(images) OVER () AS BIGINT) AS n_images FROM group_sizes(groups, $min_count)) AS g
  WHERE clear
),
-- the cosines with their own mean have the length of the mean as their mean
lengths AS (
  SELECT label, n, images, unnest(projections(mean, products, shared, [mean])) AS own FROM moments(images, groups, column := $column)
),
pairs AS (
  SELECT
    s.label,
    coalesce(l.n, 0) AS n,
    coalesce(l.images, 0) AS images_label,
    CAST((SELECT sum(images) FROM lengths) AS BIGINT) AS images_all,
    (l.n * coalesce(l.own.mean, 0) * coalesce(l.own.mean, 0) - 1) / nullif(l.n - 1, 0) AS value,
    -- of leaving out each vector in turn: the jackknife of a mean over pairs
    2 * coalesce(l.own.mean, 0) * sqrt(coalesce(l.own.variance, 0) / nullif(l.n - 1, 0)) * l.n / nullif(l.n - 2, 0)
      AS standard_error,
    CAST((SELECT sum(n) FROM lengths) AS BIGINT) AS n_all,
    s.images,
    s.n_images,
    NOT s.used AS suppressed
  FROM sizes AS s
  LEFT JOIN lengths AS l ON l.label = s.label
)
SELECT
  label,
  value,
  CASE WHEN value IS NOT NULL THEN greatest(value - student_point(n - 1) * standard_error, -1) END AS low,
  CASE WHEN value IS NOT NULL THEN least(value + student_point(n - 1) * standard_error, 1) END AS high,
  n,
  n_all,
  images_label,
  images_all,
  images,
  n_images,
  CASE WHEN n_images > images_all THEN images - images_label END AS missing,
  nullif(n_images - images_all, 0) AS n_missing,
  suppressed
FROM pairs
ORDER BY label

/*--- toml
answers = "Which perceived group a model's image vectors bring each category nearer to: d(c), one pass over the images."
details = """
For every category: mean_label and mean_against, the mean cosines of its vector with the images of label and of against,
and value, the former less the latter, divided by std, + towards label. normalizer 'group': std is the standard
deviation of the category's cosines over the images of both labels together (ddof 1). 'global': one std over the cosines
of all labelled images, mixed and unclear ones included, with all categories (ddof 1). low and high are the 95 %
interval: for 'group' that of effect_interval (Student's t, unequal variances, std as uncertain as it is), for 'global'
that of the difference of the means divided by std, which many categories tell; p is of the same t, and q by Benjamini
and Hochberg over all rows, hidden ones as p = 1. n: vectors of both
labels, of images_label and images_against; several of one image count as one, their mean direction, and so do those of one
source with the same label, which edits of a contrast set need (without it, chance passes for association); of a source with
both labels the edits are compared with each other, as in a paired t test: what they have in common is no difference. Sources
of your own list images with several vectors, too. Cosines come from the mean and the second moments of each label's vectors; vectors need not be of unit length. A
category with several rows has a value for each. What a model associates says nothing of persons; labels are perceived,
or those of words in captions.

Memory does not grow with categories, by some 40 bytes an image, and by a vector a source. Most of it is vectors that Lance reads ahead: with
vectors of 512 a query that only reads them takes 0.5 GB at 50,000 images, 0.9 at 300,000, 1.2 at a million and more.

The engine hides rows where either label has few vectors or images, or group_sizes hides it (docs/safety.md).
"""
subject = "what a model associates"
source = "Girrbach et al. (2025), Eq. 1; 'global' is what its released notebook does"
among = [{ labels = ["label", "against"], relations = ["groups"] }]
presets = { paper = "Girrbach et al. (2025), Eq. 1", code = "its released notebook" }

[params.images]
relation = ["image_id"]
about = "with a vector column: embeddings of images by the model"

[params.categories]
relation = ["category", "embedding"]
about = "embeddings of texts by the same model"

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.normalizer]
type = "varchar"
default = "group"
choices = ["group", "global"]
presets = { paper = { value = "group", source = "Eq. 1" }, code = { value = "global", source = "its notebook" } }
about = "by what differences are divided"

[params.label]
type = "varchar"
default = "female"
presets = { paper = { value = "female", source = "Eq. 1" }, code = { value = "female", source = "its notebook" } }
about = "label that counts as +"

[params.against]
type = "varchar"
default = "male"
presets = { paper = { value = "male", source = "Eq. 1" }, code = { value = "male", source = "its notebook" } }
about = "label it is held against"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer vectors, or images, of a label are hidden"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images GROUP BY image_id HAVING count(*) > 1)"
grid = []
about = "which images were made of one, as edits are: their vectors with the same label count as one, the mean direction"

[[cells]]
count = "n_label"
within = ["category"]
tests = ["p", "q"]

[[cells]]
count = "n_against"
within = ["category"]

[[cells]]
count = "images_label"
within = ["category"]

[[cells]]
count = "images_against"
within = ["category"]
---*/
SELECT
  category,
  difference / std AS value,
  CASE WHEN std > 0 AND $normalizer = 'group' THEN effect.low ELSE (difference - student_point(df) * standard_error) / std END AS low,
  CASE WHEN std > 0 AND $normalizer = 'group' THEN effect.high ELSE (difference + student_point(df) * standard_error) / std END AS high,
  mean_label,
  mean_against,
  std,
  n,
  n_label,
  n_against,
  images_label,
  images_against,
  p,
  q,
  suppressed
FROM false_discovery((
  WITH totals AS (
    SELECT
      sum(CAST(n AS BIGINT)) AS n,
      sum(CAST(n * mean AS DECIMAL(38, 18))) AS total,
      sum(CAST(n * (variance + mean * mean) AS DECIMAL(38, 18))) AS squares
    FROM category_similarities(images, categories, groups, $column, sources, [$label, $against])
    WHERE mean IS NOT NULL
  ),
  whole AS (
    SELECT
      sqrt(greatest(CAST(squares AS DOUBLE) - CAST(total AS DOUBLE) * CAST(total AS DOUBLE) / n, 0) / nullif(n - 1, 0)) AS std
    FROM totals
  ),
  sides AS (
    SELECT
      d.*,
      d.difference / nullif(d.standard_error, 0) AS t,
      CASE $normalizer WHEN 'group' THEN d.group_std WHEN 'global' THEN w.std END AS std
    FROM label_differences(images, categories, groups, $label, $against, $column, $min_count, sources) AS d
    CROSS JOIN whole AS w
  ),
  pairs AS (
    SELECT * EXCLUDE (std), CASE WHEN std > 1e-7 THEN std END AS std FROM sides
  )
  SELECT *, student_p(t, df) AS p FROM pairs
))
ORDER BY category, place

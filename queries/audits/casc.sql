/*--- toml
answers = """
Which perceived group, held against all the others, a model's image vectors bring each category nearer to (C-ASC)."""
details = """
A row for every category and clear label: value = (mean cosine of the category with the label's images - mean cosine
with all other images) / std, where std is the standard deviation of the category's cosines over all of them (ddof 1).
The others are those with another clear label (others 'labelled'), or all other images ('all', as the measure is printed):
then images without a clear label, mixed, unclear and unlabelled ones, are a label of their own, 'others', with rows of
its own. low and high are its 95 % interval (effect_interval: Student's t, unequal variances, std as uncertain as it is);
p is of Student's t, and q by Benjamini and Hochberg over all rows, hidden ones as p = 1. n_label of the n vectors (of
images_label) are the label's, and images of the n_images (with any label, added up), of which missing of the n_missing have
no vector (NULL where all have one); several vectors of one image, or of one
source with the same label, count as one (see association). With two labels this is association. What a model
associates says nothing of persons; labels are perceived, or those of words in captions.

The engine hides rows of labels with few images or vectors (docs/safety.md); labels that group_sizes hides take no part in
others' rows.
"""
subject = "what a model associates"
source = """
Hamidieh et al., Identifying implicit social biases in vision-language models (2024), C-ASC, as Girrbach et al. (2025)
print it: Eq. 21 (H.2). They do not print whether the standard deviation divides by n or by n - 1; here it is n - 1"""
presets = { paper = "Hamidieh et al. (2024), as Girrbach et al. (2025) print it" }

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

[params.others]
type = "varchar"
default = "labelled"
choices = ["labelled", "all"]
grid = ["labelled", "all"]
presets = { paper = { value = "all", source = "Girrbach et al. (2025), H.2, Eq. 21" } }
about = "what a label is held against: images with another clear label, or all other images; by default images without a clear label do not count"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "fewer images or vectors of a label are hidden"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images GROUP BY image_id HAVING count(*) > 1)"
grid = []
about = "which images were made of one, as edits are: their vectors with the same label count as one, the mean direction"

[[cells]]
count = "n_label"
of = "n"
by = ["label"]
within = ["category"]
tests = ["p", "q"]

[[cells]]
count = "images"
of = "n_images"
by = ["label"]
within = ["category"]

[[cells]]
count = "images_label"
of = "images_all"
by = ["label"]
within = ["category"]

[[cells]]
count = "missing"
of = "n_missing"
by = ["label"]
within = ["category"]
---*/
SELECT
  category,
  label,
  difference / std AS value,
  CASE WHEN std > 0 THEN effect.low END AS low,
  CASE WHEN std > 0 THEN effect.high END AS high,
  mean AS mean_label,
  rest_mean AS mean_others,
  std,
  n_all AS n,
  n AS n_label,
  images_label,
  images_all,
  images,
  n_images,
  CASE WHEN lacking > 0 THEN images - images_label END AS missing,
  nullif(lacking, 0) AS n_missing,
  p,
  q,
  suppressed
FROM false_discovery((
  WITH sizes AS (
    SELECT label, used, images, n_images
    FROM (SELECT *, CAST(sum(images) OVER () AS BIGINT) AS n_images FROM group_sizes(labels_and_others(images, groups, $others), $min_count)) AS g
    WHERE clear
  ),
  cosines AS MATERIALIZED (
    SELECT *
    FROM category_similarities(
      images,
      categories,
      (
        SELECT l.image_id, l.label
        FROM labels_and_others(images, groups, $others) AS l
        JOIN group_sizes(labels_and_others(images, groups, $others), $min_count) AS s ON s.label = l.label AND s.used
      ),
      $column,
      sources
    )
  ),
  named AS (
    SELECT category, row_number() OVER (ORDER BY category, CAST(embedding AS DOUBLE[])) AS place
    FROM categories
    WHERE category IS NOT NULL AND embedding IS NOT NULL
  ),
  wholes AS (
    SELECT
      place,
      CAST(sum(n) AS BIGINT) AS n,
      CAST(sum(images) AS BIGINT) AS images_all,
      CAST(sum(CAST(n * mean AS DECIMAL(38, 18))) AS DOUBLE) AS total,
      CAST(sum(CAST(n * (variance + mean * mean) AS DECIMAL(38, 18))) AS DOUBLE) AS squares
    FROM cosines
    GROUP BY place
  ),
  sides AS (
    SELECT
      c.place,
      c.label,
      c.n,
      c.images,
      w.n - c.n AS rest,
      c.mean,
      c.variance,
      c.shared,
      c.shared_sources,
      c.shared_others,
      (w.total - c.n * c.mean) / nullif(w.n - c.n, 0) AS rest_mean,
      (w.squares - c.n * (c.variance + c.mean * c.mean)) / nullif(w.n - c.n, 0) AS rest_squares,
      sqrt(greatest(w.squares - w.total * w.total / w.n, 0) / nullif(w.n - 1, 0)) AS std
    FROM cosines AS c
    JOIN wholes AS w ON w.place = c.place
  ),
  spreads AS (
    SELECT *, mean - rest_mean AS difference, greatest(rest_squares - rest_mean * rest_mean, 0) AS rest_variance FROM sides
  ),
  tests AS (
    SELECT
      *,
      welch_error(variance, n, rest_variance, rest, shared) AS standard_error,
      welch_df(variance, n, rest_variance, rest, shared, shared_sources, shared_others) AS df
    FROM spreads
  ),
  measures AS (
    SELECT *, effect_interval(difference, standard_error, df, variance, n, rest_variance, rest) AS effect FROM tests
  ),
  cells AS (
    SELECT
      k.place,
      k.category,
      s.label,
      m.difference,
      m.effect,
      student_p(m.difference / nullif(m.standard_error, 0), m.df) AS p,
      m.mean,
      m.rest_mean,
      CASE WHEN m.std > 1e-7 THEN m.std END AS std,
      CASE WHEN s.used THEN coalesce(m.n, 0) END AS n,
      CASE WHEN s.used THEN coalesce(m.images, 0) END AS images_label,
      w.n AS n_all,
      w.images_all,
      s.images,
      s.n_images,
      NOT s.used AS suppressed
    FROM named AS k
    CROSS JOIN sizes AS s
    LEFT JOIN wholes AS w ON w.place = k.place AND s.used
    LEFT JOIN measures AS m ON m.place = k.place AND m.label = s.label
  )
  SELECT *, CAST(sum(images - images_label) OVER (PARTITION BY place) AS BIGINT) AS lacking FROM cells
))
ORDER BY category, place, label

/*--- toml
answers = "How much nearer each category is to the images of one label than to those of another, in mean cosines."
details = """
One row per category: see similarity_bias, which shows it, and association, which divides it by group_std, the standard
deviation of the category's cosines over the images of both labels together (ddof 1); effect has the ends of the
interval of that (effect_interval).
"""
source = "Girrbach et al. (2025), Eq. 1"

[params.images]
relation = ["image_id"]
about = "with a vector column"

[params.categories]
relation = ["category", "embedding"]

[params.groups]
relation = ["image_id", "label"]

[params.label]
type = "varchar"
about = "label that counts as +"

[params.against]
type = "varchar"
about = "label it is held against"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.min_count]
type = "integer"
default = 10
min = 0
about = "see group_sizes"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images GROUP BY image_id HAVING count(*) > 1)"
grid = []
about = "which images were made of one, as edits are: their vectors with the same label count as one, the mean direction"
---*/
WITH cosines AS MATERIALIZED (
  SELECT * FROM category_similarities(images, categories, groups, $column, sources, [$label, $against])
),
unused AS (
  SELECT count(CASE WHEN NOT used THEN 1 END) > 0 AS suppressed
  FROM group_sizes(groups, $min_count)
  WHERE label IN ($label, $against)
),
sides AS (
  SELECT
    a.place,
    a.category,
    a.n AS n_label,
    b.n AS n_against,
    a.images AS images_label,
    b.images AS images_against,
    a.mean AS mean_label,
    b.mean AS mean_against,
    a.variance,
    b.variance AS other_variance,
    welch_error(a.variance, a.n, b.variance, b.n, a.shared) AS standard_error,
    welch_df(a.variance, a.n, b.variance, b.n, a.shared, a.shared_sources, a.shared_others) AS df
  FROM cosines AS a
  JOIN cosines AS b ON b.place = a.place AND b.label = $against
  WHERE a.label = $label
)
SELECT
  place,
  category,
  n_label,
  n_against,
  n_label + n_against AS n,
  images_label,
  images_against,
  mean_label,
  mean_against,
  mean_label - mean_against AS difference,
  standard_error,
  df,
  sqrt(
    (
      n_label * variance + n_against * other_variance
      + CAST(n_label AS DOUBLE) * n_against / (n_label + n_against) * (mean_label - mean_against) * (mean_label - mean_against)
    ) / (n_label + n_against - 1)
  ) AS group_std,
  effect_interval(mean_label - mean_against, standard_error, df, variance, n_label, other_variance, n_against) AS effect,
  u.suppressed
FROM sides
CROSS JOIN unused AS u

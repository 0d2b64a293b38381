/*--- toml
answers = "Mean and variance of the cosines of images with categories, by category and label of the images."
details = """
Computed from the mean and the second moments of each label's image vectors, so that the images are read once however
many categories there are. Vectors need not be of unit length. place numbers the rows of categories in order of name and
vector: a category that stands there several times, such as with several prompts, is not averaged. Vectors of one image, or
of images of one source, are not independent: those with the same label count as one, their mean direction, among the n of
the label, which are of so many images; variance is of the population (divided by n). shared, shared_sources and shared_others: of
sources with several labels of those compared, see moments and welch_error.
"""
source = "closed form of Girrbach et al. (2025), Eq. 1"

[params.images]
relation = ["image_id"]
about = "with a vector column"

[params.categories]
relation = ["category", "embedding"]

[params.groups]
relation = ["image_id", "label"]
default = "caption_gender"
about = "group relation"

[params.column]
type = "varchar"
default = "embedding"
about = "vector column of images"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images GROUP BY image_id HAVING count(*) > 1)"
grid = []
about = "which images were made of one, as edits are: their vectors with the same label count as one, the mean direction"

[params.compared]
type = "varchar[]"
default = []
about = "labels that are held against each other; all of them with none"
---*/
WITH named AS (
  SELECT category, CAST(embedding AS DOUBLE[]) AS embedding FROM categories WHERE category IS NOT NULL AND embedding IS NOT NULL
),
lists AS (
  SELECT
    list(category ORDER BY category, embedding) AS names,
    list(embedding ORDER BY category, embedding) AS vectors
  FROM named
),
found AS (
  SELECT
    m.label,
    m.n,
    m.images,
    m.shared_sources,
    m.shared_others,
    unnest(range(1, array_length(l.names) + 1)) AS place,
    unnest(l.names) AS category,
    unnest(projections(m.mean, m.products, m.shared, l.vectors)) AS cosines
  FROM moments(images, groups, $column, sources, $compared) AS m
  CROSS JOIN lists AS l
)
SELECT
  place,
  category,
  label,
  n,
  images,
  cosines.mean AS mean,
  cosines.variance AS variance,
  cosines.shared AS shared,
  shared_sources,
  shared_others
FROM found

/*--- toml
answers = "A place of every image on a map of its vector: near ones are alike along the two axes that differ most."
details = """
x and y: the vector's principal components (mean taken off), from the axes of at most 20,000 of the vectors, drawn by a hash
of their ids. share: of the variance of all components that the two explain; where it is small, images that lie together may
differ much. Keep it as a materialized view: `cbal ui` shows every view with image_id, x and y as a map.
"""
source = "Pearson, On lines and planes of closest fit to systems of points in space (1901)"

[params.vectors]
relation = ["image_id", "embedding"]
about = "vectors of images, such as (SELECT image_id, clip AS embedding FROM images)"
---*/
WITH known AS (
  SELECT image_id, CAST(embedding AS FLOAT[]) AS embedding FROM vectors WHERE embedding IS NOT NULL AND image_id IS NOT NULL
),
drawn AS (
  SELECT image_id, embedding FROM known ORDER BY md5_number_lower(concat('map:', image_id)), image_id LIMIT 20000
),
axes AS (
  SELECT principal_axes(list(embedding ORDER BY image_id)) AS found FROM drawn
)
SELECT
  k.image_id,
  list_dot_product(CAST(k.embedding AS DOUBLE[]), a.found.first) - list_dot_product(a.found.mean, a.found.first) AS x,
  list_dot_product(CAST(k.embedding AS DOUBLE[]), a.found.second) - list_dot_product(a.found.mean, a.found.second) AS y,
  a.found.share AS share
FROM known AS k
CROSS JOIN axes AS a

/*--- toml
answers = "One vector an image, or source, with its label: the mean direction of its vectors."
details = """
Vectors of one image, or of images that were made of one source, are not independent; a test that takes them so finds what
is not there. An image with two labels is left out; one that sources does not list is a source of its own (NULL).
"""
source = "what moments does with sources"

[params.images]
relation = ["image_id", "embedding"]
about = "vectors of images"

[params.groups]
relation = ["image_id", "label"]
about = "group relation"

[params.sources]
relation = ["image_id", "source_id"]
default = "(SELECT image_id, image_id AS source_id FROM images WHERE 1 = 0)"
grid = []
about = "which images were made of one, as edits are"
---*/
WITH labelled AS (
  SELECT image_id, min(label) AS label
  FROM groups
  WHERE image_id IS NOT NULL AND label IS NOT NULL
  GROUP BY image_id
  HAVING min(label) = max(label)
),
made_of AS (
  SELECT image_id, min(source_id) AS source FROM sources WHERE image_id IS NOT NULL AND source_id IS NOT NULL GROUP BY image_id
),
given AS (
  SELECT g.image_id, g.label, CAST(v.embedding AS DOUBLE[]) AS vector
  FROM labelled AS g
  JOIN images AS v ON v.image_id = g.image_id
  WHERE v.embedding IS NOT NULL
),
units AS (
  SELECT
    v.label,
    s.source,
    CASE WHEN s.source IS NULL THEN v.image_id END AS alone,
    v.vector,
    count(*) OVER (PARTITION BY v.label, s.source, CASE WHEN s.source IS NULL THEN v.image_id END) AS n
  FROM given AS v
  LEFT JOIN made_of AS s ON s.image_id = v.image_id
),
directions AS (
  SELECT label, source, alone, list_transform(vector, lambda x: x / sqrt(list_inner_product(vector, vector))) AS direction
  FROM units
  WHERE n > 1
),
means AS (
  SELECT label, source, CAST(mean_vector(CAST(list(direction ORDER BY direction) AS FLOAT[][])) AS DOUBLE[]) AS embedding
  FROM directions
  GROUP BY label, source, alone
)
SELECT label, vector AS embedding, source FROM units WHERE n = 1
UNION ALL
SELECT label, embedding, source FROM means WHERE list_inner_product(embedding, embedding) > 0

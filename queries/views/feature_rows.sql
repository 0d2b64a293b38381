/*--- toml
answers = "Features of sparse autoencoders as sparse rows: one for every item and active feature."
details = """
features are lists as sae_features() makes them. sae is the number of the autoencoder; feature counts through all of
them.
"""
source = "rows of sparse activations as in Girrbach et al. (2025), topic analysis"

[params.items]
relation = ["item_id", "image_id", "features"]
---*/
WITH active AS (
  SELECT item_id, image_id, unnest(features) AS found FROM items WHERE features IS NOT NULL
)
SELECT
  item_id,
  image_id,
  CAST(floor(found.feature / 1048576e0) AS INTEGER) AS sae,
  CAST(found.feature AS INTEGER) AS feature,
  CAST(found.activation AS FLOAT) AS activation
FROM active

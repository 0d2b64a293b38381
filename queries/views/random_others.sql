/*--- toml
answers = "For each pair of a text and an image another pair, of another image, drawn at random: (pair_id, other_id)."
details = """
Every pair of another image is as likely as any; the same seed draws the same everywhere. other_image_id is its image. Pairs
without a key or an image, and pairs where all are of one image, have no row.
"""
source = """
Le et al., COCO-Counterfactuals (2023), 4.2.2: (C_r, I_r) is "a different original image-text pair randomly sampled", with
another image"""

[params.pairs]
relation = ["pair_id", "image_id"]
about = "keys, and of which image each is"

[params.seed]
type = "integer"
default = 0
about = "another seed, another draw"
---*/
WITH own AS (
  SELECT pair_id, min(image_id) AS image_id
  FROM pairs
  WHERE pair_id IS NOT NULL AND image_id IS NOT NULL
  GROUP BY pair_id
),
-- pairs of an image lie side by side: what lies behind them, round to where they begin, are all the others
placed AS (
  SELECT
    pair_id,
    image_id,
    row_number() OVER (ORDER BY image_id, pair_id) - 1 AS place,
    rank() OVER (ORDER BY image_id) - 1 AS start,
    count(*) OVER (PARTITION BY image_id) AS alike,
    count(*) OVER () AS n
  FROM own
),
drawn AS (
  SELECT
    pair_id,
    (start + alike + CAST(md5_number_lower(concat('other:', $seed, ':', pair_id)) >> 11 AS BIGINT) % (n - alike)) % n AS place
  FROM placed
  WHERE n > alike
)
SELECT d.pair_id, p.pair_id AS other_id, p.image_id AS other_image_id
FROM drawn AS d
JOIN placed AS p ON p.place = d.place

/*--- toml
answers = "Scores for image_text_matching by vectors: of texts with their images, with random and with counterfactual ones."
details = """
Inner products, the cosines of vectors of unit length; CLIP's own scores are these times one number. A pair is an original
text and image (o), the counterfactual text (c), and the pictures that were drawn for either; r is the original text and
image of another pair, of another image, drawn by seed (random_others). A score says text first: o_r is that of this
pair's text with the other's image. The vectors must be of one model. For pairs of the recipe coco_counterfactuals, with
vectors of the images by the model that its parameter clip names:

pairs := (SELECT p.caption_id AS pair_id, p.image_id, r.text_a AS text_o, i.embedding AS image_o, r.text_b AS text_c,
r.image_a AS drawn_o, r.image_b AS drawn_c FROM coco_counterfactuals_pairs AS p JOIN coco_counterfactuals_requests AS r
USING (edit_id) JOIN images AS i ON i.image_id = p.image_id)

and, since captions of one image are alike, sources := (SELECT caption_id AS pair_id, image_id AS source_id FROM
coco_counterfactuals_pairs) of image_text_matching.

Where a model scores a text and an image together, have it score these six of every pair, r as random_others draws it.
"""
source = "Le et al., COCO-Counterfactuals (2023), 4.2.2"

[params.pairs]
relation = ["pair_id", "image_id", "text_o", "image_o", "text_c", "drawn_o", "drawn_c"]
about = "a key, which image the pair is of, and five vectors"

[params.seed]
type = "integer"
default = 0
about = "another seed, other random pairs"
---*/
WITH vectors AS (
  SELECT
    pair_id,
    CAST(text_o AS DOUBLE[]) AS text_o,
    CAST(image_o AS DOUBLE[]) AS image_o,
    CAST(text_c AS DOUBLE[]) AS text_c,
    CAST(drawn_o AS DOUBLE[]) AS drawn_o,
    CAST(drawn_c AS DOUBLE[]) AS drawn_c
  FROM pairs
  WHERE pair_id IS NOT NULL
)
SELECT
  v.pair_id,
  list_inner_product(o.text_o, o.image_o) AS rr,
  list_inner_product(o.text_o, v.image_o) AS r_o,
  list_inner_product(v.text_o, o.image_o) AS o_r,
  list_inner_product(v.text_c, v.drawn_c) AS cc,
  list_inner_product(v.text_c, v.drawn_o) AS c_o,
  list_inner_product(v.text_o, v.drawn_c) AS o_c
FROM vectors AS v
LEFT JOIN random_others((SELECT pair_id, image_id FROM pairs), seed := $seed) AS d ON d.pair_id = v.pair_id
LEFT JOIN vectors AS o ON o.pair_id = d.other_id

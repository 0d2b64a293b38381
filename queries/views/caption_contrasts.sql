/*--- toml
answers = "Pairs of captions as a contrast relation: one row per side."
details = """
edit_id is the image of the side, image_id the image that the pair was made from (COCO's, for COCO-Counterfactuals),
label 'original' or 'counterfactual', text the caption.
"""
source = "Le et al., COCO-Counterfactuals (2023)"

[params.pairs]
relation = ["source_id", "original_id", "counterfactual_id", "original", "counterfactual"]
default = "caption_pairs"
---*/
SELECT original_id AS edit_id, source_id AS image_id, 'original' AS label, original AS text
FROM pairs
UNION ALL
SELECT counterfactual_id AS edit_id, source_id AS image_id, 'counterfactual' AS label, counterfactual AS text
FROM pairs
